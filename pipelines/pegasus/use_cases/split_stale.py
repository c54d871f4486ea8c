"""split-stale: predicts what the compaction filter does with the rows of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from pipelines.common.human import human_bytes
from pipelines.common.job_result import JobResult
from pipelines.common.text import text_table
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.pegasus.domain.stale import FilterSettings, StaleRow, stale_findings, sum_by_fate
from pipelines.pegasus.sources.row_files import ParquetRows
from pipelines.pegasus.transforms.row_tally import ExamineSettings, check_tallies
from pipelines.pegasus.use_cases.frame import deliver
from schemas.split_stale import SPLIT_STALE

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class StaleRequest:
    """The input of the job.

    Attributes:
        table: the name of the Pegasus table.
        uri: the directory of its rows.
        settings: the settings of the filter.
        at_ms: the time of the compaction, ms since the epoch.
    """

    table: str
    uri: str
    settings: FilterSettings
    at_ms: int


def split_stale(request: StaleRequest, rows: ParquetRows, run: JobRun, lake: JobLake) -> JobResult:
    """Predicts the compaction, reports and writes.

    Returns:
        Exit code 3 if the filter would leave copies forever or drop rows that belong to their partition, or if rows
        lie in partitions that never owned them; else 0.

    Raises:
        UsageError: the rows do not belong to a table with this partition count.
    """
    settings = request.settings
    question = ExamineSettings(settings.placement, settings.groups, request.at_ms // 1000)
    tallies = check_tallies(rows.tally(request.uri, question), request.uri, settings.placement)
    found = sum_by_fate(request.table, tallies, settings)
    dropped = [row for row in found if row.is_dropped]
    result = {
        "table": request.table,
        "dropped_rows": sum(row.rows for row in dropped),
        "dropped_bytes": sum(row.bytes for row in dropped),
        "stale_rows": sum(row.rows for row in found if row.is_stale),
        "stale_bytes": sum(row.bytes for row in found if row.is_stale),
        "fates": [asdict(row) for row in found],
    }
    findings = stale_findings(request.table, tallies, settings)
    return deliver(run, lake, [(SPLIT_STALE, found)], findings, result, _lines(request.table, found))


def _lines(table: str, rows: Sequence[StaleRow]) -> Iterator[str]:
    whole = sum(row.bytes for row in rows)
    dropped = sum(row.bytes for row in rows if row.is_dropped)
    share = f"{100 * dropped / whole:.0f} %" if whole else "nothing"
    yield f"table {table}: compaction takes {human_bytes(dropped)} of {human_bytes(whole)} ({share})"
    yield ""
    shown = []
    for row in rows[:_SHOWN]:
        mark = " (of another partition)" if row.is_stale and not row.is_dropped else ""
        shown.append((str(row.partition_index), row.rows, human_bytes(row.bytes), f"{row.fate}{mark}"))
    yield from text_table("  {:>9} {:>14} {:>12}  {:<}", [("partition", "rows", "bytes", "fate"), *shown])
    if len(rows) > _SHOWN:
        yield f"  … and {len(rows) - _SHOWN:,} lines more; with --lake, table split_stale has every one"
