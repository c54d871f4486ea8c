"""Wires clean, restore and purge: only these jobs receive objects that can move or delete WALs."""

import logging
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from getpass import getuser

from jobs.capture.wiring import CaptureWiring, retry_policy, secret_values
from jobs.cleanup.settings import CleanupSettings
from jobs.cli.config.capture_section import CaptureSection
from jobs.cli.config.capture_sources import SimulatedSection, WebHdfsFilesSection
from jobs.cli.config.sections import CleanSection
from jobs.cli.context import JobContext, stop_asked
from pipelines.capture.capture import CaptureTarget
from pipelines.capture.sources.hbase_site import hbase_root
from pipelines.cleanup.archive import HadoopArchive
from pipelines.cleanup.audit import LakeAudit
from pipelines.cleanup.paths import parse_uri
from pipelines.cleanup.quarantine import Quarantine, check_hbase_root
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
from pipelines.hbase.wal_root import OLD_WALS
from pipelines.lake.reader import LakeReader
from pipelines.reconcile.list_reader import DeleteListReader
from pipelines.snapshot.target import snapshot_target

_LOG = logging.getLogger(__name__)


@contextmanager
def open_cleanup(
    context: JobContext,
    settings: CleanupSettings,
    lake: str,
    lists: str | None = None,
    *,
    out_of_quarantine: bool = False,
) -> Iterator[tuple[CleanupPlace, CleanupPorts]]:
    """Yields the places and ports of a clean-up job; connections stay open until the block ends.

    Args:
        context: of the job.
        settings: the checked configuration.
        lake: folder of the tables.
        lists: folder of the delete-safe lists, if the job reads one.
        out_of_quarantine: the job only takes files out of the quarantine, so the location of the quarantine is not
            checked against hbase.rootdir, and no source of a capture has to be there.

    Raises:
        UsageError: hbase.rootdir is not known or holds the quarantine, or an observer name node may answer reads of the
            cluster's files or of the lake.
    """
    config, cluster, wal_root = settings.config, settings.cluster, settings.wal_root
    section, quarantine = settings.capture, settings.clean
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
        check_hbase_root(quarantine.quarantine, quarantine.archive, _root(hadoop, section, wal_root, settings.name))
    refuse_observer_reads(hadoop, hadoop.conf, lake, "--lake", "Spark property spark.hadoop.{0}")
    with ExitStack() as stack:
        store = _store(hadoop, section, wal_root, quarantine, cluster)
        stack.callback(store.close)
        sources = cache(CaptureWiring(cluster, wal_root, section, spark, stack).live_sources)
        if not out_of_quarantine:
            sources()  # what is missing is said before a lease is taken
        parts = CaptureParts(
            cluster=CaptureTarget(cluster, wal_root, host),
            sources=sources,
            settings=config.settings(),
            patience=retry_policy(section),
            clock=context.clock,
            target=lambda uri: snapshot_target(uri, hadoop),
        )
        archive = _archive(hadoop, section, quarantine)
        if archive is not None:
            stack.callback(archive.close)
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
                archive=archive,
            ),
        )


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
    within = (f"{wal_root}/{OLD_WALS}", f"{clean.quarantine}/{cluster}")
    files, where = capture.files, None
    calls: FileCalls
    if isinstance(files, WebHdfsFilesSection):
        calls, where = (
            WebHdfsCalls(files.urls, files.user, files.timeout, clean.threads, hadoop if files.kerberos else None),
            f"WebHDFS {', '.join(files.urls)}",
        )
    elif parse_uri(wal_root).scheme == "file":
        calls = LocalCalls()
    else:
        calls = HadoopCalls(hadoop, wal_root, _properties(capture))
    return FileSystemWalStore(calls, wal_root, within, clean.threads, where)


def _archive(hadoop: HadoopJvm, capture: CaptureSection, clean: CleanSection) -> HadoopArchive | None:
    return HadoopArchive(hadoop, clean.archive, _properties(capture)) if clean.archive else None


def _properties(capture: CaptureSection) -> dict[str, str]:
    """Returns the Hadoop properties that the configuration gives for the cluster's files."""
    return secret_values(capture.files.properties) if capture.files.source == "hadoop" else {}
