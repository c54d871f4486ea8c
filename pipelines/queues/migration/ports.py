"""The port of plan-migration and verify-migration."""

from collections.abc import Sequence
from typing import Protocol

from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.opened_snapshot import OpenedSnapshot, SnapshotReader


class TableReading(SnapshotReader, Protocol):
    """Opens snapshots and reads all column families of their queue table."""

    def cells(self, opened: OpenedSnapshot) -> Sequence[Cell]:
        """Returns all cells of the last scan of `hbase:replication`, in scan order, of a snapshot without a fault."""
        ...
