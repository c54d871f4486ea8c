"""Defines how large a cluster with queues in ZooKeeper the search may play with."""

from dataclasses import dataclass
from functools import cached_property

from tests.models.capture.names import Names
from tests.models.capture.scope import Scope, ServerPlan

LOCK, MULTI, CVERSION = range(3)
"""How a queue is claimed: HBase 1.x without `hbase.zookeeper.useMulti` (lock, copy, clean-up); in one transaction, as
1.x and 2.x do; the same, which also changes the cversion of `rs` (HBASE-26482)."""


@dataclass(frozen=True, slots=True)
class ZkServer:
    """One life of one region server.

    Attributes:
        host: the number of the server's host.
        waits: whether the server has not started yet.
        wals: the number of its WALs at the beginning; the last one is open while it lives. All are in its queues.
        archived: how many of these WALs are in oldWALs.
        dead: whether it has crashed, its WALs are archived, and nobody has claimed its queues.
    """

    host: int
    waits: bool = False
    wals: int = 1
    archived: int = 0
    dead: bool = False


@dataclass(frozen=True)
class ZkScope:
    """What may happen in one search.

    Attributes:
        name: the name of the scope on the command line and in docs/proof.md.
        servers: the lives; a reading lists them in this order.
        claim: how servers claim: LOCK, MULTI or CVERSION.
        peers: for each peer id whether it exists at the beginning.
        max_wals: the largest number of WALs of a server.
        crashes: the servers that may crash.
        rolls: whether live servers roll WALs.
        ships: whether queues advance.
        adds: how many peers may be added.
        removes: how many peers may be removed.
        late: how many servers of the ensemble may stop following the leader, together, once.
        expiries: how often the session of the capture may expire; the next one is with a server that is behind, if
            there is one.
    """

    name: str
    servers: tuple[ZkServer, ...]
    claim: int = CVERSION
    peers: tuple[bool, ...] = (True,)
    max_wals: int = 2
    crashes: int = 1
    rolls: bool = False
    ships: bool = True
    adds: int = 0
    removes: int = 0
    late: int = 0
    expiries: int = 0

    @cached_property
    def names(self) -> Names:
        """Returns the names that HBase would give to everything in the scope."""
        return Names(Scope(self.name, tuple(ServerPlan(server.host) for server in self.servers), self.peers))
