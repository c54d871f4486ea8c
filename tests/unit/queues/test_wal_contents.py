"""What a file holds and what a queue has before it: offsets, peers' rules, sums, findings."""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.common.errors import SnapshotError
from pipelines.common.forms import value_of
from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.hbase.peer_rules import PeerRule, replicates_family, rule_document
from pipelines.hbase.peers import INTER_CLUSTER_ENDPOINT, Peer
from pipelines.hbase.replication_queues import GroupOffset, QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_format.reader import WalEnd, WalReader
from pipelines.hbase.wal_names import encode_prefix, parse_wal_name
from pipelines.lake.findings import Acknowledgement, dated
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.wals.findings import UNWANTED_FROM, wal_findings
from pipelines.queues.wals.offsets import OffsetStatus, offset_status
from pipelines.queues.wals.pending import by_group, cuts_of, queue_edits, smallest_needed_timestamps
from pipelines.queues.wals.rows import (
    GONE,
    UNREADABLE,
    InspectedFile,
    file_row,
    table_rows,
)
from pipelines.queues.wals.tally import WalContents, tally_wal
from pipelines.snapshot.peer_forms import RULE
from tests.labs.places import TESTS
from tests.labs.wal_files import CODEC, TRAILER, Cell, Edit, bulk_load, cell, damaged, ends, entry, header, wal

GOLDEN = TESTS / "golden" / "hbase"
SERVER = ServerName("h1.example.org", 16020, 1_789_000_000_000)
OTHER = ServerName("h2.example.org", 16020, 1_789_000_000_000)
GROUP = encode_prefix(str(SERVER))
NOW = 1_790_000_000_000


def read(data: bytes, *cuts: int) -> WalContents:
    return tally_wal(io.BytesIO(data).read, cuts)


def inspected(
    number: int, data: bytes | None, *cuts: int, folder: str = "oldWALs", group: str = GROUP
) -> InspectedFile:
    name = parse_wal_name(f"{group}.{number}")
    assert name is not None
    file = InspectedFile(f"{folder}/{name.name}", name, len(data or b""))
    return replace(file, fault=GONE) if data is None else replace(file, contents=read(data, *cuts))


def queue(offset: GroupOffset | None, peer: str = "1", owner: ServerName = SERVER) -> MergedQueueRow:
    return MergedQueueRow(QueueId(peer, owner), {GROUP: offset} if offset else {})


def said_by_hbase() -> list[tuple[str, int, list[int] | None]]:
    """File, position and the sequence ids that HBase's reader gives from there; None where it throws."""
    rows = re.findall(r"^(plain|comp) from (\d+)\t(.*)$", (GOLDEN / "wal-truncation.tsv").read_text(), re.MULTILINE)
    return [
        (f"{kind}.1", int(position), json.loads(answer) if answer.startswith("[") else None)
        for kind, position, answer in rows
    ]


@pytest.mark.parametrize(("name", "position", "ids"), said_by_hbase())
def test_an_offset_is_where_hbase_can_go_on(name: str, position: int, ids: list[int] | None) -> None:
    contents = read((GOLDEN / "wals" / name).read_bytes(), position)
    pending = sum(share.entries for share in contents.shares if share.cut >= position)
    if position == 0:  # HBase's replication reads from behind the header then, and does not seek as was recorded
        assert (offset_status(0, contents), pending) == (OffsetStatus.OK, 5)
    elif ids is None:
        assert offset_status(position, contents) is OffsetStatus.MID_ENTRY
    else:
        assert offset_status(position, contents) is (OffsetStatus.OK if ids else OffsetStatus.AT_END)
        assert pending == len(ids)


def test_the_recorded_positions_are_all_there() -> None:
    assert len(said_by_hbase()) == 11


EDITS = (Edit("t"), Edit("t", [Cell("f"), Cell("g")], {"f": 1}), Edit("ns:u", [Cell("f")], {}))
BOUNDARIES = ends(*EDITS)


