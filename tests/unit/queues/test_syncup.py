"""What ReplicationSyncUp reads, what it leaves, and what it never knew: without a cluster."""

import json
from dataclasses import replace

import pytest

from pipelines.common.errors import SnapshotError
from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.hbase.offline_table import (
    DELETE_FAMILY,
    PUT,
    Region,
    TableEdit,
    UnflushedColumn,
    as_it_is,
    regions_to_read,
    unflushed_columns,
)
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell, GroupOffset, parse_queue_id
from pipelines.hbase.server_names import ServerName
from pipelines.lake.findings import dated
from pipelines.queues.syncup.findings import syncup_findings
from pipelines.queues.syncup.plan import SyncUpInput, SyncUpPlan, UnreadReason, plan_syncup
from pipelines.queues.syncup.rows import SyncUpAction
from pipelines.queues.syncup.tables import peer_rows, queue_row, wal_rows
from pipelines.queues.syncup.text import plan_lines
from pipelines.queues.syncup.wals import FilesOfServers, ListedWal, human_waiting
from pipelines.snapshot.model import Membership, Snapshot, WalDirectory
from pipelines.snapshot.other_families import OtherFamilies
from pipelines.snapshot.syncup_facts import FlagFile, StoreFile, SyncUpFacts, TableFacts, fact_documents
from pipelines.snapshot.syncup_lines import parse_facts
from tests.labs.places import DOCS
from tests.labs.small_cluster import D1, H1, H2, NOW, group, small, wal

ONE, OFF = Peer("1", "ENABLED"), Peer("2", "DISABLED")
HERE = f"WALs/{H1}"
DELETE_COLUMN = 12


# the table


def region(name: str, number: int, start: str, end: str) -> Region:
    return Region(name, number, start.encode(), end.encode())


@pytest.mark.parametrize(
    ("regions", "read"),
    [
        ([("a", 1, "", "")], ["a"]),
        ([("parent", 1, "", ""), ("left", 2, "", "m"), ("right", 2, "m", "")], ["left", "right"]),
        ([("merged", 3, "", ""), ("left", 1, "", "m"), ("right", 2, "m", "")], ["merged"]),
        ([("a", 1, "", "f"), ("b", 1, "f", "p"), ("c", 1, "p", ""), ("bc", 2, "f", "")], ["a", "bc"]),
        ([], []),
    ],
)
def test_of_regions_that_overlap_the_younger_counts(regions: list[tuple[str, int, str, str]], read: list[str]) -> None:
    assert [one.name for one in regions_to_read([region(*one) for one in regions])] == read


def cell(row: str, qualifier: str = "q", value: str = "", family: str = "queue") -> Cell:
    return Cell(row.encode(), family.encode(), qualifier.encode(), value.encode())


def edit(sequence_id: int, changed: Cell, kind: int = PUT, name: str = "r") -> TableEdit:
    return TableEdit(name, sequence_id, 1_000 + sequence_id, changed, kind)


FLUSHED = (cell("1-a", "g", "w.1:1"), cell("1-b", "g", "w.2:2"), cell("1-b", "h", "w.3:3"))


def test_edits_behind_the_flush_are_what_the_store_files_lack() -> None:
    edits = [
        edit(12, cell("1-a", "g", "w.1:9")),
        edit(11, cell("1-a", "g", "w.1:5")),
        edit(3, cell("1-a", "g", "w.1:0")),
        edit(13, cell("1-b"), DELETE_FAMILY),
        edit(14, cell("1-c/1-b", "g", "w.2:2")),
        edit(15, cell("1-d", "g", "w.4:0")),
        edit(16, cell("1-d", "g"), DELETE_COLUMN),
    ]
    changes = unflushed_columns(FLUSHED, edits, {("r", "queue"): 10})
    assert [(str(one.cell.row, "utf-8"), one.deleted, one.write_time) for one in changes] == [
        ("1-a", False, 1_012),
        ("1-b", True, 1_013),
        ("1-b", True, 1_013),
        ("1-c/1-b", False, 1_014),
    ]
    assert as_it_is(FLUSHED, changes) == (cell("1-a", "g", "w.1:9"), cell("1-c/1-b", "g", "w.2:2"))


