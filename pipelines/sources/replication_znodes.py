"""What replication left in ZooKeeper: existence of znodes only, through Apache Curator, which Spark ships."""

import logging
from dataclasses import dataclass

from pipelines.domain.errors import UnavailableError, UsageError
from pipelines.hadoop_jvm import HadoopJvm, JavaObject, java_errors

logger = logging.getLogger(__name__)

# HBase 3's master begins its migration if any of these exists (ZKReplicationQueueStorageForMigration)
_QUEUE_DATA = ("rs", "regions", "hfile-refs")


@dataclass(frozen=True)
class ReplicationZnodes:
    """The part of ZooKeeper that replication uses.

    Attributes:
        hadoop: the JVM.
        quorum: `host:port,host:port`.
        root: the znode of HBase, `/hbase` by default.
        replication: name of the znode below it.
        timeout_ms: to connect and for each call.
    """

    hadoop: HadoopJvm
    quorum: str
    root: str
    replication: str
    timeout_ms: int

    @classmethod
    def of(cls, hadoop: HadoopJvm, conf: JavaObject, timeout_ms: int) -> "ReplicationZnodes":
        """From an HBase `Configuration`, the way HBase reads it."""
        port = conf.get("hbase.zookeeper.property.clientPort", "2181")
        hosts = [host.strip() for host in str(conf.get("hbase.zookeeper.quorum", "localhost")).split(",")]
        parent, name = (
            conf.get("zookeeper.znode.parent", "/hbase"),
            conf.get("zookeeper.znode.replication", "replication"),
        )
        quorum = ",".join(host if ":" in host else f"{host}:{port}" for host in hosts if host)
        return cls(hadoop, quorum, str(parent).rstrip("/"), str(name), timeout_ms)

    def queue_data(self) -> bool | None:
        """Whether queue data is there; None when ZooKeeper cannot be asked."""
        try:
            with java_errors(f"ZooKeeper {self.quorum}"):
                return self._any_exists()
        except (UnavailableError, UsageError) as error:
            logger.warning("ZooKeeper leftovers are unknown: %s", error)
            return None

    def _any_exists(self) -> bool | None:
        view = self.hadoop.view
        retries = view.org.apache.curator.retry.RetryNTimes(1, 500)
        framework = view.org.apache.curator.framework.CuratorFrameworkFactory
        curator = framework.newClient(self.quorum, self.timeout_ms, self.timeout_ms, retries)
        curator.start()
        try:
            if not curator.blockUntilConnected(self.timeout_ms, view.java.util.concurrent.TimeUnit.MILLISECONDS):
                logger.warning("ZooKeeper %s did not answer within %d ms", self.quorum, self.timeout_ms)
                return None
            if curator.checkExists().forPath(f"{self.root}/hbaseid") is None:
                # every HBase has it; a wrong quorum or znode must not look like "nothing there"
                logger.warning("ZooKeeper %s has no %s/hbaseid: leftovers are unknown", self.quorum, self.root)
                return None
            return any(
                curator.checkExists().forPath(f"{self.root}/{self.replication}/{name}") is not None
                for name in _QUEUE_DATA
            )
        finally:
            curator.close()
