"""Wires plan-syncup: a snapshot with its extra, the lake as memory."""

from jobs.context import JobContext
from pipelines.common.outcome import Outcome
from pipelines.lake.delta_tables import DeltaTables
from pipelines.queues.syncup.plan_syncup import PlanPorts, PlanRequest, plan
from pipelines.queues.syncup.rows import PLAN_SUFFIX
from pipelines.queues.wals.past_inspections import LakeInspections
from pipelines.snapshot.reader import SnapshotDirectories


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
