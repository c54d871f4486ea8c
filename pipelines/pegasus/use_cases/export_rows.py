"""split-export: writes the rows of every partition as they lie."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.common.human import human_count
from pipelines.common.instants import format_instant
from pipelines.common.job_result import JobResult
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.offline.plan import OfflineSplitOptions, OldPartition, PartitionResult
from pipelines.pegasus.domain.offline.ranges import SplitTask
from pipelines.pegasus.domain.values import as_version_1
from pipelines.pegasus.use_cases.frame import deliver, is_refused
from pipelines.pegasus.use_cases.open_partition import OpenPartition, PartitionTools
from pipelines.pegasus.use_cases.run_split import output_lines
from schemas.split_manifest import SPLIT_MANIFEST


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The result of an export.

    Attributes:
        app: the name of the table.
        location: the directory of the output; None = there is none, because it might lack rows.
        doubts: the findings about the export.
        backup_ms: when the cold backup that was read began; None = it is unknown, or there is none.
        is_earlier: whether an earlier run has written the output.
    """

    app: str
    location: str | None
    parts: Sequence[PartitionResult]
    doubts: Sequence[FindingRow] = ()
    backup_ms: int | None = None
    is_earlier: bool = False


def export_partition(
    task: SplitTask, source: OldPartition, rules: OfflineSplitOptions, tools: PartitionTools
) -> PartitionResult:
    """Writes every row of a range of one partition: also copies of other partitions, expired, malformed and empty ones.

    Values of data version 0 become version 1, as in a split; those that are too short for a header stay as they are.

    Raises:
        UsageError, UnavailableError: the data cannot be opened.
        RefusedError: the log lacks a committed decree, is broken, or cannot be replayed.
    """
    with tools.open_db(source) as database:
        opened, is_new = OpenPartition(source, database, rules, tools), database.data_version > 0
        for rows in opened.batches(task):
            new = rows if is_new else [(key, as_version_1(value) or value) for key, value in rows]
            tools.sink.put(source.partition, new)
        tail = opened.tail
        return PartitionResult(
            source.partition, tools.sink.close(), opened.read, tail.writes, database.flushed, tail.last,
            left_out=tail.left_out, logs=tuple(opened.logs),
        )  # fmt: skip


def tell_export(run: JobRun, export: ExportResult, lake: JobLake) -> JobResult:
    """Writes the manifest table and returns the result; see `deliver` for the exit code."""
    files = [file for part in export.parts for file in part.files] if export.location else []
    rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
    read, logged = sum(part.read for part in export.parts), sum(part.logged for part in export.parts)
    result = {
        "app": export.app,
        "location": export.location,
        "backup_ms": export.backup_ms,
        "partitions": len(export.parts),
        "files": len(files),
        "bytes": size,
        "rows": rows,
        "read": read,
        "logged": logged,
        "resumed": sum(part.resumed for part in export.parts),
    }
    what = f"table {export.app}: {human_count(len(export.parts), 'partition')}"
    refused = is_refused(run, export.doubts)
    lines = [
        *output_lines(what, export.location, files, is_earlier=export.is_earlier, is_refused=refused),
        f"  read {read:,} rows, {logged:,} writes of private logs",
    ]
    if export.backup_ms is not None:
        lines.append(f"  the cold backup began at {format_instant(export.backup_ms)}: it may lack later writes")
    return deliver(run, lake, [(SPLIT_MANIFEST, files)], export.doubts, result, lines)
