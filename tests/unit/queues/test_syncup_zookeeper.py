"""What ReplicationSyncUp of HBase 2 does with queues in ZooKeeper: without a cluster."""

import json
from collections.abc import Mapping

import pytest

from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queue_ids import parse_zk_queue_id
from pipelines.hbase.zookeeper.tree import ZkQueue
from pipelines.lake.findings import dated
from pipelines.queues.syncup.plan import SyncUpPlan
from pipelines.queues.syncup.rows import SyncUpAction
from pipelines.queues.syncup.tables import peer_rows, queue_row, wal_rows
from pipelines.queues.syncup.wals import ListedWal
from pipelines.queues.syncup.zookeeper_findings import zookeeper_findings
from pipelines.queues.syncup.zookeeper_plan import (
    FilesByName,
    ZooKeeperInput,
    ZooKeeperQueuePlan,
    plan_zookeeper_syncup,
)
from pipelines.snapshot.other_families import OtherFamilies
from tests.labs.small_cluster import D1, H1, H2, NOW, group, timestamp, wal

ONE, OFF = Peer("1", "ENABLED"), Peer("2", "DISABLED")
HERE = f"WALs/{H1}"
OLD = tuple(f"oldWALs/{wal(H1, number)}" for number in (1, 2, 3))


def queue(owner: ServerName, name: str, wals: Mapping[str, int | None]) -> ZkQueue:
    return ZkQueue(owner, parse_zk_queue_id(name), wals)


def planned(queues: list[ZkQueue], *paths: str, peers: tuple[Peer, ...] = (ONE,)) -> SyncUpPlan:
    files = FilesByName(ListedWal.of(path, 100) for path in paths)
    return plan_zookeeper_syncup(ZooKeeperInput(peers, queues, files))


def only(plan: SyncUpPlan) -> ZooKeeperQueuePlan:
    (one,) = plan.queues
    assert isinstance(one, ZooKeeperQueuePlan)
    return one


def codes(plan: SyncUpPlan) -> list[tuple[str, str]]:
    queues = [one for one in plan.queues if isinstance(one, ZooKeeperQueuePlan)]
    return [(one.severity, one.code) for one in dated(zookeeper_findings(plan, queues), NOW, {}, ())]


def read(plan: SyncUpPlan) -> list[tuple[str, str, int]]:
    return [(wal.file.path, wal.content.value, wal.bytes) for wal in only(plan).wals]


def test_each_group_is_read_in_order_and_its_first_wal_from_its_position() -> None:
    other = f"{group(H1)}.regiongroup-1.{timestamp(9)}"
    wals: dict[str, int | None] = {wal(H1, 2): 70, wal(H1, 10): 7, wal(H1, 9): 40, other: None}
    plan = planned([queue(H1, "1", wals)], *(f"oldWALs/{name}" for name in (*wals, wal(H1, 1))))
    one = only(plan)
    assert [(each.file.path, each.start, each.bytes) for each in one.wals] == [
        (f"oldWALs/{wal(H1, 2)}", 70, 30),
        (f"oldWALs/{wal(H1, 9)}", 0, 100),
        (f"oldWALs/{wal(H1, 10)}", 0, 100),
        (f"oldWALs/{other}", 0, 100),
    ], "a later WAL is read from its beginning, whatever its znode says"
    assert (one.action, one.waits_for, one.bytes, plan.unread, plan.servers) == (
        SyncUpAction.SHIP,
        None,
        330,
        (),
        (H1,),
    )
    assert codes(plan) == []
    row = queue_row(one)
    assert (row.queue, row.owner, row.source, row.wal_groups) == (f"{H1}/1", str(H1), str(H1), 2)
    assert (row.is_stale, row.resent_bytes) == (False, None)