def test_what_was_flushed_is_not_written_again() -> None:
    assert unflushed_columns(FLUSHED, [edit(10, cell("1-a", "g", "w.1:0"))], {("r", "queue"): 10}) == ()
    assert unflushed_columns(FLUSHED, [edit(10, cell("1-a", "g", "w.1:1"))], {}) == (), (
        "the same value is no difference"
    )
    assert len(unflushed_columns(FLUSHED, [edit(0, cell("1", "s", "7", "sid"))], {("r", "queue"): 10})) == 1, (
        "by family"
    )


# the plan


def listed(*paths: str, length: int = 100) -> FilesOfServers:
    return FilesOfServers(ListedWal.of(path, length) for path in paths)


def queue(key: str, **offsets: tuple[str, int]) -> MergedQueueRow:
    """A row; each offset by the server whose only group it is of."""
    servers = {"h1": H1, "h2": H2, "d1": D1}
    return MergedQueueRow(
        parse_queue_id(key), {group(servers[name]): GroupOffset(*offset) for name, offset in offsets.items()}
    )


def planned(
    rows: list[MergedQueueRow],
    *paths: str,
    peers: tuple[Peer, ...] = (ONE,),
    true_rows: list[MergedQueueRow] | None = None,
    directories: tuple[ServerName, ...] = (H1,),
    length: int = 100,
) -> SyncUpPlan:
    return plan_syncup(SyncUpInput(peers, rows, true_rows, frozenset(directories), listed(*paths, length=length)))


OWN = queue(f"1-{H1}", h1=(wal(H1, 2), 40))
WALS = (f"oldWALs/{wal(H1, 1)}", f"oldWALs/{H1}/{wal(H1, 2)}", f"{HERE}/{wal(H1, 3)}")


def test_the_wals_of_a_queue_in_order_from_its_offset_on() -> None:
    plan = planned(
        [OWN], *WALS, f"oldWALs/{wal(H2, 9)}", f"{HERE}/{group(H1)}.meta.{NOW}.meta", f"{HERE}/{group(H1)}.rep.9"
    )
    (one,) = plan.queues
    assert [(wal.file.path, wal.content.value, wal.start, wal.bytes) for wal in one.wals] == [
        (f"{HERE}/{group(H1)}.rep.9", "QUEUE_TABLE", 0, 100),
        (WALS[1], "EDITS", 40, 60),
        (WALS[2], "EDITS", 0, 100),
    ]
    assert (one.action, one.bytes, plan.servers, plan.unread, plan.poison) == (SyncUpAction.SHIP, 160, (H1,), (), ())


def test_a_queue_whose_wal_is_gone_begins_with_the_next_from_its_start() -> None:
    (one,) = planned([queue(f"1-{H1}", h1=(wal(H1, 2), 40))], WALS[0], WALS[2]).queues
    assert one.missing == ((group(H1), wal(H1, 2)),)
    assert [(wal.file.path, wal.start) for wal in one.wals] == [(WALS[2], 0)]
    finished = queue(f"1-{H1}", h1=(wal(H1, 2), -1))
    assert planned([finished], *WALS).queues[0].edits[0].file.path == WALS[2]
    assert planned([finished], WALS[2]).queues[0].missing == ()


def test_a_server_with_a_directory_gets_a_placeholder_for_each_peer_without_a_row_of_its_own() -> None:
    claimed = queue(f"1-{H2}/{D1}", d1=(wal(D1, 1), -1))
    plan = planned([OWN, claimed], *WALS, peers=(ONE, Peer("3", "ENABLED")), directories=(H1, H2))
    made = [str(one.row.queue) for one in plan.queues if one.is_placeholder]
    assert made == [f"1-{H2}", f"3-{H1}", f"3-{H2}"]
    assert [one.bytes for one in plan.queues if str(one.row.queue) == f"3-{H1}"] == [300], "a placeholder needs all"
    assert plan.servers == (H1, H2)


