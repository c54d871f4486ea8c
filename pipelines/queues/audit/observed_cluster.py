"""The input of an audit: the queues and servers of one snapshot, in one form for both queue storages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.lake.run_summary import PinnedRow, QueueOffsetRow
from pipelines.queues.audit.classes import OwnerState
from pipelines.queues.audit.storages import AuditedStorage

Key = tuple[str, str, str]
"""Peer id, owner and source of a queue, as the tables spell them."""


FAILOVER_GRACE_MS = 600_000
"""How long after its WALs were archived (ms) the queues of a dead server may still be about to be claimed.

HBase 2 waits up to a minute before each claim (`replication.sleep.before.failover`), and every server claims one queue
at a time.
"""


@dataclass(frozen=True)
class ListedEvidence:
    """Evidence from the listing; empty where the listing is not read, as for every snapshot but the last of a timeline.

    Attributes:
        offsets: rows of `queue_offsets`.
        pinned: rows of `pinned_bytes`.
        missing: by queue, names of WALs that it must read and the listing does not have.
        archived_last: newest modification time below oldWALs by server, ms since the epoch.
        archived: files and bytes below oldWALs by server.
    """

    offsets: Sequence[QueueOffsetRow] = ()
    pinned: Sequence[PinnedRow] = ()
    missing: Mapping[Key, frozenset[str]] = field(default_factory=dict)
    archived_last: Mapping[ServerName, int] = field(default_factory=dict)
    archived: Mapping[ServerName, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class ObservedServers:
    """The servers of one snapshot.

    Attributes:
        at: start of step `files`, ms since the epoch.
        online: servers that are online in either reading; None = not read.
        crashing: servers with an unfinished crash procedure in either reading; None = procedures were not read, as in
            captures from ZooKeeper.
        directories: servers with a directory below `WALs/`, including those in `splitting`.
        splitting: servers with a `-splitting` directory among the listed files.
        archived_last: newest modification time of the archived WALs of a server, ms since the epoch; used only where
            `crashing` is None. HBase sets it when it archives a file, which ends the split; the claim comes next.
    """

    at: int
    online: frozenset[ServerName] | None
    crashing: frozenset[ServerName] | None
    directories: frozenset[ServerName] = frozenset()
    splitting: frozenset[ServerName] = frozenset()
    archived_last: Mapping[ServerName, int] = field(default_factory=dict)

    def state(self, server: ServerName) -> OwnerState:
        """Returns the state of a server.

        The capture reads directories, online servers and crash procedures before it reads queues. So the queues of a
        server that is DEAD here were claimed before the queues were read; a queue that the server still owns will not
        be claimed.
        """
        if self.crashing is not None and server in self.crashing:
            return OwnerState.CRASHING
        if self.online is not None and server in self.online:
            return OwnerState.ONLINE
        if server in self.splitting or (self.online is not None and server in self.directories):
            return OwnerState.DIRECTORY
        if self.online is None:
            return OwnerState.UNKNOWN
        archived = self.archived_last.get(server)
        if self.crashing is None and archived is not None and self.at - archived < FAILOVER_GRACE_MS:
            return OwnerState.RECENT
        return OwnerState.DEAD


@dataclass(frozen=True, slots=True)
class Backlog:
    """Files that a queue still has to read; sizes in bytes.

    `files` are below oldWALs, `live_files` below `WALs/`; `alone_files` are those of `files` that no other queue pins.
    `oldest` is the timestamp in the name of the oldest file, ms since the epoch.
    """

    files: int = 0
    bytes: int = 0
    live_files: int = 0
    live_bytes: int = 0
    alone_files: int = 0
    alone_bytes: int = 0
    oldest: int | None = None


@dataclass(frozen=True, slots=True)
class ObservedQueue:
    """One queue.

    Attributes:
        name: its row key in `hbase:replication`, or `<owner>/<queue id>` as below `rs` in ZooKeeper.
        key: peer, owner and the server that wrote the WALs.
        hops: dead servers that owned it before, the first owner first: all of them in ZooKeeper, only the source in the
            table.
        backlog: the files that it still has to read.
        finished: in the table, every offset is negative or names no WAL; in ZooKeeper, the queue names no WAL.
        missing: names of WALs that it must read and that no directory has, sorted.
        later: every group with a missing WAL still has files to read.
    """

    name: str
    key: QueueId
    hops: tuple[ServerName, ...]
    backlog: Backlog = Backlog()
    finished: bool = False
    missing: tuple[str, ...] = ()
    later: bool = False


@dataclass(frozen=True)
class ObservedCluster:
    """The queues and servers of one snapshot.

    Attributes:
        storage: where the queues are.
        hbase_version: None = unknown.
        peers: state by peer id.
        queues: of the last pass, sorted by name.
        locks: in ZooKeeper, servers whose queues are locked, and the server that has the lock if the znode names it.
        empty_replicators: in ZooKeeper, servers with a znode and neither queue nor lock below it.
        archived: files and bytes below oldWALs by the server that wrote them, without WALs that are never replicated.
        restless: why queues may have moved during the capture; None = they did not.
    """

    cluster: str
    storage: AuditedStorage
    hbase_version: str | None
    peers: Mapping[str, str]
    servers: ObservedServers
    queues: tuple[ObservedQueue, ...]
    locks: Mapping[ServerName, ServerName | None] = field(default_factory=dict)
    empty_replicators: tuple[ServerName, ...] = ()
    archived: Mapping[ServerName, tuple[int, int]] = field(default_factory=dict)
    restless: str | None = None

    def claims_by_procedure(self) -> bool | None:
        """Tell whether the master has queues claimed after a crash (HBASE-26029, from 2.5 on); None = unknown.

        Before 2.5, every region server looks for queues of dead servers itself, the last time at its own start.
        """
        return self.storage.claims_by_procedure(self.hbase_version)
