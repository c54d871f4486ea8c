"""Reads the replication data that is in ZooKeeper besides HBase 3's queue table, through Spark's Apache Curator."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pipelines.common.errors import MalformedError, UnavailableError, UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.hbase.peers import Peer
from pipelines.hbase.zookeeper.tree import QUEUE_DATA
from pipelines.hbase.zookeeper.values import parse_peer
from pipelines.hbase.zookeeper.wire import without_metadata

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReplicationZnodes:
    """Reads the znodes of HBase's replication.

    Attributes:
        hadoop: the interface to Spark's JVM.
        quorum: `host:port,host:port`.
        root: the znode of HBase, `/hbase` by default.
        replication: the name of the replication znode below `root`.
        timeout_ms: the limit for connecting and for each call.
    """

    hadoop: HadoopJvm
    quorum: str
    root: str
    replication: str
    timeout_ms: int

    @classmethod
    def of(cls, hadoop: HadoopJvm, conf: JavaObject, timeout_ms: int) -> "ReplicationZnodes":
        """Creates the reader from an HBase `Configuration`, with the properties that HBase reads."""
        port = conf.get("hbase.zookeeper.property.clientPort", "2181")
        hosts = [host.strip() for host in str(conf.get("hbase.zookeeper.quorum", "localhost")).split(",")]
        parent, name = (
            conf.get("zookeeper.znode.parent", "/hbase"),
            conf.get("zookeeper.znode.replication", "replication"),
        )
        quorum = ",".join(host if ":" in host else f"{host}:{port}" for host in hosts if host)
        return cls(hadoop, quorum, str(parent).rstrip("/"), str(name), timeout_ms)

    def queue_data(self) -> bool | None:
        """Returns whether queue data exists; None if no HBase has its znodes there.

        Raises:
            UnavailableError: ZooKeeper does not answer.
        """
        with java_errors(f"ZooKeeper {self.quorum}"), self._curator() as curator:
            if curator.checkExists().forPath(f"{self.root}/hbaseid") is None:
                # every HBase has this znode: a wrong quorum or znode must not look like "there is no queue data"
                logger.warning("ZooKeeper %s has no %s/hbaseid: leftovers are unknown", self.quorum, self.root)
                return None
            return any(
                curator.checkExists().forPath(f"{self.root}/{self.replication}/{name}") is not None
                for name in QUEUE_DATA
            )

    def synchronous(self, peers: Sequence[Peer]) -> tuple[Peer, ...]:
        """Returns the peers with the state of their synchronous replication, which HBase 2's client does not know.

        The state is read where `ZKReplicationPeerStorage` keeps it, for the peers that lack it. It stays unknown if
        HBase keeps its peers in files, or if ZooKeeper does not answer.
        """
        if all(peer.sync_replication_state for peer in peers):
            return tuple(peers)
        try:
            with java_errors(f"ZooKeeper {self.quorum}"), self._curator() as curator:
                return tuple(self._completed(curator, peer) for peer in peers)
        except (UnavailableError, UsageError, MalformedError) as error:
            logger.warning("The synchronous replication of peers is unknown: %s", error)
            return tuple(peers)

    def _completed(self, curator: JavaObject, peer: Peer) -> Peer:
        path = f"{self.root}/{self.replication}/peers/{peer.peer_id}"
        own = None if peer.sync_replication_state else _data(curator, path)
        if own is None:
            return peer
        found = parse_peer(peer.peer_id, own, None, _data(curator, f"{path}/sync-rep-state"))
        return replace(
            peer,
            sync_replication_state=found.sync_replication_state,
            remote_wal_dir=peer.remote_wal_dir or found.remote_wal_dir,
        )

    @contextmanager
    def _curator(self) -> Iterator[JavaObject]:
        """Opens a session.

        Raises:
            UnavailableError: no server answers in time.
        """
        view = self.hadoop.view
        retries = view.org.apache.curator.retry.RetryNTimes(1, 500)
        framework = view.org.apache.curator.framework.CuratorFrameworkFactory
        curator = framework.newClient(self.quorum, self.timeout_ms, self.timeout_ms, retries)
        curator.start()
        try:
            if not curator.blockUntilConnected(self.timeout_ms, view.java.util.concurrent.TimeUnit.MILLISECONDS):
                raise UnavailableError(f"ZooKeeper {self.quorum} did not answer within {self.timeout_ms} ms; try again")
            yield curator
        finally:
            curator.close()


def _data(curator: JavaObject, path: str) -> bytes | None:
    """Returns the data of a znode after HBase's metadata; None = there is no such znode."""
    if curator.checkExists().forPath(path) is None:
        return None
    return without_metadata(bytes(curator.getData().forPath(path)))
