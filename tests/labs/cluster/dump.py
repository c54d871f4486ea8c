"""Runs HBase's own `DumpReplicationQueues` in a cluster's JVM."""

from tests.labs.cluster.hbase import HBaseCluster


class Dump:
    """Runs the tool on one cluster."""

    def __init__(self, cluster: HBaseCluster) -> None:
        self._tool = cluster.jvm.view.walsafe.cluster.Dump(cluster.harness)

    def text(self, *options: str) -> str:
        """Returns the text that the tool prints."""
        return str(self._tool.text(list(options)))

    def text_without_scopes(self, *options: str) -> str:
        """Returns the text that the tool prints while no family of any table is replicated (HBase 2)."""
        return str(self._tool.textWithoutScopes(list(options)))


def blocks(text: str) -> tuple[str, dict[str, list[str]], list[str]]:
    """Splits a `--distributed` dump into the peers, the lines of each queue by its first two lines, and the summary."""
    peers, _, rest = text.partition("\n\n")
    queues, _, summary = rest.strip("\n").rpartition("\n\n")
    found: dict[str, list[str]] = {}
    for block in queues.split("Dumping replication queue info for RegionServer: ")[1:]:
        server, queue, *lines = block.rstrip("\n").split("\n")
        found[f"{server} {queue.strip()}"] = lines
    return peers, found, summary.split("\n")
