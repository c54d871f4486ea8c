"""The Protocols of the sources and the sink of a capture. Reader ports have no delete and no rename."""

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
    """The part that every source of a capture has in common."""

    def stamp(self, step: str) -> StepStamp | None:
        """Returns when a saved source was read for this step, and by whose clock; None = it is read live."""
        ...


class FileSource(CaptureSource, Protocol):
    """The files below the WAL root."""

    def files(self) -> Iterator[FileBatch]:
        """Yields all files below `WALs/` and `remoteWALs/`, read first, and below `oldWALs/`, read last.

        A file that moved from one to the other meanwhile is yielded once, where it was seen last. Memory does not grow
        with `oldWALs/`.

        Raises:
            UnavailableError, UsageError: the source did not answer, or not in its own form.
        """
        ...


class WalDirectorySource(CaptureSource, Protocol):
    """The directories below `WALs/`."""

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        """Reads the directories from the active name node; strips `-splitting` from the names.

        Raises:
            UnavailableError, UsageError: the source did not answer, or not in its own form.
        """
        ...


class QueueSource(CaptureSource, Protocol):
    """The table `hbase:replication`."""

    def cells(self, step: str) -> Iterator[Cell]:
        """Scans all families once and yields the cells in scan order; none if there is no such table.

        Args:
            step: `queues-1` or `queues-2`.

        Raises:
            UnavailableError, UsageError: the source did not answer, or not in its own form.
        """
        ...


class ZnodeSource(CaptureSource, Protocol):
    """The queues of HBase 1.x and 2.x, below `/hbase/replication` in ZooKeeper."""

    def znodes(self, step: str) -> Sequence[Znode]:
        """Takes one reading: `rs` before and after everything below it; with `queues-2`, the other parts after that.

        Args:
            step: `queues-1` or `queues-2`.

        Raises:
            UnavailableError, UsageError: ZooKeeper did not answer, or has no HBase there.
        """
        ...

    def cluster_id(self) -> str | None:
        """Returns the id of the HBase cluster there; None if it is in an old form.

        Raises:
            UnavailableError, UsageError: see `znodes`.
        """
        ...

    def online(self, step: str) -> frozenset[ServerName] | None:
        """Returns the online servers by their own znodes; `step` is `online` or `online-2`. None = no such znodes."""
        ...


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Settings that do not change while a capture runs; None = unknown.

    `backup` is unknown if `hbase.backup.enable` is not set, since an hbase-site.xml other than the master's is silent
    too.
    """

    cluster_id: str | None
    hbase_version: str | None
    retention: Retention
    log_cleaner_plugins: tuple[str, ...] | None
    backup: Backup | None


class PeerSource(CaptureSource, Protocol):
    """The parts of a cluster's state that every kind of capture reads."""

    def settings(self) -> ClusterSettings:
        """Returns identity and configuration."""
        ...

    def peers(self) -> tuple[Peer, ...]:
        """Returns all replication peers."""
        ...

    def has_backup_table(self) -> bool | None:
        """Returns whether `backup:system` exists, read in step `peers`, never before the files; None = unknown.

        HBase creates the table once backup is on. A capture asks only if the settings do not say whether backup is on.
        """
        ...

    def backups(self) -> tuple[BackupSession, ...] | None:
        """Returns the backups that define boundaries, read in step `peers`, never before the files; None = unknown."""
        ...

    def barriers(self) -> tuple[RegionBarriers, ...] | None:
        """Returns the barriers of all regions, read in step `peers`, before the queues; None = unknown."""
        ...


class StateSource(PeerSource, Protocol):
    """The state that the active master knows."""

    def active_master(self, step: str) -> str:
        """Returns the active master, after it has answered a call that it refuses until it is initialized.

        Raises:
            UnavailableError: there is none, or it is still loading and would answer with no procedures.
        """
        ...

    def servers(self, step: str) -> KnownServers:
        """Reads the master's lists of dead and of online servers, in this order; `step` is `online` or `online-2`."""
        ...

    def crashing(self, step: str) -> frozenset[ServerName]:
        """Returns the servers of unfinished crash procedures; `step` is `crashing` or `crashing-2`."""
        ...

    def flags(self, step: str) -> MasterFlags:
        """Returns the states of the master that change every rule; `step` is `peers` or `crashing-2`."""
        ...


class SnapshotSink(Protocol):
    """The destination of a capture; nothing is visible there until `finish`."""

    def files(self, batches: Iterable[FileBatch]) -> int:
        """Writes a whole listing and returns its rows. If it fails half-way, it removes the parts of this call."""
        ...

    def cells(self, name: str, cells: Iterable[Cell]) -> int:
        """Writes a queue pass under a file name, in place of an earlier one. Returns the rows."""
        ...

    def znodes(self, name: str, znodes: Iterable[Znode]) -> int:
        """Does the same for a reading of ZooKeeper."""
        ...

    def documents(self, name: str, documents: Iterable[Mapping[str, object]]) -> int:
        """Does the same for an extra: one JSON document per line."""
        ...

    def finish(self, snapshot: Snapshot) -> str:
        """Writes snapshot.json with `contents`, makes the snapshot visible, and returns its URI."""
        ...
