"""Asks a real HBase's own cleaner about its archived WALs, and adds further WALs."""

import re

from tests.labs.cleanup.real import RealLab
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.oracle import Oracle

WAL_NAME = re.compile(r"oldWALs/(.+)\.(\d{13})")
FABRICATED = 16
"""Further archived WALs of servers that have replicated beyond them, so that there are several batches."""


def answers(cluster: HBaseCluster) -> dict[str, str]:
    """Returns the present answer of HBase's own cleaner for each archived WAL."""
    files = cluster.old_wals()
    return dict(zip((file.path for file in files), Oracle(cluster).verdicts(files), strict=True))


def free(cluster: HBaseCluster) -> set[str]:
    """Returns the WALs of tables that HBase would delete, without those of hbase:meta, which it would always delete."""
    return {path for path, answer in answers(cluster).items() if answer == "DELETE" and WAL_NAME.fullmatch(path)}


def held(lab: RealLab) -> set[str]:
    """Returns the files that HBase itself would keep now."""
    return {path for path, answer in answers(lab.cluster).items() if answer != "DELETE"}


def of_tables(paths: set[str]) -> str:
    """Returns the first of the WALs that hold rows of tables: neither of hbase:meta nor of hbase:replication itself."""
    return min(path for path in paths if WAL_NAME.fullmatch(path) and ".rep." not in path)


def fabricate(hdfs: HdfsCluster, cluster: HBaseCluster) -> None:
    """Adds older WALs to a group that has an offset."""
    names = (WAL_NAME.fullmatch(path) for path in free(cluster))
    group, oldest = min((match.group(1), int(match.group(2))) for match in names if match)
    for number in range(1, FABRICATED + 1):
        hdfs.create_file(f"/{cluster.name}/oldWALs/{group}.{oldest - number}", b"w" * number)
