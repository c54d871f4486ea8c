"""Wires clean, restore and purge: only these jobs receive objects that can move or delete WALs."""

import logging
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from getpass import getuser

from jobs.capture.wiring import CaptureWiring, secret_values
from jobs.cli.config.capture_section import CaptureSection, SimulatedSection, WebHdfsFilesSection
from jobs.cli.config.clean_section import CleanSection
from jobs.cli.config.configuration import Config, load_config
from jobs.cli.context import JobContext
from jobs.cli.stop_file import stop_asked
from pipelines.capture.capture import CaptureTarget
from pipelines.capture.sources.hbase_root import hbase_root
from pipelines.capture.timeline import RetryPolicy
from pipelines.cleanup.archive import HadoopArchive
from pipelines.cleanup.audit import LakeAudit
from pipelines.cleanup.paths import parse_uri
from pipelines.cleanup.quarantine import Quarantine, check_hbase_root, check_quarantine
from pipelines.cleanup.request import CleanupPlace, CleanupPorts
from pipelines.cleanup.second_look import CaptureParts, SparkSecondLook
from pipelines.cleanup.stores.file_calls import FileCalls
from pipelines.cleanup.stores.hadoop_calls import HadoopCalls
from pipelines.cleanup.stores.local_calls import LocalCalls
from pipelines.cleanup.stores.wal_store import FileSystemWalStore
from pipelines.cleanup.stores.webhdfs_calls import WebHdfsCalls
from pipelines.common.errors import UsageError
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.files.observer_reads import refuse_observer_reads
from pipelines.files.scratch import SECOND_LOOKS_FOLDER, ScratchDirectory
from pipelines.lake.reader import LakeReader
from pipelines.reconcile.list_reader import DeleteListReader
from pipelines.snapshot.target import snapshot_target

_LOG = logging.getLogger(__name__)


@contextmanager
def open_cleanup(
    context: JobContext,
    config_file: str,
    cluster: str,
    lake: str,
    lists: str | None = None,
    *,
    config: Config | None = None,
    out_of_quarantine: bool = False,
) -> Iterator[tuple[CleanupPlace, CleanupPorts]]:
    """Yields the settings and ports of a clean-up job; connections stay open until the block ends.

    Args:
        context: of the job.
        config_file: `--config`.
        cluster: `--cluster`; the configuration must be of this cluster.
        lake: folder of the tables.
        lists: folder of the delete-safe lists, if the job reads one.
        config: the parsed `config_file`, if the caller has already read it.
        out_of_quarantine: the job only takes files out of the quarantine, so the location of the quarantine is not
            checked against hbase.rootdir.

    Raises:
        UsageError: the configuration is of another cluster or incomplete, or an observer name node may answer reads of
            the cluster's files or of the lake.
    """
    config = config or load_config(config_file, context)
    section, wal_root, quarantine = checked_configuration(config, config_file, cluster)
    identity = uuid.uuid4().hex
    host = socket.gethostname()
    place = CleanupPlace(
        cluster=cluster,
        wal_root=wal_root,
        quarantine=Quarantine(quarantine.quarantine, cluster),
        holder=f"{getuser()}@{host} {context.job} {identity}",
        identity=identity,
        batch=quarantine.batch,
        lease_ms=quarantine.lease,
        grace_ms=quarantine.grace,
        acknowledged=config.settings().acknowledged,
    )
    spark = context.spark
    hadoop = HadoopJvm.of(spark)
    if not out_of_quarantine:
        check_hbase_root(quarantine.quarantine, quarantine.archive, _root(hadoop, section, wal_root, config_file))
    refuse_observer_reads(hadoop, hadoop.conf, lake, "--lake", "Spark property spark.hadoop.{0}")
    with ExitStack() as stack:
        store = _store(hadoop, section, wal_root, quarantine, cluster)
        stack.callback(store.close)
        parts = CaptureParts(
            cluster=CaptureTarget(cluster, wal_root, host),
            sources=CaptureWiring(cluster, wal_root, section, spark, stack).live_sources(),
            settings=config.settings(),
            patience=RetryPolicy(
                section.step_attempts, section.quiet_attempts, section.pause, lambda ms: time.sleep(ms / 1000)
            ),
            clock=context.clock,
            target=lambda uri: snapshot_target(uri, hadoop),
        )
        audit = LakeAudit(spark, lake, context.clock, getuser(), host)
        reader = DeleteListReader(spark, lists or "")
        scratch = ScratchDirectory(hadoop, f"{lake.rstrip('/')}/{SECOND_LOOKS_FOLDER}")
        yield (
            place,
            CleanupPorts(
                store=store,
                audit=audit,
                lists=reader,
                second_look=SparkSecondLook(spark, parts, store, audit, reader, scratch),
                clock=context.clock,
                stop=stop_asked,
                tell=_LOG.info,
                seconds=time.monotonic,
                findings=LakeReader.of(spark, lake),
                archive=HadoopArchive(hadoop, quarantine.archive) if quarantine.archive else None,
            ),
        )


