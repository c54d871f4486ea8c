"""Gives the clean-up's user the rights of docs/cleanup-privileges.md on a real HDFS, with the page's own commands."""

import re

from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.places import DOCS

PRIVILEGES = DOCS / "cleanup-privileges.md"


def acl_commands(hdfs: HdfsCluster, root: str) -> None:
    """Runs the page's own `hdfs dfs -setfacl` lines on this cluster's directories."""
    commands = re.findall(r"^hdfs dfs -setfacl -m (\S+) (\S+)$", PRIVILEGES.read_text(), re.MULTILINE)
    assert len(commands) >= 3
    for spec, path in commands:
        set_acl(hdfs, re.sub(r"^/hbase(?=/|$)", root, path), spec)


def set_acl(hdfs: HdfsCluster, path: str, spec: str) -> None:
    """Runs `hdfs dfs -setfacl -m` on a directory, if it exists."""
    below = hdfs.path(path)
    if hdfs.file_system().exists(below):
        entries = hdfs.jvm.view.org.apache.hadoop.fs.permission.AclEntry.parseAclSpec(spec, True)
        hdfs.file_system().modifyAclEntries(below, entries)
