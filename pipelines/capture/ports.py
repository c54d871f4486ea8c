"""The Protocols that use cases receive. Reader ports have no delete and no rename."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.files.file_batch import FileBatch
from pipelines.hbase.known_servers import Servers
from pipelines.hbase.offline_table import TableEdit
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.backup import BackupSession
from pipelines.snapshot.barriers import RegionBarriers
from pipelines.snapshot.capture_clocks import Stamp
from pipelines.snapshot.model import Backup, Flags, Retention, Snapshot, WalDirectory
from pipelines.snapshot.syncup_facts import FlagFile, StoreFile


class CaptureSource(Protocol):
    """What every source of a capture tells about itself."""

    def stamp(self, step: str) -> Stamp | None:
        """When the source was read for this step, and by whose clock: a saved input says so itself; None = now."""
        ...


class FileSource(CaptureSource, Protocol):
    """The files below the WAL root."""

    def files(self) -> Iterator[FileBatch]:
        """Everything below `WALs/` and `remoteWALs/`, read first, and below `oldWALs/`, read last.

        A file that moved from one to the other meanwhile is given once, where it was seen last. Memory does not grow
        with `oldWALs/`.

        Raises:
            UnavailableError, UsageError: the source did not answer, or not in its own form.
        """
        ...


class WalDirectorySource(CaptureSource, Protocol):
    """The directories below `WALs/`."""

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        """Read from the active name node; `-splitting` is stripped from the names.

        Raises:
            UnavailableError, UsageError: the source did not answer, or not in its own form.
        """
        ...


class QueueSource(CaptureSource, Protocol):
    """The table `hbase:replication`."""

    def cells(self, step: str) -> Iterator[Cell]:
        """One scan of all families, in scan order; none when there is no such table.

        Args:
            step: `queues-1` or `queues-2`.

        Raises:
            UnavailableError, UsageError: the source did not answer, or not in its own form.
        """
        ...


class ZnodeSource(CaptureSource, Protocol):
    """The queues of HBase 1.x and 2.x, below `/hbase/replication` in ZooKeeper."""

    def znodes(self, step: str) -> Sequence[Znode]:
        """One reading: `rs` before and after all that is below it; with `queues-2` the other parts behind that.

        Args:
            step: `queues-1` or `queues-2`.

        Raises:
            UnavailableError, UsageError: ZooKeeper did not answer, or has no HBase there.
        """
        ...

    def cluster_id(self) -> str | None:
        """The id of the HBase that lives there; None where it has a form of old.

        Raises:
            UnavailableError, UsageError: as `znodes`.
        """
        ...

    def online(self, step: str) -> frozenset[ServerName] | None:
        """Servers that are online, by their own znodes; `step` is `online` or `online-2`. None = there are no such."""
        ...


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What does not change while a capture runs; None = unknown.

    `backup` is unknown where `hbase.backup.enable` is not set: another hbase-site.xml than the master's is silent too.
    """

    cluster_id: str | None
    hbase_version: str | None
    retention: Retention
    log_cleaner_plugins: tuple[str, ...] | None
    backup: Backup | None


class PeerSource(CaptureSource, Protocol):
    """What a capture asks of a cluster besides files, queues and servers."""

    def settings(self) -> ClusterSettings:
        """Identity and configuration."""
        ...

    def peers(self) -> tuple[Peer, ...]:
        """All replication peers."""
        ...

    def has_backup_table(self) -> bool | None:
        """Whether `backup:system` exists, read in step `peers`, never before the files; None = unknown.

        HBase makes the table once backup is on. Asked where the settings do not say whether it is.
        """
        ...

    def backups(self) -> tuple[BackupSession, ...] | None:
        """The backups that boundaries are made of, read in step `peers`, never before the files; None = unknown."""
        ...

    def barriers(self) -> tuple[RegionBarriers, ...] | None:
        """The barriers of all regions, read in step `peers`, before the queues; None = unknown."""
        ...


class StateSource(PeerSource, Protocol):
    """What the active master knows."""

    def active_master(self, step: str) -> str:
        """The active master, after it has answered a call that it refuses until it is initialized.

        Raises:
            UnavailableError: there is none, or it is still loading, when it would answer with no procedures.
        """
        ...

    def servers(self, step: str) -> Servers:
        """The master's lists of dead and of online servers, in this order; `step` is `online` or `online-2`."""
        ...

    def crashing(self, step: str) -> frozenset[ServerName]:
        """Servers of unfinished crash procedures; `step` is `crashing` or `crashing-2`."""
        ...

    def flags(self, step: str) -> Flags:
        """States of the master that change every rule; `step` is `peers` or `crashing-2`."""
        ...


class SnapshotSink(Protocol):
    """Where a capture goes; nothing is there until `finish`."""

    def files(self, batches: Iterable[FileBatch]) -> int:
        """Write a listing whole; when it fails half-way, the parts of this call are gone. Returns the rows."""
        ...

    def cells(self, name: str, cells: Iterable[Cell]) -> int:
        """Write a queue pass under a file name, in place of an earlier one. Returns the rows."""
        ...

    def znodes(self, name: str, znodes: Iterable[Znode]) -> int:
        """The same for a reading of ZooKeeper."""
        ...

    def documents(self, name: str, documents: Iterable[Mapping[str, object]]) -> int:
        """The same for an extra: one JSON document a line."""
        ...

    def finish(self, snapshot: Snapshot) -> str:
        """Write snapshot.json, contents filled in, and let the snapshot appear. Returns its URI."""
        ...


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
