"""The master's own lists of region servers, and who came or died between two looks at them."""

from dataclasses import dataclass

from pipelines.hbase.server_names import ServerName


@dataclass(frozen=True, slots=True)
class Servers:
    """Two lists of the active master (`ServerManager`), the dead ones asked for first.

    HBase puts a server on the dead list before it takes it off the online one (`moveFromOnlineToDeadServers`), and it
    stays there until another one comes up at its address, an operator clears it, or another master takes over.

    Attributes:
        online: `ClusterMetrics.getServersName`.
        dead: `ClusterMetrics.getDeadServerNames`.
    """

    online: frozenset[ServerName]
    dead: frozenset[ServerName]

    def moved_since(self, earlier: "Servers") -> frozenset[ServerName]:
        """Servers that may have taken up a queue since an earlier look and lost it again.

        One that came and died in between is on the dead list now, unless another one has come up at its address: that
        one was not online then. The list of procedures could not tell: the master drops a ServerCrashProcedure within
        half a minute of its end (`CompletedProcedureCleaner`; no client waits for its answer).
        """
        return (self.dead - earlier.dead) | (self.online - earlier.online)
