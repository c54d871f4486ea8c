"""Provides fixtures of the real clusters; the root conftest lists this module in ``pytest_plugins``.

Each is started once a session and only when a test asks for it. Tests share them, so they use their own tables and
peers, and release every server and master that they hold.
"""

from collections.abc import Iterator

import pytest

from tests.labs.cluster.hbase import (
    MULTIWAL,
    SEPARATE_OLD_WALS,
    TAKES_BULK_LOADS,
    HBaseCluster,
    start_hbase_1_jvm,
    start_hbase_2_jvm,
    start_hbase_jvm,
)
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.jvm import Jvm
from tests.labs.cluster.oracle import Oracle
from tests.labs.cluster.thrift import ThriftGateway
from tests.labs.cluster.zookeeper import ZooKeeper


@pytest.fixture(scope="session")
def hdfs_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    """Yields a plain HDFS, the one below the HBase clusters."""
    cluster = HdfsCluster(tmp_path_factory.mktemp("hdfs"))
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def ha_hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    """Yields an HDFS with two name nodes."""
    cluster = HdfsCluster(tmp_path_factory.mktemp("ha-hdfs"), ha=True)
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def kerberos_hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    """Yields an HDFS secured by Kerberos."""
    cluster = HdfsCluster(tmp_path_factory.mktemp("kerberos-hdfs"), kerberos=True)
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    """Yields a ZooKeeper alone."""
    server = ZooKeeper(tmp_path_factory.mktemp("zookeeper"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def hbase_jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jvm]:
    """Yields the JVM of all HBase clusters."""
    jvm = start_hbase_jvm(tmp_path_factory.mktemp("hbase"))
    yield jvm
    jvm.close()


@pytest.fixture(scope="session")
def hbase_cluster(hbase_jvm: Jvm, hdfs_cluster: HdfsCluster) -> HBaseCluster:
    """Returns the source cluster with three region servers; it ends with its JVM."""
    return HBaseCluster(hbase_jvm, hdfs_cluster, "hbase", 3)


@pytest.fixture(scope="session")
def peer_cluster(hbase_jvm: Jvm, hdfs_cluster: HdfsCluster, hbase_cluster: HBaseCluster) -> HBaseCluster:
    """Returns the cluster to which the source replicates. It has no peers of its own."""
    return HBaseCluster(hbase_jvm, hdfs_cluster, "peer", 1, zookeeper_of=hbase_cluster, properties=TAKES_BULK_LOADS)


@pytest.fixture(scope="session")
def multiwal_cluster(hbase_jvm: Jvm, hdfs_cluster: HdfsCluster, hbase_cluster: HBaseCluster) -> HBaseCluster:
    """Returns a cluster with two WAL groups for each server, and a directory for each server below ``oldWALs``."""
    properties = {**MULTIWAL, **SEPARATE_OLD_WALS}
    return HBaseCluster(hbase_jvm, hdfs_cluster, "multi", 2, zookeeper_of=hbase_cluster, properties=properties)


@pytest.fixture(scope="session")
def hbase_2_cluster(hdfs_cluster: HdfsCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HBaseCluster]:
    """Yields an HBase 2 with two region servers in its own JVM, with queues in its own ZooKeeper."""
    jvm = start_hbase_2_jvm(tmp_path_factory.mktemp("hbase2"))
    yield HBaseCluster(jvm, hdfs_cluster, "hbase2", 2)
    jvm.close()


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(None, id="2.6.4"),
        pytest.param(("1.7.2", "true", False), id="1.7.2", marks=pytest.mark.deep),
        pytest.param(("1.7.2", "false", False), id="1.7.2-by-lock", marks=pytest.mark.deep),
        pytest.param(("1.4.14", "false", True), id="1.4.14-by-lock-on-java-8", marks=pytest.mark.deep),
    ],
)
def zookeeper_cluster(
    request: pytest.FixtureRequest, hdfs_cluster: HdfsCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HBaseCluster]:
    """Yields each HBase whose queues are in ZooKeeper: the HBase 2, and HBase 1 with two region servers in its own JVM.

    HBase 1 claims a queue in one transaction, or, without `useMulti`, by a lock and copies. Its Java 8 needs root and
    `debootstrap`.
    """
    if request.param is None:
        yield request.getfixturevalue("hbase_2_cluster")
        return
    version, multi, on_java_8 = request.param
    jvm = start_hbase_1_jvm(tmp_path_factory.mktemp("hbase1"), version, on_java_8=on_java_8)
    # HBase's default: an HBase 1 that claims a queue while its WALs are split ends the queue and sends nothing of it
    properties = {"hbase.zookeeper.useMulti": multi, "replication.sleep.before.failover": "30000"}
    yield HBaseCluster(jvm, hdfs_cluster, f"hbase-{version}-{multi}", 2, properties=properties)
    jvm.close()


@pytest.fixture(scope="session")
def thrift_gateway(hbase_cluster: HBaseCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThriftGateway]:
    """Yields a Thrift gateway to the source cluster."""
    gateway = ThriftGateway(hbase_cluster, tmp_path_factory.mktemp("thrift"))
    yield gateway
    gateway.close()


@pytest.fixture(scope="session")
def oracle(hbase_cluster: HBaseCluster) -> Oracle:
    """Returns the source cluster's cleaner."""
    return Oracle(hbase_cluster)


@pytest.fixture(scope="session")
def lab(peer_cluster: HBaseCluster) -> Oracle:
    """Returns the cleaner of the peer cluster, for fabricated queues and peers.

    No other test writes its queue table.
    """
    judge = Oracle(peer_cluster)
    judge.create_queue_table()
    return judge