def test_the_status_of_every_offset_of_a_closed_file() -> None:
    data = wal(*EDITS)
    expected = dict.fromkeys(range(len(data) + 3), OffsetStatus.MID_ENTRY)
    expected |= dict.fromkeys((0, *BOUNDARIES), OffsetStatus.OK)
    expected |= dict.fromkeys((BOUNDARIES[-1], len(data)), OffsetStatus.AT_END)
    expected |= dict.fromkeys((len(data) + 1, len(data) + 2), OffsetStatus.BEYOND_EOF)
    assert {offset: offset_status(offset, read(data, offset)) for offset in expected} == expected


@pytest.mark.parametrize(
    ("data", "offset", "status"),
    [
        (b"", 0, OffsetStatus.NO_HEADER),
        (b"", 7, OffsetStatus.BEYOND_EOF),
        (header()[:-1], 0, OffsetStatus.NO_HEADER),
        (header(), 0, OffsetStatus.OK),
        (header(), len(header()), OffsetStatus.OK),
        (wal(*EDITS), -1, OffsetStatus.FINISHED),
        (wal(*EDITS)[:-12], BOUNDARIES[2], OffsetStatus.AT_END),
        (wal(*EDITS)[:-12], BOUNDARIES[2] + 1, OffsetStatus.MID_ENTRY),
        (header((2, b"key"), codec=CODEC.replace("WALCell", "SecureWALCell")) + b"?", 300, OffsetStatus.UNREADABLE),
        (header(codec="org.example.Codec") + b"?" * 400, 300, OffsetStatus.UNREADABLE),
        (wal(EDITS[0], trailer=b"\x07garbage" * 9), BOUNDARIES[1], OffsetStatus.OK),
        (wal(EDITS[0], trailer=b"\x07garbage" * 9), BOUNDARIES[1] + 4, OffsetStatus.UNREADABLE),
    ],
)
def test_offsets_in_odd_files(data: bytes, offset: int, status: OffsetStatus) -> None:
    found = offset_status(offset, read(data, offset))
    if status is OffsetStatus.UNREADABLE and offset > len(data):
        assert found in {OffsetStatus.UNREADABLE, OffsetStatus.BEYOND_EOF}
    else:
        assert found is status


MANY = [Edit("t")] * 1_000
STARTS = ends(*MANY)
KEY_LENGTH = STARTS[500] + 2
"""Where the region's length is in the key of entry 500."""
CELL_LENGTH = STARTS[501] - len(cell(Cell("f")))
OPEN, CLOSED = wal(*MANY, trailer=b""), wal(*MANY)


@pytest.mark.parametrize(
    ("data", "ending"),
    [
        (damaged(CLOSED, KEY_LENGTH, 0x7F), WalEnd.CORRUPT),
        (damaged(OPEN, KEY_LENGTH, 0x7F), WalEnd.CORRUPT),
        (damaged(CLOSED, CELL_LENGTH, 0x7F), WalEnd.CORRUPT),
        (damaged(OPEN, CELL_LENGTH, 0x7F), WalEnd.TORN),
        (damaged(CLOSED, STARTS[500], 0xFF, 0x7F), WalEnd.CORRUPT),
    ],
    ids=["key", "key of an open file", "cell", "cell of an open file", "length of a key"],
)
def test_damage_in_the_middle_is_no_torn_end(data: bytes, ending: WalEnd) -> None:
    contents = read(data, STARTS[700])
    assert (contents.ending, contents.entries, contents.good_end) == (ending, 500, STARTS[500])
    if ending is WalEnd.CORRUPT:
        assert contents.problem is not None
        assert f"entry at {STARTS[500]}" in contents.problem
        assert offset_status(STARTS[700], contents) is OffsetStatus.UNREADABLE, "perhaps an entry begins there"


# rules of peers


