"""The port of plan-migration and verify-migration."""

from collections.abc import Sequence
from typing import Protocol

from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.opened import OpenedSnapshot, SnapshotReader


class TableReading(SnapshotReader, Protocol):
    """Snapshots, and all of the queue table that they have."""

    def cells(self, opened: OpenedSnapshot) -> Sequence[Cell]:
        """All cells of the last scan of `hbase:replication`, in scan order; the snapshot was opened without a fault."""
        ...
