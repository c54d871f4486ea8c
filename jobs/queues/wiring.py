"""Wires the jobs on queues: they read snapshots and remember findings in the lake."""

from collections.abc import Callable

from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.files.text_files import write_text
from pipelines.lake.job_run import JobLake
from pipelines.queues.audit.audit_queues import AuditPorts, AuditRequest, audit_queues
from pipelines.queues.audit.rows import AUDIT_SUFFIX
from pipelines.snapshot.reader import SnapshotDirectories


def run_audit_queues(context: JobContext, request: AuditRequest, lake: str | None, plan: str | None) -> JobResult:
    """Run audit-queues with the production ports.

    Args:
        context: the environment of the job.
        request: what to audit.
        lake: folder of the Delta tables; None = no tables are written.
        plan: folder of the claim plan; None = no plan is written.
    """
    spark = context.spark
    ports = AuditPorts(
        snapshots=SnapshotDirectories(spark, request.settings.row_layout),
        clock=context.clock,
        lake=JobLake.of(spark, lake, AUDIT_SUFFIX),
        plan=_plan_writer(spark, plan) if plan else None,
    )
    return audit_queues(request, ports)


def snapshots_and_lake(
    context: JobContext, settings: ReconcileSettings, lake: str | None, suffix: str
) -> tuple[SnapshotDirectories, JobLake]:
    """Returns the production ports of a job that only reads snapshots; without a lake it writes no tables."""
    return SnapshotDirectories(context.spark, settings.row_layout), JobLake.of(context.spark, lake, suffix)


def _plan_writer(spark: SparkSession, folder: str) -> Callable[[str, str], str]:
    """Returns the function that writes a file of the claim plan to a folder and returns its URI."""

    def write(name: str, text: str) -> str:
        uri = f"{folder.rstrip('/')}/{name}"
        write_text(spark, uri, text)
        return uri

    return write
