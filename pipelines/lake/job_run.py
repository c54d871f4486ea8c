"""The frame that a job runs in: identity, tables, findings compared with earlier runs, text and JSON, exit code.

A job does its own work, then records the rows and findings of its `JobRun` in the lake, and answers with what the frame
returns. docs/architecture.md says how to add a job.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.common.errors import EXIT_DONE, EXIT_PARTIAL
from pipelines.common.instants import compact_instant
from pipelines.common.job_result import JobResult
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.findings import Acknowledgement, dated, has_new_error
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import FindingRow, RunKey, table_row
from pipelines.lake.twins import twin_columns
from schemas.findings import FINDINGS
from schemas.table import Table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

RowT = TypeVar("RowT", bound="DataclassInstance")
Rows = DataFrame | Sequence[Any]
"""Rows of a table without the identity columns: dataclasses or mappings by column name, or a DataFrame."""


class JobLake:
    """The lake that a job writes its tables to and reads its earlier findings from; without tables it does nothing."""

    def __init__(self, tables: DeltaTables | None = None, past: LakeReader | None = None, suffix: str = "") -> None:
        self._tables, self._past, self._suffix = tables, past, suffix
        self._ensured: set[str] = set()

    @classmethod
    def of(cls, spark: SparkSession, uri: str | None, suffix: str) -> "JobLake":
        """Returns the lake of a job.

        Args:
            spark: the session.
            uri: folder of the tables; None = the job writes no tables.
            suffix: suffix of the job's run ids.
        """
        return cls(DeltaTables(spark, uri), LakeReader.of(spark, uri), suffix) if uri else cls()

    def ensure(self, tables: Iterable[Table]) -> None:
        """Creates missing tables; see `DeltaTables.ensure`."""
        missing = [table for table in tables if table.name not in self._ensured]
        if self._tables is not None and missing:
            self._tables.ensure(missing)
            self._ensured |= {table.name for table in missing}

    def findings_before(self, key: RunKey, runs: Table | None) -> Mapping[str, tuple[int, int]]:
        """Returns first_seen and number of runs by finding key; see `LakeReader.findings_before`."""
        return self._past.findings_before(key, self._suffix, runs) if self._past is not None else {}

    def recent(self, table: Table, kind: type[RowT], cluster: str, last: date) -> Sequence[tuple[RunKey, RowT]]:
        """See `LakeReader.recent`."""
        return self._past.recent(table, kind, cluster, last) if self._past is not None else ()

    def replace(self, writes: Sequence[tuple[Table, Rows]], key: RunKey) -> None:
        """Replaces the rows of a run in all tables; see `DeltaTables.replace`."""
        if self._tables is not None:
            self._tables.replace({table.name: _frame(self._tables, table, rows, key) for table, rows in writes}, [key])


def _frame(tables: DeltaTables, table: Table, rows: Rows, key: RunKey) -> DataFrame | pa.Table:
    if isinstance(rows, DataFrame):
        identity = {name: F.lit(value) for name, value in asdict(key).items()}
        whole = rows.withColumns(identity | twin_columns(table))
        return whole.select(*(F.col(field.name).cast(field.dataType) for field in table.schema))
    return tables.rows(
        table, [{**asdict(key), **row} if isinstance(row, Mapping) else table_row(key, row) for row in rows]
    )


def default_run_id(at_ms: int, digest: str) -> str:
    """Returns `<UTC yyyymmddThhmmssZ>-<8 hex of the digest of the input>`."""
    return f"{compact_instant(at_ms)}-{digest[:8]}"


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job on one cluster.

    Attributes:
        key: the identity columns of its rows.
        at_ms: the time of the examined data, ms since the epoch.
        acknowledged: acknowledged findings in the configuration.
    """

    key: RunKey
    at_ms: int
    acknowledged: tuple[Acknowledgement, ...] = ()

    def record(
        self,
        lake: JobLake,
        writes: Sequence[tuple[Table, Rows]],
        found: Iterable[FindingRow],
        runs: Table | None = None,
    ) -> tuple[FindingRow, ...]:
        """Writes the rows of the run and its findings.

        Args:
            lake: of the job.
            writes: the rows of each table.
            found: what the run found.
            runs: see `LakeReader.findings_before`.

        Returns:
            The findings, compared with those of earlier runs, errors first.

        Raises:
            UnavailableError: the lake cannot be read or written.
        """
        lake.ensure([*(table for table, _ in writes), FINDINGS])
        findings = dated(found, self.at_ms, lake.findings_before(self.key, runs), self.acknowledged)
        self.write(lake, [*writes, (FINDINGS, findings)])
        return findings

    def write(self, lake: JobLake, writes: Sequence[tuple[Table, Rows]]) -> None:
        """Writes the rows of a run without findings.

        Raises:
            UnavailableError: the lake cannot be written.
        """
        lake.ensure(table for table, _ in writes)
        lake.replace(writes, self.key)

    def answer(
        self,
        own: Mapping[str, object],
        lines: Iterable[str],
        findings: Sequence[FindingRow] | None = None,
        exit_code: int | None = None,
    ) -> JobResult:
        """Returns the result of the job.

        Args:
            own: the job's own part of the JSON object.
            lines: the text.
            findings: those of the run; None = `own` has them, or the job has none.
            exit_code: None = 5 if an error finding is new and not acknowledged, else 0.
        """
        if exit_code is None:
            exit_code = EXIT_PARTIAL if has_new_error(findings or ()) else EXIT_DONE
        result: dict[str, object] = {"cluster": self.key.cluster, "run_id": self.key.run_id, **own}
        if findings is not None:
            result["findings"] = [asdict(row) for row in findings]
        return JobResult(exit_code, result, "\n".join(lines) + "\n")
