"""Creates the sources of a capture from the configuration; only this module names their technologies."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from pydantic import SecretStr
from pyspark.sql import SparkSession

from jobs.cli.config.capture_section import CaptureSection
from jobs.cli.config.capture_sources import (
    CellsQueuesSection,
    ExportQueuesSection,
    ExportStateSection,
    FsimageFilesSection,
    HadoopFilesSection,
    HBaseQueuesSection,
    HFilesQueuesSection,
    LsFilesSection,
    OfflineStateSection,
    SimulatedSection,
    ThriftQueuesSection,
    WebHdfsFilesSection,
    ZooKeeperQueuesSection,
    ZooKeeperSection,
    ZooKeeperStateSection,
)
from pipelines.capture.capture import CaptureSources
from pipelines.capture.capture_offline import OfflineSources
from pipelines.capture.capture_zookeeper import ZooKeeperSources
from pipelines.capture.ports import FileSource, PeerSource, QueueSource, StateSource, WalDirectorySource
from pipelines.capture.sources.export_parts import ExportDirectory, ExportPart
from pipelines.capture.sources.exported_state import ExportedState
from pipelines.capture.sources.exported_znodes import ExportedZnodes
from pipelines.capture.sources.fsimage_files import FsimageFiles
from pipelines.capture.sources.hadoop_files import HadoopLister
from pipelines.capture.sources.hbase_admin import HBaseAdmin
from pipelines.capture.sources.hbase_client import HBaseClient
from pipelines.capture.sources.hbase_client_scan import HBaseClientQueues
from pipelines.capture.sources.ls_text_files import LsFiles, LsText, SavedListing
from pipelines.capture.sources.replication_znodes import ReplicationZnodes
from pipelines.capture.sources.saved_listings import WatchedListing
from pipelines.capture.sources.saved_scans import ExportedQueues, SavedCells
from pipelines.capture.sources.simulated_cluster import SimulatedQueues, SimulatedState
from pipelines.capture.sources.thrift_queues import ThriftQueues
from pipelines.capture.sources.wal_tree import WalTree
from pipelines.capture.sources.webhdfs_files import WebHdfsLister
from pipelines.capture.timeline import RetryPolicy
from pipelines.common.errors import UsageError
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.files.saved_text import LocalCopies, lines_of
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import CaptureStep

if TYPE_CHECKING:
    from pipelines.capture.sources.zookeeper_client import ZooKeeperReads
    from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
    from pipelines.capture.sources.zookeeper_state import ZooKeeperState

ThingT = TypeVar("ThingT", HadoopLister, HBaseClient, LocalCopies)


class CaptureWiring:
    """Creates the sources of one capture; the stack closes their connections.

    Args:
        cluster: for messages.
        wal_root: full URI.
        section: `capture` of the configuration.
        spark: its JVM runs the clients of Hadoop and HBase.
        stack: closes what was opened.
    """

    def __init__(
        self, cluster: str, wal_root: str, section: CaptureSection, spark: SparkSession, stack: ExitStack
    ) -> None:
        self._cluster = cluster
        self._wal_root = wal_root
        self._section = section
        self._spark = spark
        self._hadoop = HadoopJvm.of(spark)
        self._stack = stack

    def sources(self) -> CaptureSources | ZooKeeperSources | OfflineSources:
        """Returns all sources; nothing is read yet."""
        state = self._section.state
        if isinstance(state, OfflineStateSection) and not isinstance(self._section.queues, ZooKeeperQueuesSection):
            return self._offline(state)
        return self.live_sources()

    def live_sources(self) -> CaptureSources | ZooKeeperSources:
        """Returns the sources of a cluster that is not declared down; nothing is read yet."""
        queues = self._section.queues
        if isinstance(queues, ZooKeeperQueuesSection):
            return self._zookeeper(queues)
        if isinstance(queues, ExportQueuesSection) and queues.storage == "zookeeper":
            watched, znodes = WatchedListing(self._listing()), ExportedZnodes(self._export)
            return ZooKeeperSources(watched, watched, znodes, znodes)
        state = self._state()
        files, directories = self._files(state)
        space = files.free_bytes if isinstance(files, WalTree) else None
        return CaptureSources(files, directories, self._queues(), state, space)

    def _files(self, state: StateSource) -> tuple[FileSource, WalDirectorySource]:
        """Returns the source of the listing, and the source that lists `WALs/` after it.

        The second source is the same live file system, else the export if the state is exported, else Hadoop's.
        """
        listing = self._listing()
        if isinstance(listing, WalTree):
            return listing, listing
        return listing, state if isinstance(state, ExportedState) else self._live_tree()

    def _live_tree(self) -> WalTree:
        """Returns the live file system: that of the listing, or Hadoop's beside a saved listing."""
        section = self._section.files
        if isinstance(section, WebHdfsFilesSection):
            return self._webhdfs_tree(section)
        return self._hadoop_tree(secret_values(section.properties) if isinstance(section, HadoopFilesSection) else {})

    def _hadoop_tree(self, properties: Mapping[str, str]) -> WalTree:
        return WalTree(self._closed(HadoopLister(self._hadoop, self._wal_root, properties)), self._wal_root)

    def _webhdfs_tree(self, section: WebHdfsFilesSection) -> WalTree:
        kerberos = self._hadoop if section.kerberos else None
        lister = WebHdfsLister(section.urls, self._wal_root, section.user, section.timeout, kerberos)
        return WalTree(lister, self._wal_root)

    def _fsimage(self, section: FsimageFilesSection) -> FileSource:
        return FsimageFiles(
            self._spark,
            section.path,
            self._wal_root,
            delimiter=section.delimiter,
            zone=section.time_zone,
            transaction_time=section.transaction_time,
        )

    def _ls_files(self, section: LsFilesSection) -> FileSource:
        return LsFiles(cache(partial(self._ls_listing, section)))

    def _ls_listing(self, section: LsFilesSection) -> SavedListing:
        if section.time_zone is None or section.started_at is None or section.finished_at is None:
            # the text of the export script, which contains all three
            part = self._export.part("files") if section.path is None else self._stamped(section.path)
            said = part.stamp()
            return SavedListing(
                part.lines, LsText(self._wal_root, said.zone, part.name, said.taken.step.finished_at), said.taken
            )
        uri = section.path or ""
        path = self._saved.local(uri)
        stamp = StepStamp(CaptureStep("files", section.started_at, section.finished_at), section.clock_host)
        text = LsText(self._wal_root, section.time_zone, uri, section.finished_at)
        return SavedListing(lambda: lines_of(path, uri), text, stamp)

    def _stamped(self, uri: str) -> ExportPart:
        return ExportPart(self._saved.local(uri), "files", uri)

    def _queues(self) -> QueueSource:
        section = self._section.queues
        if isinstance(section, ThriftQueuesSection):
            return ThriftQueues(
                section.host,
                section.port,
                transport=section.transport,
                protocol=section.protocol,
                timeout_ms=section.timeout,
                table=section.table,
            )
        if isinstance(section, HBaseQueuesSection):
            return HBaseClientQueues(self._hbase)
        if isinstance(section, CellsQueuesSection):
            names = ("queues-1", "queues-2")
            passes = {
                name: (one.path, StepStamp(CaptureStep(name, one.started_at, one.finished_at), section.clock_host))
                for name, one in zip(names, section.passes, strict=True)
            }
            return SavedCells(self._saved, passes)
        if isinstance(section, SimulatedSection):
            return SimulatedQueues(section.path)
        return ExportedQueues(self._export)

    def _zookeeper(self, section: ZooKeeperQueuesSection) -> ZooKeeperSources:
        from pipelines.capture.sources.offline_state import OfflineCluster
        from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues

        queues = ZooKeeperQueues(self._znodes(section, "capture.queues"), section.parent, section.replication)
        listing = self._listing()
        down = None
        if isinstance(self._section.state, ZooKeeperStateSection | OfflineStateSection):
            znodes = self._zookeeper_state(queues)
            state: PeerSource = znodes
            if isinstance(self._section.state, OfflineStateSection):
                down = OfflineCluster(znodes, queues, self._hadoop, self._wal_root)
        else:
            state = self._state()
        if isinstance(listing, WalTree):
            return ZooKeeperSources(listing, listing, queues, state, listing.free_bytes, down)
        watched = WatchedListing(listing)
        return ZooKeeperSources(watched, watched, queues, state)

    def _zookeeper_state(self, queues: "ZooKeeperQueues") -> "ZooKeeperState":
        from pipelines.capture.sources.zookeeper_state import ZooKeeperState

        hbase = self._section.hbase
        return ZooKeeperState(queues, self._hadoop, hbase.site or "", secret_values(hbase.properties))

    def _znodes(self, section: ZooKeeperSection, name: str) -> "ZooKeeperReads":
        """Returns a client of the ZooKeeper that a section of the configuration names; messages name the section."""
        from pipelines.capture.sources.zookeeper_client import ZooKeeperClient
        from pipelines.capture.sources.zookeeper_sasl import Login, SaslZooKeeperClient

        client: ZooKeeperReads
        if section.sasl:
            conf = self._spark.sparkContext.getConf()
            login = Login(conf.get("spark.kerberos.principal"), conf.get("spark.kerberos.keytab"))
            client = SaslZooKeeperClient(self._hadoop, section.quorum, section.timeout, login, name)
        else:
            digest = section.digest.get_secret_value() if section.digest else None
            client = ZooKeeperClient(section.quorum, section.timeout, digest, name)
        self._stack.callback(client.close)
        return client

    def _offline(self, section: OfflineStateSection) -> OfflineSources:
        from pipelines.capture.sources.hbase_library import HBaseLibrary
        from pipelines.capture.sources.hfile_table import HFileTable
        from pipelines.capture.sources.offline_state import OfflineCluster
        from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues

        znodes = ZooKeeperQueues(self._znodes(section, "capture.state"), section.parent, section.replication)
        state = OfflineCluster(self._zookeeper_state(znodes), znodes, self._hadoop, self._wal_root)
        tree = self._live_tree()
        queues, table = self._section.queues, None
        if isinstance(queues, HFilesQueuesSection):
            library = HBaseLibrary(self._hadoop, queues.jars, f"HBase of cluster {self._cluster}")
            self._stack.callback(library.close)
            table = HFileTable(library, state.root(), self._wal_root, queues.table)
            self._stack.callback(table.close)
        return OfflineSources(tree, tree, table or self._queues(), table, state)

    def _listing(self) -> FileSource:
        """Returns the source of the listing; for a saved one, `WatchedListing` finds directories of live servers."""
        section = self._section.files
        if isinstance(section, LsFilesSection):
            return self._ls_files(section)
        return self._fsimage(section) if isinstance(section, FsimageFilesSection) else self._live_tree()

    def _state(self) -> StateSource:
        if isinstance(self._section.state, ExportStateSection):
            return ExportedState(self._export, self._wal_root)
        if isinstance(self._section.state, SimulatedSection):
            return SimulatedState(self._section.state.path)
        znodes = ReplicationZnodes.of(self._hadoop, self._hbase.conf, self._section.hbase.timeout)
        return HBaseAdmin(self._hbase, znodes)

    @cached_property
    def _hbase(self) -> HBaseClient:
        hbase = self._section.hbase
        where = f"HBase of cluster {self._cluster}"
        return self._closed(
            HBaseClient(self._hadoop, hbase.site, secret_values(hbase.properties), hbase.timeout, where)
        )

    @cached_property
    def _saved(self) -> LocalCopies:
        return self._closed(LocalCopies(self._hadoop))

    @cached_property
    def _export(self) -> ExportDirectory:
        if self._section.export is None:
            raise UsageError("capture.export.path is missing")
        return ExportDirectory(self._section.export.path, self._saved)

    def _closed(self, thing: ThingT) -> ThingT:
        self._stack.callback(thing.close)
        return thing


@contextmanager
def capture_sources(
    cluster: str, wal_root: str, section: CaptureSection, spark: SparkSession
) -> Iterator[CaptureSources | ZooKeeperSources | OfflineSources]:
    """Yields the sources that the configuration names, open until the block ends."""
    with ExitStack() as stack:
        yield CaptureWiring(cluster, wal_root, section, spark, stack).sources()


def retry_policy(section: CaptureSection) -> RetryPolicy:
    """Returns how often a capture tries to read, by the configuration."""
    return RetryPolicy(section.step_attempts, section.quiet_attempts, section.pause, lambda ms: time.sleep(ms / 1000))


def secret_values(properties: Mapping[str, SecretStr]) -> dict[str, str]:
    """Returns the values of secret properties, which must not be printed."""
    return {name: value.get_secret_value() for name, value in properties.items()}
