"""What an audit is drawn from: the queues and servers of one snapshot, in the same words for both storages."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.queues.audit.classes import OwnerState

FAILOVER_GRACE_MS = 600_000
"""A server whose WALs were archived this shortly before may still have its queues claimed: HBase 2 waits up to a minute
before each claim (`replication.sleep.before.failover`), and every server claims one queue at a time."""


@dataclass(frozen=True)
class Servers:
    """Who is alive.

    Attributes:
        at: start of step `files`, ms since the epoch.
        online: in either reading; None = nobody read it.
        crashing: with an unfinished crash procedure in either reading; None = procedures were not read, as in captures
            from ZooKeeper.
        directories: files by server with a directory below `WALs/`; 0 = it is empty.
        splitting: servers with a `-splitting` directory among the listed files.
        archived_last: newest modification time of the archived WALs of a server, ms; asked only where `crashing` is
            None. HBase sets it when it archives a file, which ends the split: the claim comes next.
    """

    at: int
    online: frozenset[ServerName] | None
    crashing: frozenset[ServerName] | None
    directories: Mapping[ServerName, int] = field(default_factory=dict)
    splitting: frozenset[ServerName] = frozenset()
    archived_last: Mapping[ServerName, int] = field(default_factory=dict)

    def state(self, server: ServerName) -> OwnerState:
        """What this server is.

        The capture reads directories, online servers and crash procedures before it reads queues, so a server that is
        DEAD here had its queues claimed before the queues were read: a queue that is still its own stays so.
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
    """Files that a queue still has to read; bytes, and ms for the timestamp of the oldest one's name."""

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
        hops: dead servers over which it came, the first owner first: all of them in ZooKeeper, the source in the table.
        backlog: what it still has to read.
        finished: no offset of it is anywhere but behind a whole WAL.
        missing: names of WALs that it is to read and that are nowhere, sorted.
        later: there are files behind every missing one.
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
    """One snapshot.

    Attributes:
        in_zookeeper: `queue_storage: zookeeper`.
        hbase_version: None = unknown.
        peers: state by peer id.
        queues: of the last pass, sorted by name.
        locks: in ZooKeeper, servers whose queues somebody moves, and who it is if the znode says so.
        empty_replicators: in ZooKeeper, servers with a znode and no queue below it.
        archived: files and bytes below oldWALs by the server that wrote them, WALs that are never replicated aside.
    """

    cluster: str
    in_zookeeper: bool
    hbase_version: str | None
    peers: Mapping[str, str]
    servers: Servers
    queues: tuple[ObservedQueue, ...]
    locks: Mapping[ServerName, ServerName | None] = field(default_factory=dict)
    empty_replicators: tuple[ServerName, ...] = ()
    archived: Mapping[ServerName, tuple[int, int]] = field(default_factory=dict)

    def claims_by_procedure(self) -> bool | None:
        """Whether the master has queues claimed when a server has crashed (HBASE-26029, from 2.5 on); None = unknown.

        Before, every region server looks for queues of dead ones by itself, the last time at its own start.
        """
        if not self.in_zookeeper:
            return True
        parts = (self.hbase_version or "").split(".")
        if len(parts) < 2 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
            return None
        return (int(parts[0]), int(parts[1])) >= (2, 5)
