"""Converts queues in ZooKeeper to rows that name each WAL they still have to read."""

from collections.abc import Sequence

from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.zookeeper.queued_wals import first_wals, queue_key
from pipelines.hbase.zookeeper.tree import ReplicationTree


def row_name(trees: Sequence[ReplicationTree], name: str) -> str:
    """Returns how `znode_rows` spells a queue that is given as `<owner>/<queue id>`; other names unchanged."""
    for tree in trees:
        for queue in tree.queues:
            if f"{queue.owner}/{queue.queue.text}" == name:
                return str(queue_key(queue))
    return name


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