def checked_configuration(config: Config, name: str, cluster: str) -> tuple[CaptureSection, str, CleanSection]:
    """Returns the parts of the configuration that a clean-up needs.

    Args:
        config: the whole configuration.
        name: its file name, for messages.
        cluster: as given by `--cluster`.

    Raises:
        UsageError: a part is missing, is of another cluster, or does not read the live cluster.
    """
    if config.cluster is None or config.wal_root is None or config.capture is None or config.clean is None:
        keys = ("cluster", "wal_root", "capture", "clean")
        missing = next(key for key in keys if getattr(config, key) is None)
        raise UsageError(f"{name}: key {missing!r} is missing; docs/cleanup.md has an example")
    if config.cluster != cluster:
        raise UsageError(f"{name} is the configuration of cluster {config.cluster}, not of --cluster {cluster}")
    capture = config.capture
    for key, section in (("files", capture.files), ("queues", capture.queues), ("state", capture.state)):
        if section.source in _EXPORTED[key]:
            raise UsageError(
                f"{name}: capture.{key}.source {section.source!r} is an answer of earlier. A clean-up looks at the "
                "cluster as it is now: give it a configuration with live sources"
            )
    check_quarantine(config.clean.quarantine, config.clean.archive, config.wal_root)
    return capture, config.wal_root, config.clean


_EXPORTED = {"files": {"fsimage", "ls"}, "queues": {"cells", "export", "hfiles"}, "state": {"export", "offline"}}


def _root(hadoop: HadoopJvm, capture: CaptureSection, wal_root: str, name: str) -> str:
    """Returns `hbase.rootdir`; a simulated cluster without this property has only its WAL root.

    Raises:
        UsageError: no configuration gives `hbase.rootdir`.
    """
    root = hbase_root(hadoop, capture.hbase.site, secret_values(capture.hbase.properties))
    if root is None and isinstance(capture.state, SimulatedSection):
        return wal_root
    if root is None:
        where = capture.hbase.site or "an hbase-site.xml on Spark's class path, if there is one,"
        raise UsageError(
            f"{name}: hbase.rootdir is not known ({where} does not say it). HBase's cleaners delete files that they do "
            "not know below it, and nothing proves that clean.quarantine and clean.archive lie outside. Let "
            "capture.hbase.site be the master's own hbase-site.xml, or give hbase.rootdir in capture.hbase.properties"
        )
    return root


def _store(
    hadoop: HadoopJvm, capture: CaptureSection, wal_root: str, clean: CleanSection, cluster: str
) -> FileSystemWalStore:
    within = (f"{wal_root}/oldWALs", f"{clean.quarantine}/{cluster}")
    files, where = capture.files, None
    calls: FileCalls
    if isinstance(files, WebHdfsFilesSection):
        calls, where = (
            WebHdfsCalls(files.urls, files.user, files.timeout, clean.threads),
            f"WebHDFS {', '.join(files.urls)}",
        )
    elif parse_uri(wal_root).scheme == "file":
        calls = LocalCalls()
    else:
        calls = HadoopCalls(hadoop, wal_root, secret_values(files.properties) if files.source == "hadoop" else {})
    return FileSystemWalStore(calls, wal_root, within, clean.threads, where)
