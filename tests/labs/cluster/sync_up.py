"""HBase's ReplicationSyncUp from its command line, and what it reads beside queues."""

from collections.abc import Sequence
from pathlib import Path

from tests.labs.cluster.classpath import HBASE, resolve
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.jvm import Process

_TOOL = "org.apache.hadoop.hbase.replication.regionserver.ReplicationSyncUp"


def run_as_process(cluster: HBaseCluster, work: Path, seconds: float = 900.0) -> tuple[int, str]:
    """Runs the tool in a JVM of its own, which it may end; the cluster is down.

    Returns:
        Its exit code and all that it printed.
    """
    conf = cluster.write_conf(work / "conf")
    process = Process("sync-up", [conf, *resolve(HBASE)], [_TOOL], work)
    try:
        code = process.wait(seconds)
    finally:
        process.close()
    return code, process.log.read_text(encoding="utf-8", errors="replace")


def read_beside(cluster: HBaseCluster, peers: Sequence[str], regions: Sequence[str]) -> list[str]:
    """HFiles (peer, name) and last pushed sequence ids (peer, region, id) as the tool reads them, by TAB."""
    return list(cluster.jvm.view.walsafe.cluster.SyncUp.beside(cluster.harness, list(peers), list(regions)))
