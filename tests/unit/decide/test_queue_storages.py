"""Both storages of queues: each is chosen for its snapshots, and everything that differs by storage knows both."""

from dataclasses import replace

import pytest

from pipelines.common.conditions import Condition
from pipelines.decide.rule.queue_storage import ReplicationQueueStorage
from pipelines.decide.rule.replication_storage_factory import replication_queue_storage
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.table_queue_storage import TABLE
from pipelines.decide.rule.trust import first_doubt
from pipelines.decide.rule.verdict import ArchivedFile, Reason
from pipelines.decide.rule.zookeeper_queue_storage import ZOOKEEPER
from pipelines.queues.audit.audit_queues import AUDITED_QUEUES
from pipelines.queues.audit.storages import AUDITED_STORAGES
from pipelines.queues.dump.queue_storage import DUMPED_STORAGES
from pipelines.queues.wals.queue_storage import INSPECTED_STORAGES
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER, MasterFlags
from tests.strategies.zookeeper import ZooKeeperCase, view_of_zookeeper, znodes, zookeeper_snapshot

SNAPSHOT = zookeeper_snapshot(["1"])
MIGRATING = MasterFlags(queue_table_exists=True, add_peer_running=False, migration_pending=True, zk_queue_data=True)


@pytest.mark.parametrize(
    ("name", "storage", "elsewhere"),
    [
        (QUEUE_STORAGE_TABLE, TABLE, Condition.MIGRATION_PENDING),
        (QUEUE_STORAGE_ZOOKEEPER, ZOOKEEPER, Condition.QUEUES_IN_TABLE),
    ],
)
def test_a_snapshot_has_its_storage(name: str, storage: ReplicationQueueStorage, elsewhere: Condition) -> None:
    snapshot = replace(SNAPSHOT, queue_storage=name, flags=MIGRATING, flags_2=MIGRATING)
    assert replication_queue_storage(snapshot) is storage
    assert storage.name == name
    doubt = first_doubt(storage.elsewhere(snapshot))
    assert doubt is not None
    assert doubt[0] is elsewhere


def test_whatever_differs_by_storage_knows_both() -> None:
    both = {QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER}
    assert [set(one) for one in (AUDITED_QUEUES, AUDITED_STORAGES, DUMPED_STORAGES, INSPECTED_STORAGES)] == [both] * 4


def test_the_rule_asks_the_storage_of_the_view() -> None:
    nodes = znodes({("h1,16020,5", "1"): {"h1%2C16020%2C5.7": b""}})
    view = view_of_zookeeper(ZooKeeperCase(SNAPSHOT, (), nodes, nodes, ReconcileSettings()))
    other = ArchivedFile("oldWALs/h1%2C16020%2C5.6", 1, view.queued.read_from - 1)
    assert ZOOKEEPER.decide(view, other).reason is Reason.NOT_QUEUED
    # the row says from which WAL on the queue needs all
    assert TABLE.decide(view, other).reason is Reason.REPLICATED
    assert TABLE.decide(view, replace(other, path="oldWALs/h1%2C16020%2C5.8")).reason is Reason.PENDING
