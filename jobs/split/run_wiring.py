"""Wires split-run: RocksDB and SST files through rocksdict, in Spark tasks for ranges of old partitions."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TypeAlias

from jobs.cli.context import JobContext
from jobs.cli.local_paths import path_here
from jobs.split.split_tasks import SplitInputs, filled_parts, finished_parts
from pipelines.common.errors import UsageError
from pipelines.common.version import VERSION
from pipelines.files.executor_streams import fetched_directory
from pipelines.files.file_reader import FileReader, LocalFileReader, file_reader_for
from pipelines.files.hadoop_jvm import HadoopJvm, hadoop_configuration, java_errors
from pipelines.files.hadoop_listing import HadoopListing
from pipelines.lake.job_run import JobRun
from pipelines.pegasus.domain.offline.doubts import doubts_of
from pipelines.pegasus.domain.offline.plan import (
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
from pipelines.pegasus.sinks.split_output import SplitOutput
from pipelines.pegasus.sources.cold_backup import backup_of, check_backup_files
from pipelines.pegasus.sources.parquet_rows import check_rows, opened_rows
from pipelines.pegasus.sources.replica_db import ReplicaDb, opened_db
from pipelines.pegasus.sources.replica_logs import ReplicaLogs
from pipelines.pegasus.sources.replica_tree import find_old_partitions
from pipelines.pegasus.sources.written_rows import files_below
from pipelines.pegasus.use_cases.frame import refusals
from pipelines.pegasus.use_cases.offline_partition import split_partitions
from pipelines.pegasus.use_cases.open_partition import PartitionTools
from pipelines.pegasus.use_cases.run_split import OfflineResult

OpenSource: TypeAlias = Callable[[OldPartition], AbstractContextManager[ReplicaDb]]


@dataclass(frozen=True, slots=True)
class OfflineSplitRequest:
    """The input of one offline split: exactly one of replicas, backup and rows is set.

    Attributes:
        app_id: the id of the table.
        app: the name of the table that is to be loaded.
        target_id: the id of the table that is to be loaded; None = the output is Parquet.
        data_version: the `pegasus_data_version` of the values in `rows`; None = what their manifest says.
    """

    replicas: str | None
    backup: str | None
    rows: str | None
    app_id: int
    app: str
    cluster: str
    counts: PartitionCounts
    rules: OfflineSplitOptions
    out: str
    target_id: int | None = None
    data_version: int | None = None


def split_offline(context: JobContext, request: OfflineSplitRequest, run: JobRun) -> OfflineResult:
    """Splits every partition that no earlier run has finished, and publishes the result if nothing speaks against it.

    Raises:
        UsageError, RefusedError, UnavailableError: the error of the first partition that cannot be split.
    """
    # a database states its own version
    version = 1 if request.rows is None else check_rows(request.rows, request.counts.old, request.data_version)
    sources = _sources(context, request)
    rules = _rules(request, sources)
    hadoop = hadoop_for(context, sources)
    hadoop_conf = hadoop_configuration(hadoop) if hadoop else ""
    given = [repr(request.counts), request.app_id, version]
    prints = {source.partition: fingerprint(source, rules, given, hadoop) for source in sources}
    output = SplitOutput(request.out, request.cluster, request.app, digest([*prints.values(), request.target_id]))

    def split(task: SplitTask, files: PartitionFiles) -> list[PartitionResult]:
        tools = partition_tools(request.app_id, _opener(request, task, hadoop_conf, version), hadoop_conf, files)
        return split_partitions(task, sources, request.counts, rules, tools)

    inputs = SplitInputs(request.counts.groups(), sources, prints, request.backup is not None)
    with output.lock():
        staged = finished_parts(context, output, inputs, rules, split)
        doubts = tuple(doubts_of(request.app, sources, staged.results, of_replicas=request.replicas is not None))
        is_output = staged.published or not refusals(run, doubts)
        if is_output and not staged.published:
            target = request.app_id if request.target_id is None else request.target_id
            if not rules.parquet:
                staged = filled_parts(output, staged, request.counts, rules)
            output.publish(target, request.app, request.counts.new, staged, parquet=rules.parquet)
    location = str(output.final) if is_output else None
    began = None if request.backup is None else backup_began(sources)
    return OfflineResult(request.app, location, staged.results, doubts, began, staged.published)


def digest(told: object) -> str:
    """Returns the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def fingerprint(
    source: OldPartition, rules: OfflineSplitOptions, given: object, hadoop: HadoopJvm | None = None
) -> str:
    """Returns a digest of the inputs of a part.

    It has names, sizes and times of the files, what `.init-info` demands, the rules, and what is given.
    """
    files = []
    for folder in filter(None, (source.database, source.logs)):
        listed = _remote_files(folder, hadoop) if source.is_remote and hadoop else _local_files(folder)
        files += [file for file in listed if not file[0].endswith("/LOCK")]
    # the time differs between attempts
    init = [source.valid_offset, source.durable_decree]
    return digest([VERSION, files, init, repr(replace(rules, now_s=0)), given])


def partition_tools(app_id: int, opener: OpenSource, hadoop_conf: str, files: PartitionFiles) -> PartitionTools:
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


def hadoop_for(context: JobContext, sources: Sequence[OldPartition]) -> HadoopJvm | None:
    """Returns the JVM with which remote directories are listed and copied; None = there are none."""
    return HadoopJvm.of(context.spark) if any(source.is_remote for source in sources) else None


def database_opener(task: SplitTask, hadoop_conf: str, *, of_backup: bool) -> OpenSource:
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


def _sources(context: JobContext, request: OfflineSplitRequest) -> list[OldPartition]:
    if request.replicas is not None:
        return find_old_partitions(*place_of(context, request.replicas), request.app_id, request.counts.old)
    if request.rows is not None:
        return [OldPartition(partition, request.rows) for partition in range(request.counts.old)]
    return backup_of(*place_of(context, str(request.backup)), request.app_id, request.counts.old)


def _rules(request: OfflineSplitRequest, sources: Sequence[OldPartition]) -> OfflineSplitOptions:
    """Returns the options; without `--created-with`, the files of the table state the number.

    Raises:
        UsageError: no table can have the stated number.
    """
    stated = created_with(sources)
    if request.rules.created_with is not None or stated is None:
        return request.rules
    try:
        Placement(request.counts.old, stated)
    except UsageError as error:
        raise UsageError(f"init_partition_count of the table's files: {error}. Give --created-with") from None
    return replace(request.rules, created_with=stated)


def _opener(request: OfflineSplitRequest, task: SplitTask, hadoop_conf: str, version: int) -> OpenSource:
    if request.rows is None:
        return database_opener(task, hadoop_conf, of_backup=request.backup is not None)
    return lambda source: opened_rows(source.database, source.partition, version)


def _local_files(folder: str) -> list[tuple[str, int, int]]:
    """Returns path, size and time of each file."""
    found = [path for path in files_below(folder) if path.is_file()]
    return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in found]


def _remote_files(folder: str, hadoop: HadoopJvm) -> list[tuple[str, int, int]]:
    with java_errors(folder):
        listing = HadoopListing(hadoop, hadoop.path(folder).getFileSystem(hadoop.conf))
        found = [file for page in listing.pages(folder) for file in page if file.is_file]
    return sorted((f"{folder}/{file.name}", file.length, file.modification_time) for file in found)
