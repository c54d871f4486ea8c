"""Runs HBase's ReplicationSyncUp from its command line, and reads its other inputs besides queues."""

from collections.abc import Sequence
from pathlib import Path

from tests.labs.cluster.classpath import HBASE, resolve
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.jvm import Process

_TOOL = "org.apache.hadoop.hbase.replication.regionserver.ReplicationSyncUp"


def run_as_process(cluster: HBaseCluster, work: Path, seconds: float = 900.0) -> tuple[int, str]:
    """Runs the tool in its own JVM, which it may end, while the cluster is down.

    Returns:
        The exit code, and everything that the tool printed.
    """
    conf = cluster.write_conf(work / "conf")
    process = Process("sync-up", [conf, *resolve(HBASE)], [_TOOL], work)
    try:
        code = process.wait(seconds)
    finally:
        process.close()
    return code, process.log.read_text(encoding="utf-8", errors="replace")


def read_beside(cluster: HBaseCluster, peers: Sequence[str], regions: Sequence[str]) -> list[str]:
    """Returns HFiles (peer, name) and last pushed sequence ids (peer, region, id) as the tool reads them, by TAB."""
    return list(cluster.jvm.view.walsafe.cluster.SyncUp.beside(cluster.harness, list(peers), list(regions)))
