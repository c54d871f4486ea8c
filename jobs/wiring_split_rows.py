"""Wires the split jobs that work on rows: Parquet as their source, the lake as memory."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from jobs.context import JobContext
from pipelines.common.outcome import Outcome
from pipelines.lake.delta_tables import DeltaTables
from pipelines.pegasus.simulate.batch import Simulated, play
from pipelines.pegasus.sources.row_files import ParquetRows
from pipelines.pegasus.use_cases.frame import SplitPorts, SplitRun
from pipelines.pegasus.use_cases.split_simulate import split_simulate
from pipelines.pegasus.use_cases.split_stale import StaleRequest, split_stale
from pipelines.pegasus.use_cases.split_verify import VerifyRequest, split_verify
from pipelines.queues.wals.past_inspections import LakeInspections


def run_split_verify(context: JobContext, request: VerifyRequest, run: SplitRun, lake: str | None) -> Outcome:
    """Compare with the technologies of production; lake: folder of the Delta tables, None = nothing is written."""
    return split_verify(request, ParquetRows(context.spark), run, _ports(context, run, lake))


def run_split_stale(context: JobContext, request: StaleRequest, run: SplitRun, lake: str | None) -> Outcome:
    """Rehearse the filter with the technologies of production; lake as above."""
    return split_stale(request, ParquetRows(context.spark), run, _ports(context, run, lake))


class SparkPlayer:
    """`Player`: a task of Spark for each subject."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def play(self, subjects: Sequence[str], design: str) -> Sequence[Simulated]:
        """See `Player.play`."""
        if not subjects:
            return []
        work = self._spark.sparkContext.parallelize(list(subjects), len(subjects))
        return work.map(lambda subject: play(subject, design)).collect()


def run_split_simulate(
    context: JobContext, subjects: Sequence[str], design: str, run: SplitRun, lake: str | None
) -> Outcome:
    """Play with the technologies of production; lake as above."""
    return split_simulate(subjects, design, SparkPlayer(context.spark), run, _ports(context, run, lake))


def _ports(context: JobContext, run: SplitRun, lake: str | None) -> SplitPorts:
    if lake is None:
        return SplitPorts()
    return SplitPorts(DeltaTables(context.spark, lake), LakeInspections(context.spark, lake, f"-{run.job}"))
