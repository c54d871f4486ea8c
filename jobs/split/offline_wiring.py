"""Wires split-run and split-export: RocksDB and SST files through rocksdict, in Spark tasks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from jobs.cli.context import JobContext
from jobs.split.split_tasks import SplitInputs, digest, filled_parts, fingerprint, finished_parts
from pipelines.common.errors import UsageError
from pipelines.files.executor_streams import fetched_directory
from pipelines.files.file_reader import FileReader, LocalFileReader, file_reader_for
from pipelines.files.hadoop_jvm import HadoopJvm, hadoop_configuration
from pipelines.files.local_paths import path_here
from pipelines.lake.job_run import JobRun
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.offline.doubts import doubts_of, input_doubts
from pipelines.pegasus.domain.offline.model import (
    OfflineSplitOptions,
    OldPartition,
    PartitionCounts,
    PartitionResult,
    backup_began,
    created_with,
)
from pipelines.pegasus.domain.offline.ranges import SplitTask
from pipelines.pegasus.domain.private_log.names import Gpid
from pipelines.pegasus.domain.rows import Placement
from pipelines.pegasus.sinks.part_files import PartitionFiles
from pipelines.pegasus.sinks.split_output import SplitOutput, StagedParts
from pipelines.pegasus.sources.cold_backup import backup_of, check_backup_files
from pipelines.pegasus.sources.parquet_rows import check_rows, opened_rows
from pipelines.pegasus.sources.replica_db import ReplicaDb, opened_db
from pipelines.pegasus.sources.replica_logs import ReplicaLogs
from pipelines.pegasus.sources.replica_tree import find_old_partitions
from pipelines.pegasus.use_cases.export_rows import export_partition
from pipelines.pegasus.use_cases.frame import refusals
from pipelines.pegasus.use_cases.offline_partition import split_partitions
from pipelines.pegasus.use_cases.open_partition import PartitionTools
from pipelines.pegasus.use_cases.run_split import OfflineResult

OpenSource: TypeAlias = Callable[[OldPartition], AbstractContextManager[ReplicaDb]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineRequest:
    """The input of a split or an export: exactly one of replicas, backup and rows is set; an export has no rows.

    Attributes:
        app_id: the id of the table.
        app: the name of the table; for a split, of the one that is to be loaded.
        count: the number of its partitions now.
    """

    replicas: str | None
    backup: str | None
    rows: str | None = None
    app_id: int
    app: str
    cluster: str
    count: int
    rules: OfflineSplitOptions
    out: str


def split_offline(
    context: JobContext,
    request: OfflineRequest,
    run: JobRun,
    counts: PartitionCounts,
    target_id: int | None,
    data_version: int | None,
) -> OfflineResult:
    """Splits every partition that no earlier run has finished, and publishes the result if nothing speaks against it.

    Args:
        context: the job.
        request: the input.
        run: the identity of the run.
        counts: the partition counts.
        target_id: the id of the table that is to be loaded; None = the output is Parquet.
        data_version: the `pegasus_data_version` of the values in `rows`; None = what their manifest says.

    Raises:
        UsageError, RefusedError, UnavailableError: the error of the first partition that cannot be split.
    """
    # a database states its own version
    version = 1 if request.rows is None else check_rows(request.rows, counts.old, data_version)
    sources = _sources(context, request)
    rules = _rules(request, sources)

    def split(hadoop_conf: str, task: SplitTask, files: PartitionFiles) -> list[PartitionResult]:
        tools = _partition_tools(request.app_id, _opener(request, task, hadoop_conf, version), hadoop_conf, files)
        return split_partitions(task, sources, counts, rules, tools)

    def publish(output: SplitOutput, staged: StagedParts) -> StagedParts:
        if not rules.parquet:
            staged = filled_parts(output, staged, counts, rules)
        target = request.app_id if target_id is None else target_id
        output.publish(target, request.app, counts.new, staged, parquet=rules.parquet)
        return staged

    return _finished(
        context, replace(request, rules=rules), run, sources, given=[repr(counts), request.app_id, version],
        target=[target_id], groups=counts.groups(), work=split, doubts=doubts_of, publish=publish,
    )  # fmt: skip


def export_table(context: JobContext, request: OfflineRequest, run: JobRun) -> OfflineResult:
    """Exports every partition that no earlier run has finished, and publishes the result if it has all rows.

    Raises:
        UsageError, RefusedError, UnavailableError: the error of the first partition that cannot be exported.
    """
    sources = _sources(context, request)

    def export(hadoop_conf: str, task: SplitTask, files: PartitionFiles) -> list[PartitionResult]:
        opener = _database_opener(task, hadoop_conf, of_backup=request.backup is not None)
        tools = _partition_tools(request.app_id, opener, hadoop_conf, files)
        return [export_partition(task, sources[index], request.rules, tools) for index in task.group]

    def publish(output: SplitOutput, staged: StagedParts) -> StagedParts:
        output.publish(request.app_id, request.app, request.count, staged, parquet=True)
        return staged

    groups = [range(index, index + 1) for index in range(request.count)]
    return _finished(
        context, request, run, sources, given=["export as version 1", request.app_id], target=[], groups=groups,
        work=export, doubts=input_doubts, publish=publish,
    )  # fmt: skip


def _finished(
    context: JobContext,
    request: OfflineRequest,
    run: JobRun,
    sources: Sequence[OldPartition],
    *,
    given: list[object],
    target: list[object],
    groups: Sequence[range],
    work: Callable[[str, SplitTask, PartitionFiles], list[PartitionResult]],
    doubts: Callable[..., Iterator[FindingRow]],
    publish: Callable[[SplitOutput, StagedParts], StagedParts],
) -> OfflineResult:
    """Does the work that no earlier run has finished, and publishes the output if no finding refuses it.

    Args:
        context: the job.
        request: the input.
        run: the identity of the run.
        sources: the old partitions.
        given: what the results of the tasks depend on besides the files and the rules.
        target: what the output depends on besides.
        groups: the old partitions that have to be read together.
        work: the executor's function, see `finished_parts`; before its arguments, the Hadoop configuration.
        doubts: returns the findings by name of the table, sources and results.
        publish: publishes the output, and returns the results of what was published.
    """
    hadoop = HadoopJvm.of(context.spark) if any(source.is_remote for source in sources) else None
    done = partial(work, hadoop_configuration(hadoop) if hadoop else "")
    prints = {source.partition: fingerprint(source, request.rules, given, hadoop) for source in sources}
    output = SplitOutput(request.out, request.cluster, request.app, digest([*prints.values(), *target]))
    inputs = SplitInputs(groups, sources, prints, request.backup is not None)
    with output.lock():
        staged = finished_parts(context, output, inputs, request.rules, done)
        of_replicas = request.replicas is not None
        found = tuple(doubts(request.app, sources, staged.results, of_replicas=of_replicas))
        is_output = staged.published or not refusals(run, found)
        if is_output and not staged.published:
            staged = publish(output, staged)
    location = str(output.final) if is_output else None
    began = None if request.backup is None else backup_began(sources)
    return OfflineResult(request.app, location, staged.results, found, began, staged.published)


def _partition_tools(app_id: int, opener: OpenSource, hadoop_conf: str, files: PartitionFiles) -> PartitionTools:
    """Returns the tools of a task that reads partitions of a table and writes these files."""

    @contextmanager
    def logs(source: OldPartition) -> Iterator[ReplicaLogs]:
        given = str(source.logs)
        with fetched_directory(given, hadoop_conf) if source.is_remote else nullcontext(given) as folder:
            gpid = Gpid(app_id, source.partition)
            yield ReplicaLogs(folder, gpid, source.valid_offset, node=given.rsplit("/", 2)[0])

    return PartitionTools(opener, logs, files)


def place_of(context: JobContext, given: str) -> tuple[FileReader, str]:
    """Returns what reads a directory, local or on a file system that Spark knows, and its absolute path or URI."""
    if (here := path_here(given)) is not None:
        return LocalFileReader(), str(here.absolute())
    files = file_reader_for(context.spark, given)
    return files, files.qualified(given)


def _database_opener(task: SplitTask, hadoop_conf: str, *, of_backup: bool) -> OpenSource:
    """Returns the function that opens the database of a partition; it checks the files of a cold backup first.

    The files of partitions that are divided among tasks were checked before that.
    """

    @contextmanager
    def opened(source: OldPartition) -> Iterator[ReplicaDb]:
        given = source.database
        with fetched_directory(given, hadoop_conf) if source.is_remote else nullcontext(given) as folder:
            if of_backup and task.number is None:
                check_backup_files(folder)
            with opened_db(folder) as database:
                yield database

    return opened


def _sources(context: JobContext, request: OfflineRequest) -> list[OldPartition]:
    if request.replicas is not None:
        return find_old_partitions(*place_of(context, request.replicas), request.app_id, request.count)
    if request.rows is not None:
        return [OldPartition(partition, request.rows) for partition in range(request.count)]
    return backup_of(*place_of(context, str(request.backup)), request.app_id, request.count)


def _rules(request: OfflineRequest, sources: Sequence[OldPartition]) -> OfflineSplitOptions:
    """Returns the options; without `--created-with`, the files of the table state the number.

    Raises:
        UsageError: no table can have the stated number.
    """
    stated = created_with(sources)
    if request.rules.created_with is not None or stated is None:
        return request.rules
    try:
        Placement(request.count, stated)
    except UsageError as error:
        raise UsageError(f"init_partition_count of the table's files: {error}. Give --created-with") from None
    return replace(request.rules, created_with=stated)


def _opener(request: OfflineRequest, task: SplitTask, hadoop_conf: str, version: int) -> OpenSource:
    if request.rows is None:
        return _database_opener(task, hadoop_conf, of_backup=request.backup is not None)
    return lambda source: opened_rows(source.database, source.partition, version)
