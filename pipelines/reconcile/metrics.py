"""Prometheus metrics of a run for node_exporter's textfile collector; replaced by rename (docs/metrics.md)."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from pyspark.sql import SparkSession

from pipelines.common.version import VERSION
from pipelines.files.hadoop_text import write_text
from pipelines.lake.run_summary import DELETABLE, DONE, RunSummary


def metrics_text(summaries: Sequence[RunSummary], written_at_ms: int) -> str:
    """Returns the exposition text of one run.

    Instants are in seconds since the epoch, as Prometheus expects, so a run's age is `time() - metric`; durations are
    seconds too. A cluster that was refused or failed has its outcome but no sizes, so the sizes of an earlier run
    disappear.

    Args:
        summaries: the clusters of the run.
        written_at_ms: now, ms since the epoch.
    """
    registry = CollectorRegistry(auto_describe=True)

    def gauge(name: str, help_text: str, *labels: str) -> Gauge:
        return Gauge(f"walsafe_{name}", help_text, ("cluster", *labels), registry=registry)

    build = Gauge("walsafe_build_info", "Version that ran.", ("version",), registry=registry)
    build.labels(VERSION).set(1)
    run_time = gauge("run_timestamp_seconds", "When the run ended.")
    capture_time = gauge("capture_timestamp_seconds", "Start of the capture's step files; all ages count from it.")
    outcome = gauge("run_outcome", "1 for the outcome of the last run, with its mode.", "status", "mode")
    exit_code = gauge("run_exit_code", "Exit code: 0 done, 2 somebody must act, 3 refused, 4 unavailable, 5 new error.")
    files = gauge("wal_files", "Files under oldWALs.", "verdict", "reason")
    sizes = gauge("wal_bytes", "Bytes under oldWALs.", "verdict", "reason")
    listed = gauge("list_bytes", "Bytes on the delete-safe list; 0 when none was written.")
    pinned = gauge("peer_pinned_bytes", "Bytes under oldWALs that a peer holds.", "peer", "shared")
    freed = gauge("peer_freed_bytes", "Bytes that come free when the peer finishes or is removed.", "peer")
    oldest = gauge("peer_oldest_wal_age_seconds", "Age of the oldest WAL that a peer holds.", "peer")
    findings = gauge("findings", "Findings of the run.", "severity", "acknowledged")
    for one in summaries:
        cluster = one.cluster
        run_time.labels(cluster).set(written_at_ms / 1000)
        capture_time.labels(cluster).set(one.files_started_ms / 1000)
        outcome.labels(cluster, one.status, one.mode).set(1)
        exit_code.labels(cluster).set(one.exit_code)
        listed.labels(cluster).set(one.total(DELETABLE)[1] if one.list_uri else 0)
        if one.status != DONE:
            continue
        for total in one.totals:
            files.labels(cluster, total.verdict, total.reason).inc(total.files)
            sizes.labels(cluster, total.verdict, total.reason).inc(total.bytes)
        for row in one.holders("peer"):
            pinned.labels(cluster, row.peer_id, "no").set(row.exclusive_bytes)
            pinned.labels(cluster, row.peer_id, "yes").set(row.joint_bytes)
            freed.labels(cluster, row.peer_id).set(row.freed_bytes)
            if row.oldest_age_ms is not None:
                oldest.labels(cluster, row.peer_id).set(row.oldest_age_ms / 1000)
        for finding in one.findings:
            findings.labels(cluster, finding.severity, "yes" if finding.acknowledged else "no").inc()
    return generate_latest(registry).decode("utf-8")


class MetricsFile:
    """The metrics file, at any Hadoop URI; a reader sees the old file or the new one, never part of one."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._spark = spark
        self._uri = uri

    def write(self, summaries: Sequence[RunSummary], written_at_ms: int) -> None:
        """Replaces the file.

        Raises:
            UnavailableError: the file system failed to write it.
        """
        write_text(self._spark, self._uri, metrics_text(summaries, written_at_ms))
