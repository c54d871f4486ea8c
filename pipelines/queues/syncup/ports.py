"""The port of plan-syncup."""

from collections.abc import Sequence
from typing import Protocol

from pipelines.common.json_object import JsonObject
from pipelines.queues.dump.ports import QueueReading
from pipelines.snapshot.opened_snapshot import OpenedSnapshot, SnapshotReader


class OfflineSnapshots(SnapshotReader, QueueReading, Protocol):
    """Opens snapshots and reads the parts that only plan-syncup needs."""

    def extra_lines(self, opened: OpenedSnapshot, name: str) -> Sequence[JsonObject]:
        """Returns the lines of one extra."""
        ...
