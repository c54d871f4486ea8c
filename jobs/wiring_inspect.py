"""Wires inspect-wals: Spark's executors as readers, the lake as memory."""

from jobs.context import JobContext
from pipelines.common.outcome import Outcome
from pipelines.lake.delta_tables import DeltaTables
from pipelines.queues.wals.executors import SparkWalContents
from pipelines.queues.wals.inspect_wals import InspectPorts, InspectRequest, inspect_wals
from pipelines.queues.wals.past_inspections import LakeInspections
from pipelines.queues.wals.rows import INSPECTION_SUFFIX
from pipelines.snapshot.reader import SnapshotDirectories


def run_inspect_wals(context: JobContext, request: InspectRequest, lake: str | None) -> Outcome:
    """Inspect with the technologies of production.

    Args:
        context: the surroundings.
        request: what to look into.
        lake: folder of the Delta tables; None = nothing is written.
    """
    spark = context.spark
    ports = InspectPorts(
        snapshots=SnapshotDirectories(spark, request.settings.row_layout),
        contents=SparkWalContents(spark),
        tables=DeltaTables(spark, lake) if lake else None,
        past=LakeInspections(spark, lake, INSPECTION_SUFFIX) if lake else None,
    )
    return inspect_wals(request, ports)