@pytest.mark.parametrize(
    ("replicate_all", "rule", "wanted"),
    [
        (True, PeerRule(), {"t:f", "t:g", "ns:u:f", "hbase:acl:f"}),
        (True, PeerRule(exclude_namespaces=frozenset({"ns"})), {"t:f", "t:g", "hbase:acl:f"}),
        (True, PeerRule(exclude_namespaces=frozenset({"default"})), {"ns:u:f", "hbase:acl:f"}),
        (True, PeerRule(exclude_tables={"t": ()}), {"ns:u:f", "hbase:acl:f"}),
        (True, PeerRule(exclude_tables={"t": ("g",)}), {"t:f", "ns:u:f", "hbase:acl:f"}),
        (True, PeerRule(namespaces=frozenset({"ns"})), {"t:f", "t:g", "ns:u:f", "hbase:acl:f"}),
        (False, PeerRule(), set()),
        (False, PeerRule(namespaces=frozenset({"ns"})), {"ns:u:f"}),
        (False, PeerRule(tables={"t": ()}), {"t:f", "t:g"}),
        (False, PeerRule(tables={"t": ("g",)}), {"t:g"}),
        (False, PeerRule(namespaces=frozenset({"default"}), tables={"t": ("g",)}), {"t:f", "t:g"}),
        (None, PeerRule(), {"t:f", "t:g", "ns:u:f", "hbase:acl:f"}),
        (False, None, {"t:f", "t:g", "ns:u:f", "hbase:acl:f"}),
    ],
)
def test_what_a_peer_wants(replicate_all: bool | None, rule: PeerRule | None, wanted: set[str]) -> None:
    asked = [("t", "f"), ("t", "g"), ("ns:u", "f"), ("hbase:acl", "f"), ("hbase:meta", "info"), ("hbase:quota", "q")]
    assert {
        f"{table}:{family}" for table, family in asked if replicates_family(replicate_all, rule, table, family)
    } == wanted


def test_a_rule_is_written_and_read() -> None:
    rule = PeerRule(frozenset({"a", "b"}), {"t": ("f", "g")}, frozenset({"c"}), {"ns:u": ()})
    assert value_of(RULE, rule_document(rule), "peer") == rule
    assert value_of(RULE, {"tables": {"default:t": []}}, "peer") == PeerRule(tables={"t": ()})


@pytest.mark.parametrize(
    "document", [{"namespace": []}, {"tables": ["t"]}, {"tables": {"t": "f"}}, {"namespaces": [1]}]
)
def test_a_rule_of_another_form_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(SnapshotError):
        value_of(RULE, document, "peer")


# sums


TABLES = st.sampled_from(["t", "ns:u", "hbase:meta"])
FAMILIES = st.sampled_from(["f", "g", "METAFAMILY"])
SOME_EDITS = st.lists(
    st.builds(
        Edit,
        TABLES,
        st.lists(st.builds(Cell, FAMILIES, st.binary(max_size=9)), max_size=4),
        st.dictionaries(st.sampled_from(["f", "g"]), st.sampled_from([0, 1, 2]), max_size=2),
        st.integers(0, 2),
    ),
    max_size=6,
)


@given(SOME_EDITS, st.data())
def test_every_byte_and_entry_is_counted_once(edits: list[Edit], data: st.DataObject) -> None:
    content = wal(*edits)
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=3))
    contents = read(content, *cuts)
    assert (contents.ending, contents.length, contents.entries) == (WalEnd.CLOSED, len(content), len(edits))
    assert contents.cells == sum(len(edit.cells) for edit in edits)
    assert sum(share.bytes for share in contents.shares) == contents.good_end - contents.header_end
    for cut in {0, *cuts}:
        begun = [begin for begin, _ in zip(ends(*edits), edits, strict=False) if begin >= cut]
        assert sum(share.entries for share in contents.shares if share.cut >= cut) == len(begun)


def shares_of(edit: Edit) -> tuple[tuple[str, ...], bool]:
    (share,) = read(wal(edit)).shares
    return share.families, share.marker


