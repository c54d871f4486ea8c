"""Reads a cluster's state without its master: peers from ZooKeeper, settings from `hbase-site.xml`, as Hadoop does."""

from collections.abc import Mapping
from dataclasses import replace

from pipelines.capture.ports import ClusterSettings, LiveSource
from pipelines.capture.sources.hbase_neighbours import backup_table
from pipelines.capture.sources.hbase_site import hbase_root, site_resource, site_settings
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.common.errors import UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.hbase.peers import Peer

_ZNODES = {
    "zookeeper.znode.replication": "replication",
    "zookeeper.znode.replication.peers": "peers",
    "zookeeper.znode.replication.rs": "rs",
}
"""HBase's defaults, used if the property is not set. A wrong parent would have no `hbaseid`."""
_PEER_STORAGE = "hbase.replication.peer.storage.impl"
_IN_ZOOKEEPER = ("zookeeper", "org.apache.hadoop.hbase.replication.zkreplicationpeerstorage")
"""In lower case, the default first. The other storage is HBase 3's `filesystem`."""


class ZooKeeperState(LiveSource):
    """Reads the state of a cluster for sites that give no access to the master; a `PeerSource`.

    Args:
        queues: reads the znodes of the same cluster.
        hadoop: the interface to Spark's JVM, which has Hadoop's `Configuration`; HBase's own classes are not needed.
        site: the path or URI of the MASTER's hbase-site.xml, which has the TTLs, cleaner plugins and backup.
        properties: HBase properties that replace those of the file.
    """

    def __init__(self, queues: ZooKeeperQueues, hadoop: HadoopJvm, site: str, properties: Mapping[str, str]) -> None:
        self._queues = queues
        self._hadoop = hadoop
        self._site = site
        self._properties = properties

    def peers(self) -> tuple[Peer, ...]:
        """See `PeerSource.peers`."""
        return self._queues.peers()

    def has_backup_table(self) -> bool | None:
        """See `PeerSource.has_backup_table`. Reads the states of tables, which HBase 2 mirrors to ZooKeeper."""
        with java_errors(self._site):
            conf = self._configuration()
            if not conf.getBoolean("hbase.mirror.table.state.to.zookeeper", True):
                return None
            return self._queues.has_table(backup_table(conf))

    def backups(self) -> None:
        """See `PeerSource.backups`. Returns None, because ZooKeeper does not contain them."""

    def barriers(self) -> None:
        """See `PeerSource.barriers`. Returns None, because ZooKeeper does not contain them."""

    def settings(self) -> ClusterSettings:
        """See `PeerSource.settings`. The version of HBase stays unknown.

        Raises:
            UsageError: the file does not exist, or HBase keeps its peers and queues below other znodes.
        """
        with java_errors(self._site):
            conf = self._configuration()
            self._check_names(conf)
            return replace(site_settings(conf, self._site), cluster_id=self._queues.cluster_id())

    def root(self) -> str | None:
        """Returns `hbase.rootdir`; see `hbase_root`."""
        return hbase_root(self._hadoop, self._site, self._properties)

    def _check_names(self, conf: JavaObject) -> None:
        """Refuses znodes that contain neither peers nor queues: every WAL would look as if no peer needed it.

        Raises:
            UsageError: the configuration names other znodes, or another storage of peers.
        """
        for name, read in self._queues.znode_names().items():
            there = str(conf.get(name, _ZNODES.get(name, read))).strip()
            if there.rstrip("/") != read:
                raise UsageError(
                    f"{self._site} says that {name} is {there}, but {read} would be read: check parent and replication "
                    f"of {self._queues.section}, capture.hbase.site and capture.hbase.properties. Other names for "
                    "'peers' and 'rs' are not known"
                )
        storage = str(conf.get(_PEER_STORAGE, _IN_ZOOKEEPER[0])).strip()
        if storage.lower() not in _IN_ZOOKEEPER:
            raise UsageError(
                f"{self._site} or capture.hbase.properties says that {_PEER_STORAGE} is {storage}: peers are not in "
                "ZooKeeper, and this source would find none. Only HBase's Admin reads them (capture.state: {source: "
                "hbase}), of a running cluster"
            )

    def _configuration(self) -> JavaObject:
        conf = self._hadoop.view.org.apache.hadoop.conf.Configuration(False)
        conf.addResource(site_resource(self._hadoop, self._site))
        for name, value in self._properties.items():
            conf.set(name, value)
        return conf
