"""The port of dump-queues."""

from collections.abc import Sequence
from typing import Protocol

from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.opened import OpenedSnapshot


class QueueReading(Protocol):
    """The last reading of the queues in a snapshot that was opened without a fault, as it was captured."""

    def cells(self, opened: OpenedSnapshot) -> Sequence[Cell]:
        """All cells of `hbase:replication`, in scan order."""
        ...

    def znodes(self, opened: OpenedSnapshot) -> Sequence[Znode]:
        """All znodes, in the order read."""
        ...