def test_what_decides_about_an_entry() -> None:
    two = [Cell("f"), Cell("g")]
    assert shares_of(Edit("t", two, {"f": 1, "g": 1})) == (("f", "g"), False)
    assert shares_of(Edit("t", two, {"f": 1, "g": 0})) == (("f",), False)
    assert shares_of(Edit("t", two, {"f": 2})) == ((), False), "HBase ships scope 1 alone"
    assert shares_of(Edit("t", [Cell("METAFAMILY", qualifier=b"HBASE::FLUSH")], {"f": 1})) == ((), False)
    assert shares_of(bulk_load("t", "f", "g", scopes={"g": 1})) == (("g",), False)
    assert shares_of(bulk_load("t", scopes={"g": 1})) == ((), False)
    broken = Edit("t", [Cell("METAFAMILY", b"\xff", b"r", b"HBASE::BULK_LOAD")], {"g": 1})
    assert shares_of(broken) == (("g",), False), "nobody knows what it is, so the peer may want it"
    assert shares_of(Edit("t", [Cell("METAFAMILY", qualifier=b"HBASE::REPLICATION_MARKER")], {})) == ((), True)


# queues

ALL = Peer("1", "ENABLED", replicate_all=True, rule=PeerRule())
ONLY_U = Peer("2", "DISABLED", replicate_all=False, rule=PeerRule(tables={"ns:u": ()}))
REGION_REPLICAS = "org.apache.hadoop.hbase.replication.regionserver.RegionReplicaReplicationEndpoint"
DATA = wal(*EDITS)


def test_what_is_pending_and_what_of_it_is_wanted() -> None:
    offset = GroupOffset(f"{GROUP}.20", BOUNDARIES[1])
    files = [inspected(10, DATA), inspected(20, DATA, BOUNDARIES[1]), inspected(30, DATA)]
    rows = [queue(offset), queue(offset, "2"), queue(offset, "3"), queue(None, "1", OTHER)]
    one, two, removed = queue_edits(rows, [ALL, ONLY_U], by_group(files))
    behind = BOUNDARIES[3] - BOUNDARIES[1] + BOUNDARIES[3] - BOUNDARIES[0]
    for row in (one, two, removed):
        assert (row.offset_status, row.pending_files, row.pending_entries, row.pending_bytes) == ("OK", 2, 5, behind)
        assert (row.head, row.head_ending) == (f"oldWALs/{GROUP}.20", "CLOSED")
    assert (one.wanted_entries, one.rule_known) == (3, True)
    assert one.wanted_bytes == behind - 2 * (BOUNDARIES[3] - BOUNDARIES[2])
    assert two.wanted_entries == 0, "its table's family has no scope in these entries"
    assert (removed.wanted_entries, removed.peer_exists, removed.peer_state) == (0, False, None)


@pytest.mark.parametrize(
    ("endpoint", "wanted", "rule_known"),
    [(None, 2, True), ("", 2, True), (INTER_CLUSTER_ENDPOINT, 2, True), (REGION_REPLICAS, 3, False)],
)
def test_an_endpoint_of_its_own_may_want_everything(endpoint: str | None, wanted: int, rule_known: bool) -> None:
    peer = replace(ALL, endpoint=endpoint)
    (row,) = queue_edits([queue(None)], [peer], by_group([inspected(10, DATA)]))
    assert (row.pending_entries, row.wanted_entries, row.rule_known) == (3, wanted, rule_known)


def test_a_named_file_is_the_head_only_if_the_offset_is_in_it() -> None:
    for offset in (GroupOffset(f"{GROUP}.20", 0), GroupOffset(f"{GROUP}.20", -1), None):
        files = [inspected(40, b"")]
        (row,) = queue_edits([queue(offset)], [ALL], by_group(files), is_whole=False)
        assert (row.pending_files, row.head, row.head_ending) == (1, None, None)
        assert wal_findings([row], files, is_whole=False) == ()
    files = [inspected(20, b""), inspected(40, b"")]
    (row,) = queue_edits([queue(GroupOffset(f"{GROUP}.20", 0))], [ALL], by_group(files), is_whole=False)
    assert row.head == f"oldWALs/{GROUP}.20"
    assert [one.code for one in wal_findings([row], files, is_whole=False)] == ["HEADERLESS_WAL"]


