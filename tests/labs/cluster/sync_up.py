"""Runs HBase's ReplicationSyncUp from its command line, and reads its other inputs besides queues."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.labs.cluster.classpath import HBASE, HBASE_2, JAVA_HBASE_2, compiled, resolve
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.jvm import Process
from tests.labs.waiting import PATIENCE_SECONDS, wait_until

_TOOL = "org.apache.hadoop.hbase.replication.regionserver.ReplicationSyncUp"
_LOGS_OPENED_WALS = """\
log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %c{1} [%t] %m%n
log4j.logger.org.apache.hadoop.hbase.replication.regionserver.WALEntryStream=DEBUG
"""
# the reader's thread is named after WAL group and queue
_OPENED = re.compile(r"\.wal-reader\.([^,]+),(\S+)\] Creating new reader (\S+), startPosition=(\d+)")
_FAILED = re.compile(r"Failed to open WAL reader for path: (\S+)")


def run_as_process(cluster: HBaseCluster, work: Path) -> tuple[int, str]:
    """Runs the tool in its own JVM, which it may end, while the cluster is down.

    Returns:
        The exit code, and everything that the tool printed.
    """
    conf = cluster.write_conf(work / "conf")
    process = Process("sync-up", [conf, *resolve(HBASE)], [_TOOL], work)
    try:
        code = process.wait(PATIENCE_SECONDS)
    finally:
        process.close()
    return code, process.log.read_text(encoding="utf-8", errors="replace")


def read_beside(cluster: HBaseCluster, peers: Sequence[str], regions: Sequence[str]) -> list[str]:
    """Returns HFiles (peer, name) and last pushed sequence ids (peer, region, id) as the tool reads them, by TAB."""
    return list(cluster.jvm.view.walsafe.cluster.SyncUp.beside(cluster.harness, list(peers), list(regions)))


@dataclass
class Run2:
    """A run of the tool of HBase 2.

    Attributes:
        code: its exit code; None = it had not ended, and was ended.
        opened: by the tool's name of the queue and by WAL group: the paths that it opened and the start offsets, in
            order.
        failed: the paths among them that it could not open.
        text: everything that it printed.
    """

    code: int | None
    opened: dict[tuple[str, str], list[tuple[str, int]]]
    failed: set[str]
    text: str


def run_of_hbase_2(
    cluster: HBaseCluster, work: Path, name: str, enough: Callable[[str], bool] = lambda _text: False
) -> Run2:
    """Runs the tool of HBase 2 in its own JVM, because it may never end, while the cluster is down.

    Args:
        cluster: of HBase 2.
        work: for its configuration and its output.
        name: of the run.
        enough: whether the tool is ended, because it has printed all that is of interest.
    """
    conf = cluster.write_conf(work / "conf")
    (conf / "log4j.properties").write_text(_LOGS_OPENED_WALS, encoding="utf-8")
    jars = resolve(HBASE_2)
    process = Process(name, [conf, compiled(jars, JAVA_HBASE_2), *jars], [_TOOL], work)

    def printed() -> str:
        return process.log.read_text(encoding="utf-8", errors="replace") if process.log.exists() else ""

    try:
        wait_until(lambda: not process.running or enough(printed()), f"ReplicationSyncUp {name} has ended")
        code = None if process.running else process.wait(1)
    finally:
        process.close(0.1)
    text, root = printed(), f"{cluster.wal_root}/"
    opened: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for group, queue, path, start in _OPENED.findall(text):
        paths = opened.setdefault((queue, group), [])
        if path.removeprefix(root) not in [before for before, _ in paths]:
            paths.append((path.removeprefix(root), int(start)))
    return Run2(code, opened, {path.removeprefix(root) for path in _FAILED.findall(text)}, text)