def test_what_would_keep_the_tool_for_ever() -> None:
    plan = planned([OWN], *WALS, f"WALs/{H2}/{group(H2)}.meta.7.meta", peers=(ONE, OFF), directories=(H1, H2))
    assert {str(one.row.queue): (one.action, one.waits_for) for one in plan.queues} == {
        f"1-{H1}": (SyncUpAction.SHIP, None),
        f"1-{H2}": (SyncUpAction.WAITS, "there is no WAL to read"),
        f"2-{H1}": (SyncUpAction.WAITS, "peer 2 is DISABLED"),
        f"2-{H2}": (SyncUpAction.WAITS, "peer 2 is DISABLED"),
    }


def test_queues_that_it_leaves_or_drops() -> None:
    standby = Peer("3", "ENABLED", sync_replication_state="STANDBY")
    plan = planned([OWN, queue(f"9-{D1}")], *WALS, peers=(ONE, standby))
    assert {str(one.row.queue): one.action for one in plan.queues} == {
        f"1-{H1}": SyncUpAction.SHIP,
        f"3-{H1}": SyncUpAction.STANDBY,
        f"9-{D1}": SyncUpAction.REMOVED_PEER,
    }
    assert plan.servers == (D1, H1), "a flag file is made for the owner of such a row too"


def test_no_wal_of_a_removed_peer_is_missing() -> None:
    removed = queue(f"9-{D1}", d1=(wal(D1, 1), 5))
    for paths in (WALS, (*WALS, f"oldWALs/{wal(D1, 1)}")):
        (one,) = planned([removed], *paths, peers=(), directories=()).queues
        assert (one.action, one.missing, queue_row(one).missing_files) == (SyncUpAction.REMOVED_PEER, (), 0)


@pytest.mark.parametrize("true_rows", [None, [OWN]])
def test_a_half_split_directory_is_a_hole(true_rows: list[MergedQueueRow] | None) -> None:
    split = f"{HERE}-splitting/{wal(H1, 3)}"
    plan = planned([OWN], *WALS[:2], split, true_rows=true_rows)
    assert [(one.gap, one.path, one.bytes) for one in plan.unread] == [(UnreadReason.SPLITTING, split, 100)]
    passed = queue(f"1-{H1}", h1=(wal(H1, 3), -1))
    assert planned([passed], split).unread == (), "nobody needs it"
    meta = f"{HERE}-splitting/{group(H1)}.meta.7.meta"
    assert planned([OWN], *WALS, meta).unread == ()


@pytest.mark.parametrize("length", [0, 20])
def test_a_half_split_directory_is_a_hole_though_its_open_wal_is_listed_too_short(length: int) -> None:
    split = f"{HERE}-splitting/{wal(H1, 2)}"
    plan = planned([OWN], split, length=length)
    assert [(one.gap, one.path, one.bytes) for one in plan.unread] == [(UnreadReason.SPLITTING, split, 0)]


def test_a_claim_that_was_not_flushed_is_a_hole() -> None:
    claimed = queue(f"1-{H1}/{D1}", d1=(wal(D1, 1), 0))
    mine = f"oldWALs/{wal(D1, 1)}"
    plan = planned([OWN], *WALS, mine, true_rows=[OWN, claimed])
    assert [(one.gap, one.path) for one in plan.unread] == [(UnreadReason.UNSEEN_ROW, mine)]
    before = queue(f"1-{D1}", d1=(wal(D1, 1), 0))
    assert planned([OWN, before], *WALS, mine, true_rows=[OWN, claimed]).unread == (), (
        "its row before the claim is read"
    )


def test_a_wal_where_the_tool_does_not_look() -> None:
    strange = f"oldWALs/{H2}/{wal(H1, 3)}"
    plan = planned([OWN], *WALS[:2], strange)
    assert [(one.gap, one.path) for one in plan.unread] == [(UnreadReason.OUT_OF_REACH, strange)]


@pytest.mark.parametrize("name", ["junk", f"{group(H1)}.99999999999999999999"])
def test_names_at_which_it_throws(name: str) -> None:
    assert planned([OWN], *WALS, f"{HERE}/{name}").poison == (f"{HERE}/{name}",)


