"""Archived WALs of a real HBase: what its own cleaner says of them, and further ones."""

import re

from tests.labs.cleanup.real import RealLab
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.oracle import Oracle

WAL_NAME = re.compile(r"oldWALs/(.+)\.(\d{13})")
FABRICATED = 16
"""Further archived WALs of servers that have replicated beyond them, so that there are several batches."""


def answers(cluster: HBaseCluster) -> dict[str, str]:
    """What HBase's own cleaner says of each archived WAL now."""
    files = cluster.old_wals()
    return dict(zip((file.path for file in files), Oracle(cluster).verdicts(files), strict=True))


def free(cluster: HBaseCluster) -> set[str]:
    """WALs of tables that HBase would delete: not hbase:meta's, which it would at any time."""
    return {path for path, answer in answers(cluster).items() if answer == "DELETE" and WAL_NAME.fullmatch(path)}


def held(lab: RealLab) -> set[str]:
    """What HBase itself would keep now."""
    return {path for path, answer in answers(lab.cluster).items() if answer != "DELETE"}


def of_tables(paths: set[str]) -> str:
    """The first of the WALs that hold rows of tables: neither hbase:meta's nor those of hbase:replication itself."""
    return min(path for path in paths if WAL_NAME.fullmatch(path) and ".rep." not in path)


def fabricate(hdfs: HdfsCluster, cluster: HBaseCluster) -> None:
    """Older WALs of a group that has an offset."""
    names = (WAL_NAME.fullmatch(path) for path in free(cluster))
    group, oldest = min((match.group(1), int(match.group(2))) for match in names if match)
    for number in range(1, FABRICATED + 1):
        hdfs.create_file(f"/{cluster.name}/oldWALs/{group}.{oldest - number}", b"w" * number)
