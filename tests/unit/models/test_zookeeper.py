"""The generated cluster before its upgrade: the migration gives what the same cluster has in the table."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings

from jobs.demo.cluster.capture import capture_at
from jobs.demo.cluster.model import ClusterPlan, GeneratedCapture
from jobs.demo.cluster.plans import demo_plan
from jobs.demo.cluster.zookeeper import ZooKeeperCapture, before_upgrade
from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.verdict import Verdict, decide
from pipelines.hbase.replication_queues import NEEDS_ALL, parse_queue_cells
from pipelines.hbase.wal_names import wal_timestamp
from pipelines.hbase.zookeeper.queued_wals import unsettled_reason
from pipelines.hbase.zookeeper.tree import ReplicationTree, Znode, parse_tree
from pipelines.queues.migration.plan import MigrationPeers, migration_rows, offset_of
from tests.models.capture.trust import zookeeper_distrust_reason
from tests.models.drawn import drawn_plan
from tests.models.truth import needed_wals
from tests.strategies import plans
from tests.strategies.zookeeper import ZooKeeperCase, view_of_zookeeper
from tests.suite.sizes import examples

NOW = 1_790_000_000_000
PLAN = demo_plan(NOW)


class Upgrade(NamedTuple):
    """A cluster whose queues are in the table, and the same cluster before its upgrade."""

    made: GeneratedCapture
    old: ZooKeeperCapture
    tree: ReplicationTree


@pytest.fixture(scope="module")
def upgrade() -> Upgrade:
    made = capture_at(PLAN, NOW + DAY_MS)
    old = before_upgrade(PLAN, made)
    return Upgrade(made, old, parse_tree(old.znodes))


def test_it_is_a_snapshot_that_is_believed(upgrade: Upgrade) -> None:
    assert zookeeper_distrust_reason(upgrade.old.snapshot, [upgrade.tree, upgrade.tree], Release()) is None
    assert unsettled_reason([upgrade.tree, upgrade.tree]) is None
    assert {len(queue.queue.dead_servers) for queue in upgrade.tree.queues} >= {0, 1}
    assert upgrade.tree.sequence_ids


def test_the_migration_gives_the_rows_of_the_same_cluster_with_the_table(upgrade: Upgrade) -> None:
    """The table has lazily written offsets, and knows no WAL that is to come; ZooKeeper lists every one to be read."""
    lengths = {file.path.rpartition("/")[2]: file.length for file in upgrade.old.files}
    rows = [
        row
        for row in migration_rows(upgrade.tree, MigrationPeers.of(upgrade.old.snapshot.peers), lengths, NOW)
        if row.family == "queue"
    ]
    written = {(row.row, row.qualifier): row for row in rows if row.action == "WRITE"}
    table = {(str(cell.queue), cell.group): cell.offset for cell in parse_queue_cells(upgrade.made.pass_1)}
    known = {peer.peer_id for peer in upgrade.old.snapshot.peers}
    odd = {odd.row for odd in PLAN.odd_rows}
    compared = 0
    for (row, group), offset in table.items():
        if row.partition("-")[0] in known and row not in odd and offset.need != NEEDS_ALL:
            first = offset_of(written[row, group].value) if (row, group) in written else None
            if first is None:  # an empty queue
                assert offset.offset < 0
                continue
            assert wal_timestamp(first.wal) >= offset.need
            if offset.offset >= 0:
                assert first.wal == offset.wal
            compared += 1
    assert compared > 50
    assert {row.reason for row in rows if row.action == "DROP"} == {"EMPTY_QUEUE", "UNKNOWN_PEER"}


def lost(plan: ClusterPlan, seen: Callable[[Znode], bool] = lambda _: True) -> list[str]:
    """Needed WALs of a cluster with queues in ZooKeeper that are DELETABLE."""
    old = before_upgrade(plan, capture_at(plan, NOW))
    znodes = tuple(filter(seen, old.znodes))
    view = view_of_zookeeper(ZooKeeperCase(old.snapshot, old.files, znodes, znodes, ReconcileSettings()))
    listed = {file.name: file for file in old.files if file.path.startswith("oldWALs/")}
    needed = [listed[wal.name] for wal in needed_wals(plan, NOW) if wal.name in listed]
    return [file.path for file in needed if decide(file, view).verdict is Verdict.DELETABLE]


@pytest.mark.promise("generated-clusters-lose-nothing")
@given(plans())
@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
def test_nothing_deletable_is_still_to_be_shipped_whatever_happened_to_the_cluster(plan: ClusterPlan) -> None:
    assert lost(plan) == []


def test_without_claimed_queues_something_is_lost_in_a_drawn_cluster() -> None:
    drawn = (drawn_plan(Random(seed).randint, NOW) for seed in range(500))  # noqa: S311 - repeatable, no secret
    assert any(lost(plan, lambda znode: "-rs" not in znode.path) for plan in drawn)
