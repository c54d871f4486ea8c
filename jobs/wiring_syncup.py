"""Wires plan-syncup: a snapshot with its extra, the lake as memory."""

from jobs.context import JobContext
from pipelines.domain.syncup.rows import PLAN_SUFFIX
from pipelines.sinks.delta_tables import DeltaTables
from pipelines.sources.past_inspections import LakeInspections
from pipelines.sources.snapshot_dir import SnapshotDirectories
from pipelines.use_cases.outcome import Outcome
from pipelines.use_cases.plan_syncup import PlanPorts, PlanRequest, plan


def run_plan_syncup(context: JobContext, request: PlanRequest, lake: str | None) -> Outcome:
    """Plan with the technologies of production.

    Args:
        context: the surroundings.
        request: what to plan.
        lake: folder of the Delta tables; None = nothing is written.
    """
    spark = context.spark
    ports = PlanPorts(
        snapshots=SnapshotDirectories(spark, request.settings.row_layout),
        tables=DeltaTables(spark, lake) if lake else None,
        past=LakeInspections(spark, lake, PLAN_SUFFIX) if lake else None,
    )
    return plan(request, ports)
