"""The port of dump-queues."""

from collections.abc import Sequence
from typing import Protocol

from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


class QueueReading(Protocol):
    """Reads the last reading of the queues from a snapshot that opened without a fault, unparsed."""

    def cells(self, opened: OpenedSnapshot) -> Sequence[Cell]:
        """Returns all cells of `hbase:replication`, in scan order."""
        ...

    def znodes(self, opened: OpenedSnapshot) -> Sequence[Znode]:
        """Returns all znodes, in the order they were read."""
        ...