def test_what_is_sent_again() -> None:
    moved = queue(f"1-{H1}", h1=(wal(H1, 3), 30))
    (one,) = planned([OWN], *WALS, true_rows=[moved]).queues
    assert (one.is_stale, one.bytes, one.resent_bytes) == (True, 160, 90)
    (one,) = planned([OWN], *WALS, true_rows=[]).queues
    assert (one.is_stale, one.resent_bytes) == (True, 160), "the row is gone: all was shipped"
    (one,) = planned([], *WALS, true_rows=[]).queues
    assert (one.is_placeholder, one.is_stale, one.resent_bytes) == (True, False, 0)
    (one,) = planned([OWN], *WALS).queues
    assert (one.is_stale, one.resent_bytes) == (None, None), "nobody knows"


def test_what_two_queues_of_a_peer_read_is_sent_again_by_the_second() -> None:
    first, second = (queue(f"1-{owner}/{D1}", d1=(wal(D1, 1), start)) for owner, start in ((H1, 40), (H2, 10)))
    plan = planned([first, second], f"oldWALs/{wal(D1, 1)}", true_rows=[first, second], directories=())
    assert [(one.bytes, one.resent_bytes) for one in plan.queues] == [(60, 0), (90, 60)]
    facts = replace(CLEAN, flags=())
    lines = list(plan_lines(down(), facts, plan, [queue_row(one) for one in plan.queues], (), ()))
    assert lines[1].endswith("; nothing was written since")
    assert lines[2] == "  60 B are sent again (older offsets, or two queues of a peer that read the same WALs)"


def test_a_queue_that_the_tool_leaves_is_not_claimed_and_an_error_warns_before_the_command() -> None:
    plan = planned([OWN, queue(f"9-{D1}")], *WALS)
    rows = [queue_row(one) for one in plan.queues]
    clean = replace(CLEAN, flags=())
    found = dated(syncup_findings(plan, down(), clean), NOW, {}, ())
    lines = list(plan_lines(down(), clean, plan, rows, (), found))
    assert "would claim 1 queue of 2 servers" in lines[0]
    command = "hbase org.apache.hadoop.hbase.replication.regionserver.ReplicationSyncUp"
    assert lines[-1] == f"  to do it: {command}"
    leftover = dated(syncup_findings(plan, down(), FACTS), NOW, {}, ())
    assert "SYNCUP_LEFTOVER" in {one.code for one in leftover}
    warned = list(plan_lines(down(), FACTS, plan, rows, (), leftover))
    assert warned[-1] == f"  do not run it before you have read the errors above; the command is {command} -f"
    known = [replace(one, acknowledged=True) for one in leftover]
    assert list(plan_lines(down(), FACTS, plan, rows, (), known))[-1] == f"  to do it: {command} -f"


# facts, tables, findings

FACTS = SyncUpFacts(
    "hdfs://ns1/hbase",
    (str(H1), f"{H2}-splitting"),
    (FlagFile(str(H1), 0, NOW), FlagFile("info", 31, NOW, '{"startTimeMs":"1664096778778"}')),
    TableFacts(
        (StoreFile("data/hbase/replication/r/queue/f", 100, NOW, "r", "queue", 7),),
        (UnflushedColumn(cell("1-a", "g", "w.1:1"), deleted=False, write_time=NOW + 60_000),),
    ),
)


def lines_of(facts: SyncUpFacts) -> list[tuple[str, str]]:
    return [(json.dumps(one), f"line {n}") for n, one in enumerate(fact_documents(facts), 1)]


@pytest.mark.parametrize("facts", [FACTS, replace(FACTS, table=None), replace(FACTS, table=TableFacts(unknown="why"))])
def test_facts_are_read_as_written(facts: SyncUpFacts) -> None:
    assert parse_facts(lines_of(facts)) == facts


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"kind": "wish"}, "'kind' must be one of root, directory"),
        ({"kind": "directory", "name": "h", "size": 1}, "unknown key 'size'"),
        ({"kind": "root", "uri": "hdfs://other"}, "two lines of kind 'root'"),
        ({"kind": "flag", "name": "f", "length": 0, "content": "", "modification_time": "now"}, "not an instant"),
    ],
)
def test_a_broken_extra_is_refused(line: dict[str, object], words: str) -> None:
    with pytest.raises(SnapshotError, match=words):
        parse_facts([*lines_of(FACTS), (json.dumps(line), "line 9")])


