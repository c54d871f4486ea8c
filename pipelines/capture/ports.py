"""Declares the Protocols of the sources and the sink of a capture. Reader ports cannot delete or rename anything."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.files.file_batch import FileBatch
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.backup import BackupSession
from pipelines.snapshot.barriers import RegionBarriers
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import Backup, MasterFlags, Retention, Snapshot, WalDirectory


class CaptureSource(Protocol):
    """The method that every source of a capture has."""

    def stamp(self, step: str) -> StepStamp | None:
        """Returns when a saved source was read for this step, and by whose clock; None = the source is read live."""
        ...


class LiveSource:
    """A source that is read while the capture runs."""

    def stamp(self, _step: str) -> None:
        """See `CaptureSource.stamp`."""


class FileSource(CaptureSource, Protocol):
    """Lists the files below the WAL root."""

    def files(self) -> Iterator[FileBatch]:
        """Yields all files below `WALs/` and `remoteWALs/` (read first), and below `oldWALs/` (read last).

        A file that moved from one directory to the other meanwhile is yielded once, where it was seen last. The memory
        needed does not grow with `oldWALs/`.

        Raises:
            UnavailableError, UsageError: the source did not answer, or its answer has an unknown form.
        """
        ...


class WalDirectorySource(CaptureSource, Protocol):
    """Reads the directories below `WALs/`."""

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        """Reads the directories from the active name node; strips `-splitting` from the names.

        Raises:
            UnavailableError, UsageError: the source did not answer, or its answer has an unknown form.
        """
        ...


class QueueSource(CaptureSource, Protocol):
    """Reads the table `hbase:replication`."""

    def cells(self, step: str) -> Iterator[Cell]:
        """Scans all families once and yields the cells in scan order; yields none if there is no such table.

        Args:
            step: `queues-1` or `queues-2`.

        Raises:
            UnavailableError, UsageError: the source did not answer, or its answer has an unknown form.
        """
        ...


class ZnodeSource(CaptureSource, Protocol):
    """Reads the queues of HBase 1.x and 2.x, below `/hbase/replication` in ZooKeeper."""

    def znodes(self, step: str) -> Sequence[Znode]:
        """Takes one reading: `rs` before and after everything below it; in step `queues-2`, the other parts after that.

        Args:
            step: `queues-1` or `queues-2`.

        Raises:
            UnavailableError, UsageError: ZooKeeper did not answer, or no HBase has its znodes there.
        """
        ...

    def cluster_id(self) -> str | None:
        """Returns the id of the HBase cluster whose znodes are there; None if the id is in an old form.

        Raises:
            UnavailableError, UsageError: for the reasons of `znodes`.
        """
        ...

    def online(self, step: str) -> frozenset[ServerName] | None:
        """Returns the servers that have an own znode, so are online; None = there are no such znodes.

        Args:
            step: `online` or `online-2`.
        """
        ...


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The settings that do not change while a capture runs; None = unknown.

    `backup` is unknown if `hbase.backup.enable` is not set, because an hbase-site.xml other than the master's may lack
    it too.
    """

    cluster_id: str | None
    hbase_version: str | None
    retention: Retention
    log_cleaner_plugins: tuple[str, ...] | None
    backup: Backup | None


class PeerSource(CaptureSource, Protocol):
    """Reads the parts of a cluster's state that every kind of capture needs."""

    def settings(self) -> ClusterSettings:
        """Returns the cluster's identity and configuration."""
        ...

    def peers(self) -> tuple[Peer, ...]:
        """Returns all replication peers."""
        ...

    def has_backup_table(self) -> bool | None:
        """Returns whether `backup:system` exists; None = unknown. It is read in step `peers`, never before the files.

        HBase creates the table once backup is on. A capture calls this only if the settings do not say whether backup
        is on.
        """
        ...

    def backups(self) -> tuple[BackupSession, ...] | None:
        """Returns the backups that define boundaries; None = unknown.

        They are read in step `peers`, never before the files.
        """
        ...

    def barriers(self) -> tuple[RegionBarriers, ...] | None:
        """Returns the barriers of all regions; None = unknown. They are read in step `peers`, before the queues."""
        ...


class StateSource(PeerSource, Protocol):
    """Reads the state that the active master knows."""

    def active_master(self, step: str) -> str:
        """Returns the active master, and proves that it is initialized.

        It asks for the name first, then makes a call that the active master refuses until it is initialized. So a
        master that is named at the first and at the last look of a capture has given the first proof itself.

        Raises:
            UnavailableError: there is no active master, or it is still loading and would report no procedures.
        """
        ...

    def servers(self, step: str) -> KnownServers:
        """Reads the master's list of dead servers, then its list of online servers.

        Args:
            step: `online` or `online-2`.
        """
        ...

    def crashing(self, step: str) -> frozenset[ServerName]:
        """Returns the servers that have an unfinished crash procedure.

        Args:
            step: `crashing` or `crashing-2`.
        """
        ...

    def flags(self, step: str) -> MasterFlags:
        """Returns the states of the master that affect the decision on every file.

        They are: whether `hbase:replication` exists, an AddPeer is running, a migration is pending, and ZooKeeper still
        has queue data.

        Args:
            step: `peers` or `crashing-2`.
        """
        ...


class SnapshotSink(Protocol):
    """Stores the parts of a capture; nothing is visible there until `finish`."""

    def files(self, batches: Iterable[FileBatch]) -> int:
        """Writes a whole listing and returns the number of its rows.

        If it fails half-way, it removes what this call wrote.
        """
        ...

    def cells(self, name: str, cells: Iterable[Cell]) -> int:
        """Writes a queue pass to the file of that name, in place of an earlier pass, and returns the number of rows."""
        ...

    def znodes(self, name: str, znodes: Iterable[Znode]) -> int:
        """Writes a reading of ZooKeeper as `cells` writes a queue pass, and returns the number of rows."""
        ...

    def documents(self, name: str, documents: Iterable[Mapping[str, object]]) -> int:
        """Writes an extra to the file of that name, one JSON document per line, and returns the number of rows."""
        ...

    def finish(self, snapshot: Snapshot) -> str:
        """Writes snapshot.json with `contents`, makes the snapshot visible, and returns its URI."""
        ...
