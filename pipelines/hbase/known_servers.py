"""Compares the master's lists of online and dead region servers: which servers came or died between two readings."""

from dataclasses import dataclass

from pipelines.hbase.server_names import ServerName


@dataclass(frozen=True, slots=True)
class KnownServers:
    """The active master's lists of online and dead servers (`ServerManager`).

    The caller must ask for the dead servers first.

    HBase adds a server to the dead list before it removes it from the online list (`moveFromOnlineToDeadServers`). The
    server stays on the dead list until another server starts at its address, an operator clears it, or another master
    becomes active.

    Attributes:
        online: the result of `ClusterMetrics.getServersName`.
        dead: the result of `ClusterMetrics.getDeadServerNames`.
    """

    online: frozenset[ServerName]
    dead: frozenset[ServerName]

    def moved_since(self, earlier: "KnownServers") -> frozenset[ServerName]:
        """Returns the servers that may have claimed a queue since an earlier reading and lost it again.

        A server that came and died in between is on the dead list now, unless another server has started at its
        address; that other server was not online at the earlier reading. The list of procedures cannot show this: the
        master deletes a ServerCrashProcedure within half a minute of its end (`CompletedProcedureCleaner`; no client
        waits for its answer).
        """
        return (self.dead - earlier.dead) | (self.online - earlier.online)
