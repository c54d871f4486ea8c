"""split-export: writes the rows of every partition as they lie."""

from pipelines.common.human import human_count
from pipelines.common.job_result import JobResult
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.pegasus.domain.offline.model import OfflineSplitOptions, OldPartition, PartitionResult
from pipelines.pegasus.domain.offline.ranges import SplitTask
from pipelines.pegasus.domain.values import as_version_1
from pipelines.pegasus.use_cases.frame import deliver
from pipelines.pegasus.use_cases.open_partition import OpenPartition, PartitionTools
from pipelines.pegasus.use_cases.run_split import OfflineResult, output_lines
from schemas.split_manifest import SPLIT_MANIFEST


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
            source.partition,
            tools.sink.close(),
            read=opened.read,
            logged=tail.writes,
            flushed=database.flushed,
            committed=tail.last,
            left_out=tail.left_out,
            logs=tuple(opened.logs),
        )


def tell_export(run: JobRun, export: OfflineResult, lake: JobLake) -> JobResult:
    """Writes the manifest table and returns the result; see `deliver` for the exit code."""
    result = {
        "app": export.app,
        "location": export.location,
        "backup_ms": export.backup_ms,
        "partitions": len(export.parts),
        "files": len(export.files),
        "bytes": sum(file.bytes for file in export.files),
        "rows": sum(file.rows for file in export.files),
        "read": export.count("read"),
        "logged": export.count("logged"),
        "resumed": export.count("resumed"),
    }
    lines = output_lines(run, export, f"table {export.app}: {human_count(len(export.parts), 'partition')}")
    return deliver(run, lake, [(SPLIT_MANIFEST, export.files)], export.doubts, result, lines)
