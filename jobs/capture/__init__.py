"""The job capture: takes a snapshot of a live cluster, or of one that is down."""

import shlex
import socket
from argparse import ArgumentParser, Namespace

from jobs.cli.config.capture_section import CaptureSection
from jobs.cli.config.configuration import load_config
from jobs.cli.context import JobContext
from jobs.cli.launch.places import PROGRAM
from pipelines.common.errors import EXIT_DONE, UsageError
from pipelines.common.human import human_count
from pipelines.common.instants import compact_instant
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.trust import unfinished_migration_reason
from pipelines.snapshot.model import QUEUE_STORAGE_ZOOKEEPER
from pipelines.snapshot.syncup_facts import EXTRA as SYNC_UP

DESCRIPTION = """\
Reads files, servers, procedures, peers and replication queues of one HBase cluster, in the one order in which no
needed file can look deletable, and writes them as a snapshot directory. It only reads the cluster; a capture that
dies leaves nothing that could be taken for a snapshot.

The configuration names the cluster, its WAL root, and where each part is read (docs/capture.md):

  cluster: prod-a
  wal_root: hdfs://ns1/hbase
  capture:
    files:  {source: hadoop}
    queues: {source: hbase}
    state:  {source: hbase}
    hbase:  {site: /etc/walsafe/hbase-site.xml}     # a copy of the master's

HBase 1.x and 2.x keep their queues in ZooKeeper:
    queues: {source: zookeeper, quorum: "zk1:2181,zk2:2181,zk3:2181"}

then: the command that capture prints at its end"""
NEEDS_SPARK = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--config", metavar="FILE", required=True, help="the configuration, with section `capture`")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="the snapshot: any Hadoop URI that does not exist yet (default: <snapshots>/<cluster>/<time>, by the "
        "configuration)",
    )


def run(args: Namespace, context: JobContext) -> JobResult:
    """Captures the cluster of the configuration.

    Raises:
        UsageError: the configuration is wrong, says nowhere to write, or --out exists or cannot be written.
        RefusedError: what was read is not a trustworthy snapshot.
        UnavailableError: a source or --out did not answer.
    """
    config = load_config(args.config, context)
    if config.cluster is None or config.wal_root is None or config.capture is None:
        missing = next(key for key in ("cluster", "wal_root", "capture") if getattr(config, key) is None)
        raise UsageError(f"{args.config}: key {missing!r} is missing; docs/capture.md has examples")
    out = args.out or config.snapshot_of(compact_instant(context.clock.now_ms()))
    if out is None:
        raise UsageError(f"{args.config}: give --out DIR or the key 'snapshots', the folder of the snapshots")
    context.need_spark()
    unnamed = [f"--{key} DIR" for key in ("lake", "lists") if getattr(config, key) is None]
    following = " ".join(["--config", shlex.quote(args.config), *unnamed])
    return capture_cluster(config.cluster, config.wal_root, config.capture, out, context, following)


def capture_cluster(
    cluster: str,
    wal_root: str,
    section: CaptureSection,
    out: str,
    context: JobContext,
    following: str = "--lake DIR --lists DIR",
) -> JobResult:
    """Captures one cluster with explicit settings.

    Args:
        cluster: its name.
        wal_root: URI of the directory of `oldWALs`.
        section: the sources.
        out: URI of the new snapshot.
        context: of the job.
        following: the options of the reconcile that the answer proposes, beside `--snapshot`.

    Raises:
        WalsafeError: as `run`.
    """
    # pyspark and pyarrow are slow to import: import them only after the arguments have been validated
    from jobs.capture.wiring import capture_sources, retry_policy
    from pipelines.capture.capture import CaptureTarget
    from pipelines.files.hadoop_jvm import HadoopJvm
    from pipelines.snapshot.target import snapshot_target
    from pipelines.snapshot.writer import SnapshotWriter

    subject = CaptureTarget(cluster, wal_root, socket.gethostname())
    target = snapshot_target(out, HadoopJvm.of(context.spark))
    with SnapshotWriter(target) as writer, capture_sources(cluster, wal_root, section, context.spark) as sources:
        captured = sources.capture(subject, writer, clock=context.clock, patience=retry_policy(section))
    snapshot = captured.snapshot
    result = {
        "snapshot": captured.uri,
        "cluster": cluster,
        "files": captured.files,
        "cells": captured.cells,
        "peers": len(snapshot.peers),
        "quiet": captured.restless is None,
        "restless": captured.restless,
        "migrating": unfinished_migration_reason(snapshot),
    }
    noun = "znode" if snapshot.queue_storage == QUEUE_STORAGE_ZOOKEEPER else "queue cell"
    quiet = "quiet" if captured.restless is None else f"not quiet: {captured.restless}"
    after = "plan-syncup" if SYNC_UP in snapshot.extras else "reconcile"
    options = "--lake DIR" if SYNC_UP in snapshot.extras else following
    text = (
        f"Captured {cluster}: {captured.files:,} files below oldWALs, WALs and remoteWALs, "
        f"{human_count(captured.cells, noun)}, {human_count(len(snapshot.peers), 'peer')}; the cluster was {quiet}.\n"
        f"Snapshot: {captured.uri}\n"
        f"Next: {PROGRAM} {after} --snapshot {shlex.quote(captured.uri)} {options}"
    )
    if result["migrating"]:
        text += f"\nEvery job but verify-migration will refuse it: {result['migrating']} (docs/migration.md)"
    return JobResult(EXIT_DONE, result, text)
