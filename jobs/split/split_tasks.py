"""Does the work of split-run and split-export in Spark tasks, and takes over what an earlier run has finished."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

from jobs.cli.context import JobContext
from pipelines.common.errors import UnavailableError, WalsafeError
from pipelines.common.version import VERSION
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors
from pipelines.files.hadoop_listing import HadoopListing
from pipelines.pegasus.domain.offline.model import OfflineSplitOptions, OldPartition, PartitionCounts, PartitionResult
from pipelines.pegasus.domain.offline.ranges import SplitTask, joined, tasks_of
from pipelines.pegasus.sinks.part_files import PartitionFiles
from pipelines.pegasus.sinks.split_output import SplitOutput, StagedPart, StagedParts
from pipelines.pegasus.sources.cold_backup import check_backup_files
from pipelines.pegasus.sources.replica_db import opened_db
from pipelines.pegasus.sources.written_rows import files_below
from pipelines.pegasus.use_cases.offline_partition import with_empty_writes

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class SplitInputs:
    """The inputs of a split or an export.

    Attributes:
        groups: the old partitions that have to be read together.
        sources: all old partitions, by index.
        prints: the digest of the inputs of every old partition.
        of_backup: whether the sources are checkpoints of a cold backup.
    """

    groups: Sequence[range]
    sources: Sequence[OldPartition]
    prints: Mapping[int, str]
    of_backup: bool = False


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


def finished_parts(
    context: JobContext,
    output: SplitOutput,
    inputs: SplitInputs,
    rules: OfflineSplitOptions,
    work: Callable[[SplitTask, PartitionFiles], list[PartitionResult]],
) -> StagedParts:
    """Does every task that no earlier run has finished: a Spark task for each range of keys of each group.

    Args:
        context: the job.
        output: the place of the result.
        inputs: the old partitions.
        rules: the options.
        work: the executor's function; it reads the range of a task and writes its files.

    Returns:
        The results of all partitions.

    Raises:
        UsageError, RefusedError, UnavailableError: the error of the first task that fails.
    """
    published = output.begin()
    if published is not None:
        return published

    def attempt(task: SplitTask) -> StagedPart:
        kept = output.kept(task, inputs.prints)
        if kept is not None:
            return kept
        folder = output.part(task.name)
        done = work(task, _files(folder, task.name, task.group[0], rules))
        return output.keep(folder, task, done, inputs.prints)

    def divided(group: range) -> list[SplitTask]:
        pieces = []
        for index in group:
            if inputs.of_backup:
                check_backup_files(inputs.sources[index].database)
            with opened_db(inputs.sources[index].database) as database:
                pieces += database.pieces(rules.task_bytes)
        return tasks_of(group, pieces, rules.task_bytes)

    large = [group for group in inputs.groups if _bytes(inputs.sources, group) > rules.task_bytes]
    ranges = dict(zip(large, _done(context, output, large, divided), strict=True))
    tasks = [task for group in inputs.groups for task in ranges.get(group, [SplitTask(group)])]
    output.tidy(tasks, inputs.prints)
    done = _done(context, output, tasks, attempt)
    folders = {task.name: part.folder for task, part in zip(tasks, done, strict=True)}
    return StagedParts(list(joined(chain.from_iterable(part.results for part in done))), folders)


def filled_parts(
    output: SplitOutput, staged: StagedParts, counts: PartitionCounts, rules: OfflineSplitOptions
) -> StagedParts:
    """Returns the results with a file for each new partition without rows; see `with_empty_writes`.

    Raises:
        UnavailableError: a file cannot be written.
    """
    folders = dict(staged.folders)

    def files(first: int) -> PartitionFiles:
        name = f"{first}-empty"
        folder = output.part(name)
        folders[name] = folder.name
        return _files(folder, name, first, rules)

    with _disk_named(output):
        return StagedParts(with_empty_writes(staged.results, counts, files), folders)


def _bytes(sources: Sequence[OldPartition], group: range) -> int:
    """Returns the bytes of the SSTs of a group; 0 if they are remote, because each task would copy all of them."""
    mine = (sources[index] for index in group)
    return sum(path.stat().st_size for one in mine if not one.is_remote for path in Path(one.database).glob("*.sst"))


def _files(folder: Path, name: str, first: int, rules: OfflineSplitOptions) -> PartitionFiles:
    return PartitionFiles(folder, first, rules.file_bytes, parquet=rules.parquet, name=name)


def _done(
    context: JobContext, output: SplitOutput, items: Sequence[_Item], work: Callable[[_Item], _Answer]
) -> list[_Answer]:
    """Calls a function for each item in a Spark task of its own; raises the error of the first that fails."""

    def guarded(item: _Item) -> _Answer | WalsafeError:
        try:
            with _disk_named(output):
                return work(item)
        except WalsafeError as error:  # an error of Spark would hide it
            return error

    if not items:
        return []
    answers = context.spark.sparkContext.parallelize(items, len(items)).map(guarded).collect()
    found: list[_Answer] = []
    for answer in answers:
        if isinstance(answer, WalsafeError):
            raise answer
        found.append(answer)
    return found


@contextmanager
def _disk_named(output: SplitOutput) -> Iterator[None]:
    """Turns errors of the file system into UnavailableError."""
    try:
        yield
    except OSError as error:
        said = error.strerror or str(error)
        raise UnavailableError(f"{error.filename or output.staging}: {said}; start again, and it goes on") from None


def _local_files(folder: str) -> list[tuple[str, int, int]]:
    """Returns path, size and time of each file."""
    found = [path for path in files_below(folder) if path.is_file()]
    return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in found]


def _remote_files(folder: str, hadoop: HadoopJvm) -> list[tuple[str, int, int]]:
    with java_errors(folder):
        listing = HadoopListing(hadoop, hadoop.path(folder).getFileSystem(hadoop.conf))
        found = [file for page in listing.pages(folder) for file in page if file.is_file]
    return sorted((f"{folder}/{file.name}", file.length, file.modification_time) for file in found)
