"""What `inspect-wals` finds: heads without a header, damage, odd offsets, edits that nobody wants, unreadable files."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.hbase.replication_queues import GroupOffset
from pipelines.lake.findings import Acknowledgement, dated
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.wals.findings import UNWANTED_FROM, wal_findings
from pipelines.queues.wals.pending import by_group, queue_edits
from pipelines.queues.wals.rows import UNREADABLE, InspectedFile
from tests.labs.tallied_wals import (
    ALL,
    BOUNDARIES,
    CELL_LENGTH,
    CLOSED,
    DATA,
    EDITS,
    GOLDEN,
    GROUP,
    KEY_LENGTH,
    ONLY_U,
    OPEN,
    SERVER,
    STARTS,
    inspected,
    queue,
    read,
)
from tests.labs.wal_files import TRAILER, damaged, entry, header, wal

NOW = 1_790_000_000_000


def codes(rows: list[MergedQueueRow], files: list[InspectedFile]) -> list[str]:
    return [row.code for row in findings_of(rows, files)]


def findings_of(rows: list[MergedQueueRow], files: list[InspectedFile]) -> Sequence[FindingRow]:
    return wal_findings(queue_edits(rows, [ALL], by_group(files)), files)


def test_a_healthy_queue_has_no_finding() -> None:
    offset = GroupOffset(f"{GROUP}.20", BOUNDARIES[1])
    live = inspected(30, header() + entry(EDITS[0]), folder=f"WALs/{SERVER}")
    assert codes([queue(offset)], [inspected(20, DATA, BOUNDARIES[1]), live]) == []
    assert codes([queue(offset, "2")], [inspected(20, b"")]) == [], "of a removed peer: nobody reads it"


@pytest.mark.parametrize("data", [b"", header()[:9]])
def test_a_headerless_head_is_a_finding_unless_its_server_is_just_making_it(data: bytes) -> None:
    row = queue(GroupOffset(f"{GROUP}.20", 0))
    live = f"WALs/{SERVER}"
    assert codes([row], [inspected(20, data), inspected(30, DATA)]) == ["HEADERLESS_WAL"]
    assert codes([row], [inspected(20, data)]) == ["HEADERLESS_WAL"]
    (told,) = findings_of([row], [inspected(20, data)])
    assert ("Before HBase 2.6, it passes over empty WALs only: delete the znode" in told.remedy) == bool(data)
    assert codes([row], [inspected(20, data, folder=live)]) == []
    assert codes([row], [inspected(20, data, folder=live), inspected(30, DATA, folder=live)]) == ["HEADERLESS_WAL"]
    assert codes([row], [inspected(20, DATA), inspected(30, data)]) == [], "not at the head yet"


@pytest.mark.parametrize(
    ("data", "offset", "listed"),
    [
        (damaged(CLOSED, 8, 0xF0), 0, 0),
        (damaged(OPEN, 4, 0xFF, 0xFF, 0x7F), 0, 0),
        (damaged(wal(EDITS[0]), 8, 0xF0), 0, 0),
        (damaged(wal(EDITS[0]), 4, 0xFF), 0, 0),
        (header()[:-20] + TRAILER, 0, 0),
        (b"", 7000, 0),
        (b"", 0, 7000),
    ],
    ids=["writer", "size", "writer, small", "size, small", "trailer", "offset", "listed"],
)
def test_a_headerless_head_that_may_hold_edits_is_not_passed_over(data: bytes, offset: int, listed: int) -> None:
    for folder in ("oldWALs", f"WALs/{SERVER}"):
        file = inspected(20, data, folder=folder)
        file = replace(file, length=listed or file.length)
        assert file.ending == "NO_HEADER"
        told = findings_of([queue(GroupOffset(f"{GROUP}.20", offset))], [file])
        (headerless,) = [one for one in told if one.code == "HEADERLESS_WAL"]
        assert "may hold edits" in headerless.message
        assert "autorecovery" not in headerless.remedy
        assert "hdfs fsck" in headerless.remedy
        assert "VerifyReplication" in headerless.remedy


def test_damage_before_the_offset_may_reach_behind_it() -> None:
    passed = queue(GroupOffset(f"{GROUP}.20", STARTS[700]))
    zeros = damaged(CLOSED, STARTS[500], *bytes(STARTS[800] - STARTS[500]))
    (stuck,) = findings_of([passed], [inspected(20, zeros, STARTS[700])])
    assert (stuck.code, stuck.severity) == ("CORRUPT_WAL", "warning")
    assert f"before the offset, {STARTS[700]}; whether replication can go on there is not known" in stuck.message
    assert stuck.remedy.startswith("If the offset moves on, do nothing")
    assert "hdfs fsck" in stuck.remedy
    data = damaged(CLOSED, KEY_LENGTH, 0x7F)
    files = [inspected(20, data, STARTS[700])]
    assert [one.severity for one in findings_of([passed], files)] == ["warning"]
    (row,) = queue_edits([passed], [ALL], by_group(files))
    assert (row.unread_files, row.unread_bytes) == (1, len(data) - STARTS[700])
    before = queue(GroupOffset(f"{GROUP}.20", STARTS[400]))
    (ahead,) = findings_of([before], [inspected(20, data, STARTS[400])])
    assert (ahead.code, ahead.severity) == ("CORRUPT_WAL", "error")
    compressed = (GOLDEN / "wals" / "comp.1").read_bytes()
    start = read(compressed).header_end
    behind = queue(GroupOffset(f"{GROUP}.20", 271))
    (told,) = findings_of([behind], [inspected(20, damaged(compressed, start, *b"\xff" * 10), 271)])
    assert (told.code, told.severity) == ("CORRUPT_WAL", "error")


def test_a_torn_file_that_ends_before_the_offset_is_unknown_from_there_on() -> None:
    torn = damaged(OPEN, CELL_LENGTH, 0x7F)
    behind = queue(GroupOffset(f"{GROUP}.20", STARTS[700]))
    files = [inspected(20, torn, STARTS[700])]
    (row,) = queue_edits([behind], [ALL], by_group(files))
    assert (row.unread_files, row.unread_bytes) == (1, len(torn) - STARTS[700])
    assert wal_findings([replace(row, pending_bytes=UNWANTED_FROM, offset_status="OK")], files) == (), "unknown"
    (told,) = wal_findings([row], files)
    assert told.message.endswith("behind the last entry that can be read: whether a reader can go on is not known.")


def test_another_unreadable_file_of_the_same_server_is_new() -> None:
    def unreadable(*numbers: int, folder: str = "oldWALs") -> tuple[FindingRow, ...]:
        files = [inspected(number, None, folder=folder) for number in numbers]
        return wal_findings([], [replace(file, fault=UNREADABLE, problem="no such block") for file in files])

    (monday,) = unreadable(20, folder=f"WALs/{SERVER}")
    assert (monday.subject, monday.server) == (f"{GROUP}.20", str(SERVER))
    assert monday.message == f"WALs/{SERVER}/{GROUP}.20 could not be read: no such block."
    tuesday = dated(unreadable(20, 30), NOW, {monday.key: (NOW - 5, 1)}, [])
    assert {one.subject: one.is_new for one in tuesday} == {f"{GROUP}.20": False, f"{GROUP}.30": True}, "it was moved"


def test_offsets_that_stop_a_queue_and_broken_heads_are_findings() -> None:
    at = BOUNDARIES[1] + 3
    assert codes([queue(GroupOffset(f"{GROUP}.20", at))], [inspected(20, DATA, at)]) == ["OFFSET_MID_ENTRY"]
    (inside,) = findings_of([queue(GroupOffset(f"{GROUP}.20", at))], [inspected(20, DATA, at)])
    assert "Set the offset to 0 (in ZooKeeper: empty the data of the WAL's znode), and restart" in inside.remedy
    torn, behind = damaged(OPEN, CELL_LENGTH, 0x7F), STARTS[700]
    (unread,) = findings_of([queue(GroupOffset(f"{GROUP}.20", behind))], [inspected(20, torn, behind)])
    assert (unread.code, "offset to 0" in unread.remedy) == ("OFFSET_MID_ENTRY", False), "it may begin an entry"
    assert codes([queue(GroupOffset(f"{GROUP}.20", 9999))], [inspected(20, DATA, 9999)]) == ["BEYOND_EOF"]
    broken = DATA[: BOUNDARIES[1]] + b"\xff" * 40
    assert codes([queue(GroupOffset(f"{GROUP}.20", 0))], [inspected(20, broken)]) == ["CORRUPT_WAL"]
    (corrupt,) = findings_of([queue(GroupOffset(f"{GROUP}.20", 0))], [inspected(20, broken)])
    assert "delete its znode if the queue is in ZooKeeper, restart the region server that owns" in corrupt.remedy
    lost = replace(inspected(20, None), fault=UNREADABLE, problem="no such block")
    assert codes([queue(GroupOffset(f"{GROUP}.20", 0))], [lost]) == ["UNREADABLE_WAL"]


def test_much_that_nobody_wants_is_a_finding() -> None:
    (row,) = queue_edits([queue(None, "2")], [ONLY_U], by_group([inspected(20, DATA)]))
    assert wal_findings([row], []) == ()
    much = replace(row, pending_bytes=UNWANTED_FROM)
    assert [one.code for one in wal_findings([much], [])] == ["UNWANTED_EDITS"]
    assert wal_findings([replace(much, wanted_entries=1)], []) == ()
    assert wal_findings([replace(much, unread_files=1)], []) == ()


def test_findings_remember_and_are_acknowledged() -> None:
    row = queue(GroupOffset(f"{GROUP}.20", 0))
    files = [inspected(20, b"")]
    found = wal_findings(queue_edits([row], [ALL], by_group(files)), files)
    key = found[0].key
    (new,) = dated(found, NOW, {}, [])
    assert (new.is_new, new.first_seen, new.nights, new.acknowledged) == (True, NOW, 1, False)
    (old,) = dated(found, NOW, {key: (NOW - 5, 3)}, [Acknowledgement(key, "known", NOW)])
    assert (old.is_new, old.first_seen, old.nights, old.acknowledged_reason) == (False, NOW - 5, 4, "known")
    assert not dated(found, NOW, {}, [Acknowledgement(key, "known", NOW - 1)])[0].acknowledged