def test_a_claimed_queue_is_named_by_its_znode() -> None:
    one = only(planned([queue(H1, f"1-{D1}-{H2}", {wal(D1, 1): 0})], f"oldWALs/{wal(D1, 1)}"))
    row = queue_row(one)
    assert (row.queue, row.owner, row.source) == (f"{H1}/1-{D1}-{H2}", str(H1), str(D1))


@pytest.mark.parametrize("directory", [HERE, f"{HERE}-splitting", f"WALs/{H2}"])
def test_the_first_file_of_any_directory_below_wals_is_found(directory: str) -> None:
    first = f"{directory}/{wal(H1, 1)}"
    plan = planned([queue(H1, "1", {wal(H1, 1): 40})], first, f"{directory}/{group(H1)}.meta.{NOW}.meta")
    assert (read(plan), only(plan).action) == ([(first, "EDITS", 60)], SyncUpAction.SHIP)


def test_a_later_file_of_a_directory_is_not_found() -> None:
    """The tool would open `WALs/<server>/<first>/<second>`."""
    wals: dict[str, int | None] = {wal(H1, 1): 40, wal(H1, 2): 0}
    first, second = (f"{HERE}/{name}" for name in wals)
    plan = planned([queue(H1, "1", wals)], first, second)
    assert read(plan) == [(first, "EDITS", 60), (second, "NOT_READ", 0)]
    assert (only(plan).action, only(plan).waits_for) == (SyncUpAction.WAITS, f"the tool does not find {wal(H1, 2)}")
    assert codes(plan) == [("error", "SYNCUP_WAL_UNFOUND")]
    assert [(one.position, one.content, one.start, one.bytes) for one in wal_rows(only(plan))] == [
        (1, "EDITS", 40, 60),
        (2, "NOT_READ", None, 0),
    ]
    copied = planned([queue(H1, "1", wals)], first, second, f"oldWALs/{wal(H1, 2)}")
    assert (codes(copied), only(copied).bytes) == ([], 160), "the remedy of the page"


def test_of_two_directories_the_first_by_name_counts() -> None:
    split = f"{HERE}-splitting/{wal(H1, 2)}"
    plan = planned([queue(H1, "1", {wal(H1, 2): 0})], f"{HERE}/{wal(H1, 1)}", f"{HERE}/{wal(H1, 2)}", split)
    assert only(plan).action is SyncUpAction.WAITS
    assert only(planned([queue(H1, "1", {wal(H1, 2): 0})], split)).action is SyncUpAction.SHIP


def test_nothing_behind_such_a_file_is_read_in_its_group_alone() -> None:
    other = f"{group(H1)}.regiongroup-1.{timestamp(9)}"
    wals: dict[str, int | None] = {wal(H1, 1): 0, wal(H1, 2): 0, other: 0}
    plan = planned([queue(H1, "1", wals)], f"oldWALs/{H1}/{wal(H1, 1)}", OLD[1], f"oldWALs/{other}")
    assert read(plan) == [
        (f"oldWALs/{H1}/{wal(H1, 1)}", "NOT_READ", 0),
        (OLD[1], "NOT_READ", 0),
        (f"oldWALs/{other}", "EDITS", 100),
    ]
    assert codes(plan) == [("error", "SYNCUP_WAL_UNFOUND")]


def test_a_wal_that_is_in_the_archive_already_is_not_to_be_copied() -> None:
    """The recipe of the page ends with the removal of the copies."""
    wals: dict[str, int | None] = {wal(H1, 1): 0, wal(H1, 2): 0, wal(H1, 3): 0}
    below = f"oldWALs/{H1}/{wal(H1, 1)}", f"{HERE}/{wal(H1, 3)}"
    plan = planned([queue(H1, "1", wals)], below[0], OLD[1], below[1])
    (found,) = zookeeper_findings(plan, [only(plan)])
    assert (found.files, found.bytes) == (3, 300), "everything that is not shipped"
    assert json.loads(found.evidence)["wals"] == sorted(below)


