"""State of a cluster without its master: peers from ZooKeeper, settings from `hbase-site.xml`, read as Hadoop does."""

from pipelines.domain.errors import UsageError
from pipelines.domain.snapshot import Backup, Peer, Retention, Step
from pipelines.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.ports import ClusterSettings
from pipelines.sources.zookeeper_queues import ZooKeeperQueues

_WEEK_MS = 7 * 86_400_000


class ZooKeeperState:
    """`PeerSource` for sites that give no access to the master.

    Args:
        queues: of the same cluster.
        hadoop: the JVM, which has Hadoop's `Configuration`; HBase's own classes are not needed.
        site: path or URI of the MASTER's hbase-site.xml: times to live and cleaner plugins are read from it.
    """

    def __init__(self, queues: ZooKeeperQueues, hadoop: HadoopJvm, site: str) -> None:
        self._queues = queues
        self._hadoop = hadoop
        self._site = site

    def stamp(self, _step: str) -> Step | None:
        """Read now."""
        return None

    def clock_host(self) -> str | None:
        """Read now."""
        return None

    def peers(self) -> tuple[Peer, ...]:
        """See `PeerSource.peers`."""
        return self._queues.peers()

    def settings(self) -> ClusterSettings:
        """See `PeerSource.settings`; the version of HBase is not known here."""
        with java_errors(self._site):
            conf = self._configuration()
            plugins = str(conf.get("hbase.master.logcleaner.plugins", ""))
            return ClusterSettings(
                cluster_id=self._queues.cluster_id(),
                hbase_version=None,
                retention=Retention(
                    wal_ttl_ms=int(conf.getLong("hbase.master.logcleaner.ttl", 600_000)),
                    procedure_wal_ttl_ms=int(conf.getLong("hbase.master.procedurewalcleaner.ttl", _WEEK_MS)),
                    master_local_wal_ttl_ms=int(conf.getLong("hbase.master.local.store.walcleaner.ttl", _WEEK_MS)),
                ),
                log_cleaner_plugins=tuple(dict.fromkeys(name.strip() for name in plugins.split(",") if name.strip())),
                backup=Backup(enabled=bool(conf.getBoolean("hbase.backup.enable", False))),
            )

    def _configuration(self) -> JavaObject:
        path = self._hadoop.path(self._site if ":" in self._site else f"file:{self._site}")
        if not path.getFileSystem(self._hadoop.conf).exists(path):
            raise UsageError(f"no such file: {self._site} (capture.hbase.site)")
        conf = self._hadoop.view.org.apache.hadoop.conf.Configuration(False)
        conf.addResource(path)
        return conf
