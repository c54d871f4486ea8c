"""Wires the split jobs that read small files: Hadoop's file systems, and the lake."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from jobs.context import JobContext
from pipelines.files.storage import storage_for
from pipelines.lake.delta_tables import DeltaTables
from pipelines.pegasus.domain.state.model import ClusterState
from pipelines.pegasus.sources.row_files import CHECKED, parquet_errors
from pipelines.pegasus.sources.state_files import StateFiles
from pipelines.pegasus.use_cases.frame import SplitPorts
from pipelines.queues.wals.past_inspections import LakeInspections


def split_ports(context: JobContext, lake: str | None) -> SplitPorts:
    """The lake; None = nothing is written."""
    if lake is None:
        return SplitPorts()
    return SplitPorts(DeltaTables(context.spark, lake), LakeInspections(context.spark, lake, f"-{context.job}"))


def read_states(context: JobContext, uri: str) -> Sequence[ClusterState]:
    """State files of any Hadoop file system."""
    return StateFiles(storage_for(context.spark, uri)).states(uri)


def read_rows(context: JobContext, uri: str) -> DataFrame:
    """Rows of a table, as Parquet; wrap what reads them in `parquet_errors` too.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    with parquet_errors(uri, "docs/split-plan.md"):
        return context.spark.read.options(recursiveFileLookup="true", **CHECKED).parquet(uri)
