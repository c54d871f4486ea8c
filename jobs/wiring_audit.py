"""Wires audit-queues: snapshots in, the lake as memory, a folder for the claim plan."""

from jobs.context import JobContext
from pipelines.common.outcome import Outcome
from pipelines.lake.delta_tables import DeltaTables
from pipelines.queues.audit.audit_queues import AuditPorts, AuditRequest, audit_queues
from pipelines.queues.audit.past_audits import LakeAudits
from pipelines.queues.audit.plan_files import PlanFiles
from pipelines.queues.audit.rows import AUDIT_SUFFIX
from pipelines.queues.wals.past_inspections import LakeInspections
from pipelines.snapshot.reader import SnapshotDirectories


def run_audit_queues(context: JobContext, request: AuditRequest, lake: str | None, plan: str | None) -> Outcome:
    """Audit with the technologies of production.

    Args:
        context: the surroundings.
        request: what to audit.
        lake: folder of the Delta tables; None = nothing is written there.
        plan: folder of the claim plan; None = none is written.
    """
    spark = context.spark
    ports = AuditPorts(
        snapshots=SnapshotDirectories(spark, request.settings.row_layout),
        clock=context.clock,
        tables=DeltaTables(spark, lake) if lake else None,
        past=LakeInspections(spark, lake, AUDIT_SUFFIX) if lake else None,
        audits=LakeAudits(spark, lake) if lake else None,
        plan=PlanFiles(spark, plan) if plan else None,
    )
    return audit_queues(request, ports)
