"""What inspect-wals asks of a storage: the queues, and the listed WALs that they still have to read."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.decide.rule.cluster_view import MergedQueueRow, merge_passes
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.zookeeper.queued_wals import first_wals, group_of, queue_key
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.queues.wals.pending import smallest_needed_timestamps
from pipelines.queues.wals.selection import needed_wals, queued_wals
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


class InspectedStorage(Protocol):
    """The queues of one storage."""

    def row_name(self, opened: OpenedSnapshot, name: str) -> str:
        """Returns the row key of a queue that the user names."""
        ...

    def rows(self, opened: OpenedSnapshot) -> Sequence[MergedQueueRow]:
        """Returns the queues of both readings."""
        ...

    def wals(self, listing: DataFrame, rows: Sequence[MergedQueueRow], group: str | None) -> DataFrame:
        """Returns the WALs that these queues still have to read: `path`, `length`; of one group, or of all (None)."""
        ...


class InspectedTableQueues:
    """Queues in `hbase:replication`, where an offset says what is needed; see `InspectedStorage`."""

    def row_name(self, _opened: OpenedSnapshot, name: str) -> str:
        """See `InspectedStorage.row_name`."""
        return name

    def rows(self, opened: OpenedSnapshot) -> Sequence[MergedQueueRow]:
        """See `InspectedStorage.rows`."""
        return merge_passes(opened.passes)

    def wals(self, listing: DataFrame, rows: Sequence[MergedQueueRow], group: str | None) -> DataFrame:
        """See `InspectedStorage.wals`."""
        servers = sorted({str(row.queue.wals_of) for row in rows})
        return needed_wals(listing, servers, smallest_needed_timestamps(rows), group)


class InspectedZooKeeperQueues:
    """Queues in ZooKeeper, where each names what it needs; see `InspectedStorage`."""

    def row_name(self, opened: OpenedSnapshot, name: str) -> str:
        """See `InspectedStorage.row_name`; also `<owner>/<queue id>`."""
        for tree in opened.trees:
            for queue in tree.queues:
                if f"{queue.owner}/{queue.queue.text}" == name:
                    return str(queue_key(queue))
        return name

    def rows(self, opened: OpenedSnapshot) -> Sequence[MergedQueueRow]:
        """See `InspectedStorage.rows`."""
        return znode_rows(opened.trees)

    def wals(self, listing: DataFrame, rows: Sequence[MergedQueueRow], group: str | None) -> DataFrame:
        """See `InspectedStorage.wals`."""
        return queued_wals(listing, {wal for row in rows for wal in row.wals or () if group in (None, group_of(wal))})


INSPECTED_STORAGES: Mapping[str, InspectedStorage] = {
    QUEUE_STORAGE_TABLE: InspectedTableQueues(),
    QUEUE_STORAGE_ZOOKEEPER: InspectedZooKeeperQueues(),
}
"""By the name in snapshot.json."""


def znode_rows(trees: Sequence[ReplicationTree]) -> tuple[MergedQueueRow, ...]:
    """Returns every queue of either reading, sorted: the WALs of both readings, with the smaller position.

    A position that cannot be read counts as the beginning, as in HBase (`ZKReplicationQueueStorage.getWALPosition`).
    """
    wals: dict[QueueId, dict[str, int]] = {}
    for tree in trees:
        for queue in tree.queues:
            known = wals.setdefault(queue_key(queue), {})
            for wal, position in queue.wals.items():
                known[wal] = min(known.get(wal, position or 0), position or 0)
    offsets = first_wals(trees)
    return tuple(MergedQueueRow(queue, offsets[queue], wals[queue]) for queue in sorted(wals, key=str))