def test_an_open_wal_that_is_listed_too_short_is_counted() -> None:
    first, second = f"{HERE}/{wal(H1, 1)}", f"{HERE}/{wal(H1, 2)}"
    files = FilesByName([ListedWal.of(first, 100), ListedWal.of(second, 0)])
    plan = plan_zookeeper_syncup(ZooKeeperInput((ONE,), [queue(H1, "1", {wal(H1, 2): 5_000_000})], files))
    (found,) = zookeeper_findings(plan, [only(plan)])
    assert (found.files, json.loads(found.evidence)["wals"]) == (1, [second])


def test_a_wal_that_is_nowhere_keeps_the_tool_for_ever() -> None:
    plan = planned([queue(H1, "1", {wal(H1, 1): 5, wal(H1, 2): 0})], OLD[1])
    one = only(plan)
    assert (one.action, one.missing, read(plan)) == (
        SyncUpAction.WAITS,
        ((group(H1), wal(H1, 1)),),
        [(OLD[1], "NOT_READ", 0)],
    )
    assert codes(plan) == [("error", "MISSING_WAL")]
    assert next(wal_rows(one)).content == "MISSING"


def test_queues_of_a_disabled_peer_are_moved_and_the_tool_ends() -> None:
    plan = planned([queue(H1, "2", {wal(H1, 1): 40})], OLD[0], peers=(OFF,))
    assert (only(plan).action, only(plan).waits_for, read(plan)) == (
        SyncUpAction.MOVES,
        None,
        [(OLD[0], "NOT_READ", 0)],
    )
    assert codes(plan) == [("error", "SYNCUP_DISABLED_PEER")]
    (found,) = zookeeper_findings(plan, [only(plan)])
    assert (found.files, found.bytes) == (1, 60)


def test_a_missing_wal_of_a_disabled_peer_does_not_keep_the_tool() -> None:
    plan = planned([queue(H1, "2", {wal(H1, 1): 0})], peers=(OFF,))
    missing = next(row for row in zookeeper_findings(plan, [only(plan)]) if row.code == "MISSING_WAL")
    assert "ReplicationSyncUp ships nothing of a disabled peer" in missing.message
    enabled = planned([queue(H1, "1", {wal(H1, 1): 0})])
    (missing,) = zookeeper_findings(enabled, [only(enabled)])
    assert "ReplicationSyncUp tries to open it forever, and ships no later WAL" in missing.message


def test_queues_of_a_removed_peer_stay_and_empty_ones_go() -> None:
    plan = planned([queue(H1, "9", {"junk": 0}), queue(H2, "1", {}), queue(H2, "2", {})], peers=(ONE, OFF))
    assert {one.name: one.action for one in plan.queues} == {
        f"{H1}/9": SyncUpAction.REMOVED_PEER,
        f"{H2}/1": SyncUpAction.EMPTY,
        f"{H2}/2": SyncUpAction.EMPTY,
    }
    assert (codes(plan), plan.poison) == ([("info", "SYNCUP_REMOVED_PEER")], ())
    rows = peer_rows(plan, (ONE, OFF), OtherFamilies({"1": 3}, {("2", "r"): 7, ("2", "s"): 7}))
    assert [(one.peer_id, one.queues, one.hfile_refs, one.last_sequence_ids) for one in rows] == [
        ("1", 1, 3, 0),
        ("2", 1, 0, 2),
        ("9", 1, 0, 0),
    ]


@pytest.mark.parametrize("name", ["junk", f"{group(H1)}.99999999999999999999"])
def test_names_that_are_no_wals(name: str) -> None:
    assert planned([queue(H1, "1", {name: 0})], f"oldWALs/{name}").poison == (name,)


def test_a_serial_peer() -> None:
    serial = Peer("1", "ENABLED", serial=True)
    plan = planned([queue(H1, "1", {wal(H1, 1): 0}), queue(H2, "1", {})], OLD[0], peers=(serial,))
    assert [one.name for one in plan.serial] == [f"{H1}/1"]