def test_the_lines_of_the_page_are_an_extra() -> None:
    page = (DOCS / "snapshot-format.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith('{"kind":')]
    facts = parse_facts((line, line) for line in lines)
    assert [json.loads(line) for line in lines] == list(fact_documents(facts))
    assert {one["kind"] for one in fact_documents(facts)} == {one["kind"] for one in fact_documents(FACTS)}


def test_an_extra_without_its_root_or_table_line_is_refused() -> None:
    for kind in ("root", "table"):
        lines = [(json.dumps(one), "line") for one in fact_documents(FACTS) if one["kind"] != kind]
        with pytest.raises(SnapshotError, match=f"no line of kind '{kind}'"):
            parse_facts(lines)


def test_rows_of_a_plan() -> None:
    plan = planned([OWN], WALS[0], WALS[2], peers=(ONE, OFF))
    row = queue_row(plan.queues[0])
    assert (row.files, row.bytes, row.first_path, row.first_start, row.missing_files) == (1, 100, WALS[2], 0, 1)
    assert [(one.position, one.content, one.path) for one in wal_rows(plan.queues[0])] == [
        (0, "MISSING", None),
        (1, "EDITS", WALS[2]),
    ]
    rows = peer_rows(plan, (ONE, OFF), OtherFamilies({"1": 2}, {("7", "r"): 9}))
    assert [(one.peer_id, one.queues, one.bytes, one.hfile_refs, one.last_sequence_ids) for one in rows] == [
        ("1", 1, 100, 2, 0),
        ("2", 1, 0, 0, 0),
        ("7", 0, 0, 0, 1),
    ]


@pytest.mark.parametrize(
    ("peer", "action", "reason"),
    [
        (Peer("1", "DISABLED"), "WAITS", "peer 1 is DISABLED"),
        (Peer("1", "ENABLED", sync_replication_state="STANDBY"), "STANDBY", None),
    ],
)
def test_nothing_is_read_or_sent_again_for_a_peer_that_ships_nothing(
    peer: Peer, action: str, reason: str | None
) -> None:
    repeated = f"{HERE}/{group(H1)}.rep.9"
    plan = planned([OWN], *WALS, repeated, peers=(peer,), true_rows=[queue(f"1-{H1}", h1=(wal(H1, 3), 30))])
    (one,) = plan.queues
    told = queue_row(one)
    assert (told.action, told.reason, told.files, told.bytes, told.first_path) == (action, reason, 0, 0, None)
    assert (told.is_stale, told.resent_bytes) == (True, 0)
    assert [(each.path, each.content, each.start, each.bytes) for each in wal_rows(one)] == [
        (WALS[1], "NOT_READ", None, 0),
        (WALS[2], "NOT_READ", None, 0),
    ]
    assert plan.unread == (), "the tool finds them"
    waiting = [(row.files, row.bytes) for row in syncup_findings(plan, down(), CLEAN)]
    assert waiting == ([(2, 160)] if action == "WAITS" else [])


def test_a_dropped_queue_without_a_wal_has_no_reason_to_wait() -> None:
    standby = Peer("1", "ENABLED", sync_replication_state="STANDBY")
    (one,) = planned([OWN], peers=(standby,)).queues
    assert (queue_row(one).action, queue_row(one).reason) == ("STANDBY", None)


def down(**changes: object) -> Snapshot:
    nobody = Membership(None, frozenset(), frozenset())
    directories = (WalDirectory(H1, 1, NOW),)
    snapshot = small("small").snapshot
    return replace(snapshot, membership=replace(nobody, wal_directories=directories), membership_2=nobody, **changes)


def codes(plan: SyncUpPlan, facts: SyncUpFacts, **changes: object) -> list[tuple[str, str]]:
    return [(one.severity, one.code) for one in dated(syncup_findings(plan, down(**changes), facts), NOW, {}, ())]


CLEAN = SyncUpFacts("hdfs://ns1/hbase", (str(H1),), (), TableFacts(FACTS.table.store_files if FACTS.table else ()))


def test_a_plan_without_trouble_has_no_finding() -> None:
    assert codes(planned([OWN], *WALS, true_rows=[OWN]), CLEAN) == []


def test_findings_with_their_reasons() -> None:
    plan = planned([OWN], *WALS, true_rows=[OWN])
    assert codes(plan, replace(CLEAN, flags=FACTS.flags)) == [("error", "SYNCUP_LEFTOVER")]
    assert codes(plan, replace(CLEAN, root="hdfs://ns2/hbase")) == [("error", "SYNCUP_TWO_FILE_SYSTEMS")]
    assert codes(plan, replace(CLEAN, table=None)) == [("warning", "SYNCUP_STALENESS_UNKNOWN")]
    assert codes(plan, replace(CLEAN, table=TableFacts(unknown="edits wait"))) == [
        ("warning", "SYNCUP_STALENESS_UNKNOWN")
    ]
    assert codes(plan, FACTS) == [("error", "SYNCUP_LEFTOVER"), ("info", "SYNCUP_STALE_OFFSETS")]
    assert codes(planned([OWN], *WALS, peers=(ONE, OFF)), CLEAN) == [("error", "SYNCUP_DISABLED_PEER")]
    assert codes(planned([OWN], WALS[2]), CLEAN) == [("error", "MISSING_WAL")]
    finished = queue(f"1-{H1}", h1=(wal(H1, 9), -1))
    assert codes(planned([finished], *WALS), CLEAN) == [("error", "SYNCUP_EMPTY_QUEUE")]
    gone = queue(f"9-{D1}")
    assert codes(planned([OWN, gone], *WALS), CLEAN) == [
        ("warning", "SYNCUP_FLAG_STAYS"),
        ("info", "SYNCUP_REMOVED_PEER"),
    ]


@pytest.mark.parametrize(("entries", "removable"), [((0,), True), ((1,), False), ((0, 1), False), ((), False)])
def test_only_an_empty_directory_may_be_removed(entries: tuple[int, ...], removable: bool) -> None:
    membership = Membership(None, frozenset(), frozenset(), tuple(WalDirectory(H2, number, NOW) for number in entries))
    plan = planned([OWN], *WALS, f"WALs/{H2}/{group(H2)}.meta.7.meta", directories=(H1, H2))
    (found,) = syncup_findings(plan, replace(down(), membership=membership), CLEAN)[:1]
    assert (found.code, found.server) == ("SYNCUP_EMPTY_QUEUE", str(H2))
    assert ("remove the server's empty directory" in (found.remedy or "")) is removable


def test_what_is_left_of_an_open_wal_is_not_called_nothing() -> None:
    assert (human_waiting([1024, 1024]), human_waiting([])) == ("2.0 KiB", "0 B")
    assert human_waiting([1024, 0]) == "1.0 KiB or more (an open WAL is listed too short)"


def test_a_row_does_not_go_with_an_empty_directory() -> None:
    plan = planned([queue(f"1-{H1}", h1=(wal(H1, 9), -1))], *WALS)
    membership = Membership(None, frozenset(), frozenset(), (WalDirectory(H1, 0, NOW),))
    (found,) = syncup_findings(plan, replace(down(), membership=membership), CLEAN)
    assert (found.code, (found.remedy or "")[:6]) == ("SYNCUP_EMPTY_QUEUE", "Stop R")


def test_a_stop_with_a_disabled_peer_needs_the_flag_files_removed() -> None:
    """HBase 3 drops every queue of a server with a flag file when it starts."""
    plan = planned([queue(f"1-{H1}", h1=(wal(H1, 9), -1))], *WALS, peers=(ONE, OFF))
    found = {row.code: row for row in syncup_findings(plan, down(), CLEAN)}
    disabled, empty = found["SYNCUP_DISABLED_PEER"], found["SYNCUP_EMPTY_QUEUE"]
    assert "If you stop it, its flag files stay, and because of them HBase drops these queues" in disabled.message
    assert "remove the files below hdfs://ns1/hbase/ReplicationSyncUp before HBase starts" in disabled.remedy
    assert "if a peer is disabled (SYNCUP_DISABLED_PEER), follow the remedy for that peer first" in empty.remedy
