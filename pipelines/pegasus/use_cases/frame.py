"""The common last step of every split job: identity, tables, findings, exit code and text."""

import hashlib
import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.common.acknowledgement import Acknowledgement
from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED
from pipelines.common.job_result import JobResult
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.past_findings import LakeFindings
from pipelines.lake.run_summary import FindingRow, RunKey, table_row
from pipelines.pegasus.domain.report import in_order, is_proven
from schemas.findings import FINDINGS
from schemas.table import Table

_WIDTH, _INDENT = 120, " " * 13


@dataclass(frozen=True, slots=True)
class SplitRun:
    """Identity of a run.

    Attributes:
        job: the name of the job; run ids end with it.
        at_ms: the time of the examined data, ms since the epoch.
        inputs: everything that distinguishes this run from another of the same time.
        run_id: the run id that the caller gave; None = it is made from the other attributes.
        acknowledged: acknowledged findings in the configuration.
    """

    job: str
    cluster: str
    at_ms: int
    inputs: object = None
    run_id: str | None = None
    acknowledged: tuple[Acknowledgement, ...] = ()

    @property
    def key(self) -> RunKey:
        """Returns the identity columns of the run's rows."""
        digest = hashlib.sha256(json.dumps(self.inputs, sort_keys=True, default=str).encode()).hexdigest()[:8]
        stamp = datetime.fromtimestamp(self.at_ms // 1000, timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        return RunKey.of(self.cluster, self.run_id or f"{stamp}-{digest}-{self.job}", self.at_ms)


@dataclass(frozen=True, slots=True)
class SplitPorts:
    """The tables that a split job writes, and the past findings that it reads.

    None = the job does not use this port.
    """

    tables: DeltaTables | None = None
    past: LakeFindings | None = None


Rows = DataFrame | Sequence[Any]
"""Values whose fields are the columns, or a DataFrame of them; identity columns are added."""


def deliver(
    run: SplitRun,
    ports: SplitPorts,
    writes: Sequence[tuple[Table, Rows]],
    found: Iterable[FindingRow],
    result: Mapping[str, object],
    lines: Iterable[str],
) -> JobResult:
    """Writes the tables and returns the result of the job.

    Args:
        run: the identity of the run.
        ports: where to write.
        writes: the tables and their rows.
        found: the findings.
        result: the job's own part of the result object.
        lines: the job's own part of the text.

    Returns:
        Exit code 3 if there is an error finding that is not acknowledged (a blocker or a proven difference), else 0.
    """
    key, sink = run.key, ports.tables
    if sink is not None:
        sink.ensure([*(table for table, _ in writes), FINDINGS])
    before = ports.past.findings_before(key) if ports.past is not None else {}
    findings = in_order(found, run.at_ms, before, run.acknowledged)
    if sink is not None:
        frames = {table.name: _frame(sink, table, rows, key) for table, rows in writes}
        frames[FINDINGS.name] = sink.frame(FINDINGS, [table_row(key, row) for row in findings])
        sink.replace(frames, [key])
    document = {
        "cluster": key.cluster,
        "run_id": key.run_id,
        "run_date": key.run_date.isoformat(),
        **result,
        "findings": [{**asdict(row), "evidence": json.loads(row.evidence)} for row in findings],
    }
    text = "\n".join([*lines, *_finding_lines(findings)]) + "\n"
    return JobResult(EXIT_REFUSED if is_proven(findings) else EXIT_DONE, document, text)


def _frame(sink: DeltaTables, table: Table, rows: Rows, key: RunKey) -> DataFrame:
    if not isinstance(rows, DataFrame):
        named = [{field.name: getattr(row, field.name) for field in fields(row)} for row in rows]
        return sink.frame(table, [{**asdict(key), **row} for row in named])
    identity = {name: F.lit(value) for name, value in asdict(key).items()}
    return rows.withColumns(identity).select(*(F.col(field.name).cast(field.dataType) for field in table.schema))


def _finding_lines(findings: Sequence[FindingRow]) -> Iterable[str]:
    for row in findings:
        yield ""
        yield f"  {row.severity:<8} {row.code}{', acknowledged' if row.acknowledged else ''}"
        for words in (row.message, f"-> {row.remedy}"):
            yield textwrap.fill(
                words, _WIDTH, initial_indent=_INDENT, subsequent_indent=f"{_INDENT}   ", break_long_words=False,
                break_on_hyphens=False,
            )  # fmt: skip
    if not findings:
        yield ""
        yield "  no finding"
