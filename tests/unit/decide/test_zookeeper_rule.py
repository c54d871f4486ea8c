"""The rule for queues in ZooKeeper: by name, its fast form, HBase's own, and who holds how much."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_2_verdict
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.name_table import name_table
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.rule.verdict import ArchivedFile, Decision, Reason, Verdict, decide, deletable, held
from pipelines.hbase.zookeeper.tree import ABSENT, Znode
from pipelines.reconcile.holdings import pinned_rows, queue_offsets
from tests.labs.documented_failover import FILES, START, A, C, seen
from tests.strategies.clusters import NOW
from tests.strategies.zookeeper import BASE, ZooKeeperCase, view_of_zookeeper, zookeeper_cases, zookeeper_snapshot
from tests.suite.sizes import examples


@pytest.mark.promise("zookeeper-peers-have-no-say")
def test_without_a_queue_and_without_a_peer_everything_may_go() -> None:
    nothing = (Znode(f"{BASE}/rs", b"", ABSENT),)
    view = view_of_zookeeper(ZooKeeperCase(zookeeper_snapshot([]), FILES, nothing, nothing, ReconcileSettings()))
    assert (view.untrusted, view.restless) == (None, None)
    assert {decide(file, view).reason for file in FILES} == {Reason.NOT_QUEUED}


@pytest.mark.promise("zookeeper-peers-have-no-say")
def test_queues_of_a_removed_peer_hold_too() -> None:
    orphan = seen({**START, (A, "9"): {"1.1.1.3,60020.1401": b""}})
    assert decide(FILES[-1], orphan).reason is Reason.PENDING


@pytest.mark.promise("zookeeper-rule-by-name")
def test_a_file_archived_after_the_queues_were_read_is_held() -> None:
    """Beyond what a trusted capture can show: its listing ended before the queues were read."""
    view = seen(START)
    late = replace(view, files_finished=NOW + DAY_MS, files_started=NOW + DAY_MS)
    file = ArchivedFile("oldWALs/w.1", 1, view.queued.read_from)
    assert decide(file, late).reason is Reason.QUEUE_READ_TOO_OLD
    assert decide(replace(file, modification_time=file.modification_time - 1), late).reason is Reason.NOT_QUEUED
    assert hbase_2_verdict("w.1", file.modification_time, late) is HBaseVerdict.KEEP


def looked_up(table: DecisionTable, name: str, modification_time: int) -> tuple[Decision, HBaseVerdict]:
    """What the table says of a file after the early reasons; the twin of `pipelines.decide.spark.queued_names`."""
    assert table.named is not None
    found = table.named.wals.get(name)
    if found is None:
        other = table.unknown if modification_time < table.named.read_from else table.no_server
        return other.decision, other.hbase_verdict
    (answer,) = (answer for answer in table.named.pending if answer.bucket == found.bucket)
    holders = zip(answer.decision.blocking, found.positions, strict=True)
    blocking = tuple(holder._replace(wal=name, offset=position) for holder, position in holders)
    return replace(answer.decision, blocking=blocking), answer.hbase_verdict


@pytest.mark.promise("fast-form-equals-the-rule")
@given(zookeeper_cases())
@settings(max_examples=examples(60), deadline=None)
def test_the_table_says_what_the_rule_says(case: ZooKeeperCase) -> None:
    view = view_of_zookeeper(case)
    table = name_table(view, 5)
    buckets = [answer.bucket for answer in table.answers()]
    assert sorted(buckets) == list(range(5, table.next_bucket))
    for file in case.files:
        decision, hbase = looked_up(table, file.name, file.modification_time)
        assert hbase is hbase_2_verdict(file.name, file.modification_time, view)
        expected = decide(file, view)
        if expected.reason in (Reason.PENDING, Reason.CLUSTER_MOVED, Reason.NOT_QUEUED, Reason.QUEUE_READ_TOO_OLD):
            assert decision == expected


@pytest.mark.promise("zookeeper-rule-by-name")
@given(zookeeper_cases())
@settings(max_examples=examples(60), deadline=None)
def test_hbase_would_delete_what_is_deletable_and_no_queue_loses_a_file(case: ZooKeeperCase) -> None:
    view = view_of_zookeeper(case)
    queued = {znode.path.rpartition("/")[2] for znode in (*case.pass_1, *case.pass_2) if znode.path.count("/") == 6}
    for file in case.files:
        decision = decide(file, view)
        assert decision.reason not in (Reason.UNDECIDED, Reason.QUEUE_READ_TOO_OLD)
        if decision.verdict is Verdict.DELETABLE:
            assert not decision.blocking
            assert hbase_2_verdict(file.name, file.modification_time, view) is HBaseVerdict.DELETE
            assert decision.reason is not Reason.NOT_QUEUED or file.name not in queued


@pytest.mark.promise("mutants-make-the-gate-fire")
@pytest.mark.parametrize("restless", [None, "a queue moved"])
def test_a_hole_in_the_rule_is_one_that_hbases_fills(restless: str | None) -> None:
    """The gate compares two things: without the merged queues our rule frees what HBase keeps."""
    view = replace(seen(START, {}), restless=restless)
    blind = replace(view, queued=replace(view.queued, queues_of={}))
    decided = deletable(Reason.NOT_QUEUED) if restless is None else held(Reason.CLUSTER_MOVED)
    assert decide(FILES[0], blind) == decided
    assert hbase_2_verdict(FILES[0].name, FILES[0].modification_time, blind) is HBaseVerdict.KEEP
    table = name_table(blind, 5)
    for file in FILES:
        hbase = HBaseVerdict.KEEP if file.name in view.queued.first_reading else HBaseVerdict.DELETE
        assert looked_up(table, file.name, file.modification_time) == (decided, hbase)
    assert table.named is not None
    assert set(table.named.wals) == view.queued.first_reading
    assert [answer.bucket for answer in table.answers()] == list(range(5, table.next_bucket))


@pytest.mark.promise("mutants-make-the-gate-fire")
def test_a_name_that_is_none_and_that_the_merge_lost_is_kept_by_hbase() -> None:
    view = seen(START)
    lost = replace(view, queued=replace(view.queued, queues_of={}, first_reading=frozenset({".7"})))
    table = name_table(lost)
    assert looked_up(table, ".7", 0) == (deletable(Reason.NOT_QUEUED), HBaseVerdict.KEEP)
    assert {answer.server for answer in table.answers()} == {table.unknown.server}


def test_queues_and_pins_follow_from_totals() -> None:
    view = seen({**START, (A, "9"): {"1.1.1.1,60020.1265": b"PBUF", "1.1.1.1,60020.1": b""}, (C, "2-x"): {}})
    table = name_table(view)
    totals = [
        BucketTotal("c", True, "HELD", "PENDING", "KEEP", table.named.wals[file.name].bucket, 1, 8, 5, 5, 0, 0)
        for file in FILES
        if table.named is not None and file.name in table.named.wals
    ]
    rows = {(row.peer_id, row.owner, row.wal): row for row in queue_offsets(view, table, totals)}
    first = rows["2", A, "1.1.1.1,60020.1234"]
    assert (first.pending_files, first.pending_bytes, first.offset, first.need_timestamp) == (2, 16, 443, 1234)
    assert rows["9", A, "1.1.1.1,60020.1"].pending_files == 1
    pins = {row.peer_id: row for row in pinned_rows(view, table, totals, {"2": "ENABLED"}) if row.level == "peer"}
    assert (pins["2"].files, pins["2"].exclusive_files, pins["2"].freed_files) == (6, 5, 5)
    assert (pins["9"].joint_files, pins["9"].freed_files) == (1, 0)
    assert pins["9"].remedy == (
        "peer 9 does not exist: remove its queues with HBCK2 'replication --fix' "
        "(in HBase 1: hbase hbck -fixReplication)"
    )
