"""The ports of a capture with HBase down, and of plan-syncup."""

from collections.abc import Sequence
from typing import Protocol

from pipelines.common.json_form import Form
from pipelines.queues.dump.ports import QueueReading
from pipelines.snapshot.opened import OpenedSnapshot, SnapshotReader


class OfflineSnapshots(SnapshotReader, QueueReading, Protocol):
    """Snapshots with what is read for plan-syncup alone."""

    def extra_lines(self, opened: OpenedSnapshot, name: str) -> Sequence[Form]:
        """The lines of one extra."""
        ...
