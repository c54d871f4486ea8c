"""Wires inspect-wals: Spark's executors as readers, the lake as memory."""

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import DataFrame

from jobs.context import JobContext
from pipelines.domain.run_summary import RunKey
from pipelines.sinks.delta_tables import DeltaTables
from pipelines.sources.past_inspections import LakeInspections
from pipelines.sources.snapshot_dir import SnapshotDirectories
from pipelines.sources.wal_contents import SparkWalContents
from pipelines.use_cases.inspect_wals import InspectPorts, InspectRequest, inspect_wals
from pipelines.use_cases.outcome import Outcome
from schemas.findings import FINDINGS
from schemas.registry import INSPECTION_TABLES
from schemas.table import Table


class InspectionTables:
    """`TableSink` of the tables that an inspection writes."""

    def __init__(self, tables: DeltaTables) -> None:
        self._tables = tables

    def ensure(self) -> None:
        """See `TableSink.ensure`."""
        self._tables.ensure((*INSPECTION_TABLES, FINDINGS))

    def replace(self, writes: Mapping[str, DataFrame], runs: Collection[RunKey], *, fresh: bool = False) -> None:
        """See `TableSink.replace`."""
        self._tables.replace(writes, runs, fresh=fresh)

    def append_rows(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """See `TableSink.append_rows`."""
        self._tables.append_rows(table, rows)

    def frame(self, table: Table, rows: Sequence[Mapping[str, object]]) -> DataFrame:
        """See `TableSink.frame`."""
        return self._tables.frame(table, rows)


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
        tables=InspectionTables(DeltaTables(spark, lake)) if lake else None,
        past=LakeInspections(spark, lake) if lake else None,
    )
    return inspect_wals(request, ports)