def test_the_head_in_zookeeper_may_be_missing() -> None:
    first, second = f"{GROUP}.20", f"{GROUP}.30"
    row = MergedQueueRow(QueueId("1", SERVER), {GROUP: GroupOffset(first, 0)}, {first: 0, second: 0})
    (found,) = queue_edits([row], [ALL], by_group([inspected(30, b"")]))
    assert (found.pending_files, found.head) == (1, None), "replication waits for the first"


def test_a_queue_without_an_offset_has_everything_before_it() -> None:
    files = [inspected(10, DATA), inspected(20, DATA), inspected(5, DATA, group=f"{GROUP}.meta")]
    (row,) = queue_edits([queue(None)], [ALL], by_group(files[:2]))
    assert (row.offset_status, row.pending_files, row.pending_entries) == ("NONE", 2, 6)
    assert queue_edits([queue(None)], [ALL], by_group([inspected(7, DATA, group=f"{GROUP}.rep")])) == []


def test_finished_gone_and_files_that_were_not_read() -> None:
    files = [inspected(10, DATA), inspected(20, None)]
    finished, gone, other = (
        queue_edits([queue(GroupOffset(f"{GROUP}.{number}", offset))], [ALL], by_group(files))[0]
        for number, offset in ((10, -1), (20, 5), (30, 5))
    )
    assert (finished.offset_status, finished.pending_files, finished.unread_files) == ("FINISHED", 1, 0)
    assert (gone.offset_status, gone.head_ending, gone.pending_entries) == ("GONE", "GONE", 0)
    assert (other.offset_status, other.pending_files) == ("NOT_READ", 0)


def test_bytes_that_nobody_can_read_are_told() -> None:
    torn, corrupt = DATA[:-20], DATA[: BOUNDARIES[1]] + b"\xff" * 40
    files = [inspected(1, torn), inspected(2, corrupt), inspected(3, header(codec="a.B") + b"12345")]
    (row,) = queue_edits([queue(None)], [ALL], by_group(files))
    assert row.unread_files == 2, "a torn entry is lost to everybody; the rest of the file was read"
    unread = 40 + len(b"12345")
    assert row.unread_bytes == unread


def test_needs_and_cuts() -> None:
    rows = [queue(GroupOffset(f"{GROUP}.20", 7)), queue(GroupOffset(f"{GROUP}.10", -1), "2")]
    assert smallest_needed_timestamps(rows) == {GROUP: 11}
    assert smallest_needed_timestamps([*rows, queue(None, "3")]) == {GROUP: -1}
    assert cuts_of(rows) == {f"{GROUP}.20": frozenset({7})}


# findings


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


# rows


def test_rows_of_a_file() -> None:
    file = inspected(20, DATA)
    row = file_row(file)
    assert (row.entries, row.cells, row.ending, row.read_length) == (3, 4, "CLOSED", len(DATA))
    assert (row.first_sequence_id, row.last_sequence_id) == (0, 2)
    assert row.entry_bytes == len(DATA) - len(header()) - len(TRAILER)
    assert [(one.table, one.entries, one.global_entries) for one in table_rows(file)] == [("ns:u", 1, 0), ("t", 2, 2)]
    odd = file_row(inspected(20, wal(Edit("t", sequence_id=-1, write_time=-1), Edit("t", write_time=1 << 62))))
    assert (odd.first_sequence_id, odd.first_write_time, odd.last_write_time) == (-1, None, None)
    assert (odd.entries, odd.ending) == (2, "CLOSED")
    gone = file_row(inspected(20, None))
    assert (gone.ending, gone.entries, gone.good_end, gone.writer) == ("GONE", 0, None, None)


def test_an_encrypted_wal_is_called_so() -> None:
    whole = header((2, b"key"), codec=CODEC.replace("WALCell", "SecureWALCell")) + b"?" * 100
    reader = WalReader(io.BytesIO(whole).read)
    assert list(reader.entries(lambda *_: None)) == []
    assert (reader.ending, reader.problem) == (
        WalEnd.ENCRYPTED,
        "its cells are encrypted (org.apache.hadoop.hbase.regionserver.wal.SecureWALCellCodec)",
    )
