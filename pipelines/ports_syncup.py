"""The ports of a capture with HBase down, and of plan-syncup."""

from collections.abc import Sequence
from typing import Protocol

from pipelines.domain.json_form import Form
from pipelines.domain.snapshot import Peer
from pipelines.domain.syncup.facts import FlagFile, StoreFile
from pipelines.domain.syncup.offline_table import TableEdit
from pipelines.ports import CaptureSource, ClusterSettings, QueueSource
from pipelines.ports_dump import QueueReading
from pipelines.ports_reconcile import OpenedSnapshot, SnapshotReader


class QueueTableFiles(QueueSource, Protocol):
    """`hbase:replication` read from its store files."""

    def exists(self) -> bool:
        """Whether the table has a directory."""
        ...

    def store_files(self) -> Sequence[StoreFile]:
        """Those of the regions that were read."""
        ...

    def recovered_edits(self) -> Sequence[str]:
        """Files of edits that wait for a region to open."""
        ...

    def region_names(self) -> frozenset[str]:
        """Encoded names of the regions that were read."""
        ...


class OfflineState(CaptureSource, Protocol):
    """What ZooKeeper and the file systems know of a cluster that is down."""

    def settings(self) -> ClusterSettings:
        """Identity and configuration."""
        ...

    def peers(self) -> tuple[Peer, ...]:
        """All replication peers."""
        ...

    def running(self) -> str | None:
        """Who is at work all the same, in words; None = nobody."""
        ...

    def zk_queue_data(self) -> bool:
        """Whether queue data of an HBase 1.x or 2.x is in ZooKeeper: the migration has not finished."""
        ...

    def root(self) -> str:
        """`hbase.rootdir`, full URI."""
        ...

    def directories(self) -> Sequence[str]:
        """Names of the directories below `WALs/`, `-splitting` included."""
        ...

    def flags(self) -> Sequence[FlagFile]:
        """What an earlier run of ReplicationSyncUp left below the root directory."""
        ...

    def edits(self, paths: Sequence[str]) -> tuple[Sequence[TableEdit], str | None]:
        """The edits of WALs of `hbase:replication`, and why they may not be all, in words.

        Args:
            paths: of the WALs, below the WAL root.
        """
        ...


class OfflineSnapshots(SnapshotReader, QueueReading, Protocol):
    """Snapshots with what is read for plan-syncup alone."""

    def extra_lines(self, opened: OpenedSnapshot, name: str) -> Sequence[Form]:
        """The lines of one extra."""
        ...
