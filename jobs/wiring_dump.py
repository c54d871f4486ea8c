"""Wires dump-queues."""

from jobs.context import JobContext
from pipelines.common.outcome import Outcome
from pipelines.lake.delta_tables import DeltaTables
from pipelines.queues.dump.dump_queues import DumpPorts, DumpRequest, dump_queues
from pipelines.snapshot.reader import SnapshotDirectories


def run_dump_queues(context: JobContext, request: DumpRequest, lake: str | None) -> Outcome:
    """Dump with the technologies of production.

    Args:
        context: the surroundings.
        request: what to print.
        lake: folder of the Delta tables; None = nothing is written.
    """
    spark = context.spark
    snapshots = SnapshotDirectories(spark, request.settings.row_layout)
    return dump_queues(request, DumpPorts(snapshots, snapshots, DeltaTables(spark, lake) if lake else None))
