"""What inspect-wals asks of a storage: the queues, and the listed WALs that they still have to read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from pipelines.decide.rule.cluster_view import MergedQueueRow, merge_passes
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.zookeeper.queued_wals import first_wals, group_of, queue_key
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.queues.needed_wals import needed_wals, queued_wals, smallest_needed_timestamps
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


@dataclass(frozen=True, slots=True)
class InspectedStorage:
    """The queues of one storage.

    Attributes:
        row_name: returns the row key of a queue that the user names.
        rows: returns the queues of both readings.
        wals: returns the WALs that these queues still have to read: `path`, `length`; of one group, or of all (None).
    """

    row_name: Callable[[OpenedSnapshot, str], str]
    rows: Callable[[OpenedSnapshot], Sequence[MergedQueueRow]]
    wals: Callable[[DataFrame, Sequence[MergedQueueRow], str | None], DataFrame]


def _table_wals(listing: DataFrame, rows: Sequence[MergedQueueRow], group: str | None) -> DataFrame:
    """Returns what the offsets leave to be read."""
    servers = sorted({str(row.queue.wals_of) for row in rows})
    return needed_wals(listing, servers, smallest_needed_timestamps(rows), group)


def _znode_wals(listing: DataFrame, rows: Sequence[MergedQueueRow], group: str | None) -> DataFrame:
    """Returns what the queues name."""
    return queued_wals(listing, {wal for row in rows for wal in row.wals or () if group in (None, group_of(wal))})


def _znode_row_name(opened: OpenedSnapshot, name: str) -> str:
    """Returns the row key of a queue, which may be given as `<owner>/<queue id>`, too."""
    for tree in opened.trees:
        for queue in tree.queues:
            if f"{queue.owner}/{queue.queue.text}" == name:
                return str(queue_key(queue))
    return name


INSPECTED_STORAGES: Mapping[str, InspectedStorage] = {
    QUEUE_STORAGE_TABLE: InspectedStorage(
        row_name=lambda _opened, name: name, rows=lambda opened: merge_passes(opened.passes), wals=_table_wals
    ),
    QUEUE_STORAGE_ZOOKEEPER: InspectedStorage(
        row_name=_znode_row_name, rows=lambda opened: znode_rows(opened.trees), wals=_znode_wals
    ),
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
