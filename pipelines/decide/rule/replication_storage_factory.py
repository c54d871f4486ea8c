"""Chooses the storage of a snapshot's replication queues: the one place that asks which it is."""

from collections.abc import Mapping

from pipelines.decide.rule.queue_storage import ReplicationQueueStorage
from pipelines.decide.rule.table_queue_storage import TABLE
from pipelines.decide.rule.zookeeper_queue_storage import ZOOKEEPER
from pipelines.snapshot.model import Snapshot

_STORAGES: Mapping[str, ReplicationQueueStorage] = {storage.name: storage for storage in (TABLE, ZOOKEEPER)}


def replication_queue_storage(snapshot: Snapshot) -> ReplicationQueueStorage:
    """Returns the storage that the queues of the snapshot were read from."""
    return _STORAGES[snapshot.queue_storage]
