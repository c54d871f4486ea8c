"""Splits old partitions offline: writes the rows of their data and logs to files of the new partitions."""

import gc
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from pipelines.pegasus.domain.keys import escape_bytes
from pipelines.pegasus.domain.offline.copies import CopyProblem, copy_problem
from pipelines.pegasus.domain.offline.merge import row_batches
from pipelines.pegasus.domain.offline.model import (
    SAMPLES,
    OfflineSplitOptions,
    OldPartition,
    PartitionCounts,
    PartitionResult,
    UnprovenCopies,
)
from pipelines.pegasus.domain.offline.ranges import SplitTask
from pipelines.pegasus.domain.rows import Placement
from pipelines.pegasus.domain.values import EPOCH_S, NEWEST, as_version_1, header_bytes, value_version
from pipelines.pegasus.sinks.part_files import PartitionFiles
from pipelines.pegasus.transforms.crc64_columns import Hashes
from pipelines.pegasus.transforms.key_columns import KeyHashes, column_of, key_hashes, partition_indexes
from pipelines.pegasus.use_cases.open_partition import BATCH, OpenPartition, PartitionTools, Row

_LONGEST_HEADER = header_bytes(NEWEST)
_EMPTY_WRITE = (b"", bytes(12))
"""The record of an empty write in version 1: no client can read it, and compaction keeps it."""
Batch = tuple[list[Row], Hashes]
"""Rows in key order, and the hash of each key."""


def split_partitions(
    task: SplitTask,
    sources: Sequence[OldPartition],
    counts: PartitionCounts,
    rules: OfflineSplitOptions,
    tools: PartitionTools,
) -> list[PartitionResult]:
    """Splits the keys of a task into the new partitions of its old partitions.

    It leaves out rows whose hash belongs to another old partition, and counts those that this may lose.

    Args:
        task: the old partitions to split, see `PartitionCounts.groups`, and the range of their keys.
        sources: all old partitions of the table, by index.
        counts: the partition counts.
        rules: the options.
        tools: opens the old partitions and writes the new ones.

    Raises:
        UsageError, UnavailableError: the data cannot be opened.
        RefusedError: the log lacks a committed decree, is broken, or cannot be replayed.
    """
    with ExitStack() as stack:
        stack.enter_context(_no_collection())
        opened = _Opened(sources, rules, tools, stack)
        readers = [_Reader(opened, index, counts, rules) for index in task.group]
        batches: Iterable[Batch] = readers[0].batches(task)
        if len(readers) > 1:  # a bulk load refuses files of one partition whose keys overlap
            merged = heapq.merge(*(chain.from_iterable(rows for rows, _ in reader.batches(task)) for reader in readers))
            batches = ((rows, _hashed(rows).hashes) for rows in row_batches(merged, BATCH))
        for batch in batches:
            _spread(batch, counts, tools.sink)
        results = [reader.result() for reader in readers]
    return [replace(results[0], files=tools.sink.close()), *results[1:]]


def with_empty_writes(
    parts: Sequence[PartitionResult], counts: PartitionCounts, sink_of: Callable[[int], PartitionFiles]
) -> list[PartitionResult]:
    """Gives each new partition without rows a file with the record of an empty write.

    A replica refuses a bulk load without a file.

    Args:
        parts: the results of all old partitions.
        counts: the partition counts.
        sink_of: opens the sink for new partitions of the group with this first old partition.
    """
    filled = {file.partition for part in parts for file in part.files}
    found = {part.partition: part for part in parts}
    for group in counts.groups():
        missing = [target for target in counts.targets(group[0]) if target not in filled]
        if missing:
            sink = sink_of(group[0])
            for target in missing:
                sink.put(target, [_EMPTY_WRITE])
            found[group[0]] = replace(found[group[0]], files=(*found[group[0]].files, *sink.close()))
    return list(found.values())


class _Opened:
    """The old partitions that a task has opened: those that it splits, and the owners of rows that lie in them."""

    def __init__(
        self, sources: Sequence[OldPartition], rules: OfflineSplitOptions, tools: PartitionTools, stack: ExitStack
    ) -> None:
        self._sources, self._rules, self._tools, self._stack = sources, rules, tools, stack
        self._open: dict[int, OpenPartition] = {}

    def __getitem__(self, index: int) -> OpenPartition:
        if index not in self._open:
            source = self._sources[index]
            database = self._stack.enter_context(self._tools.open_db(source))
            self._open[index] = OpenPartition(source, database, self._rules, self._tools)
        return self._open[index]


class _Reader:
    """Reads the rows of one old partition, and counts those that are left out."""

    def __init__(self, opened: _Opened, index: int, counts: PartitionCounts, rules: OfflineSplitOptions) -> None:
        self._opened, self._index, self._counts, self._rules = opened, index, counts, rules
        self._mine = opened[index]
        self._placement = Placement(counts.old, rules.created_with or counts.lowest, self._mine.database.data_version)
        self._owned = self._expired = self._stale = self._malformed = self._empty = 0
        self._owners = set[int]()
        self._problems: dict[CopyProblem, UnprovenCopies] = {}

    def batches(self, task: SplitTask) -> Iterator[Batch]:
        """Yields the rows of the output in key order, with values of version 1."""
        for rows in self._mine.batches(task):
            yield self._kept(rows)

    def result(self) -> PartitionResult:
        """Returns the result without the files, after the last batch."""
        tail = self._mine.tail
        return PartitionResult(
            self._index,
            read=self._mine.read,
            logged=tail.writes,
            flushed=self._mine.database.flushed,
            committed=tail.last,
            owned=self._owned,
            expired=self._expired,
            stale=self._stale,
            malformed=self._malformed,
            empty=self._empty,
            left_out=tail.left_out,
            logs=tuple(self._mine.logs),
            copies=tuple(self._problems.values()),
            owners=tuple(sorted(self._owners)),
        )

    def _kept(self, batch: list[Row]) -> Batch:
        found = _hashed(batch)
        owners = partition_indexes(found.hashes, self._counts.old)
        whole = ~found.malformed & ~found.empty
        good, stale = whole & (owners == self._index), whole & (owners != self._index)
        self._malformed += int(found.malformed.sum())
        self._empty += int(found.empty.sum())
        self._owned += int(good.sum())
        self._stale += int(stale.sum())
        for owner in np.unique(owners[stale]).tolist():
            self._judge(owner, _chosen(batch, stale & (owners == owner)))
        if self._placement.data_version == 0:
            good &= self._converted(batch, good)
        if [1 for _, value in batch if len(value) < _LONGEST_HEADER]:  # the cheapest look at each row
            good &= self._whole(batch, good)
        if self._rules.drop_expired:
            now = self._rules.now_s - EPOCH_S
            expired = np.fromiter((_is_expired(value, now) for _, value in batch), np.bool_, len(batch)) & good
            self._expired += int(expired.sum())
            good &= ~expired
        if good.all():
            return batch, found.hashes
        return _chosen(batch, good), found.hashes[good]

    def _judge(self, owner: int, copies: list[Row]) -> None:
        """Judges rows that another partition owns."""
        self._owners.add(owner)
        there = self._opened[owner]
        comparable = there.database.data_version == self._placement.data_version
        for (key, value), theirs in zip(copies, there.get([key for key, _ in copies]), strict=True):
            problem = copy_problem(key, value, self._index, theirs, self._placement, self._rules.now_s)
            if problem is None and theirs is not None and not comparable:
                problem = CopyProblem.NEWER
            if problem is not None:
                old = self._problems.get(problem, UnprovenCopies(problem, 0, ()))
                samples = old.samples if old.rows >= SAMPLES else (*old.samples, escape_bytes(key))
                self._problems[problem] = UnprovenCopies(problem, old.rows + 1, samples)

    def _converted(self, batch: list[Row], good: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Gives the values of a batch version 1, and returns which of them Pegasus could have written."""
        found = [as_version_1(value) for _, value in batch]
        whole = np.fromiter((value is not None for value in found), np.bool_, len(batch))
        self._malformed += int((good & ~whole).sum())
        batch[:] = [(key, value or b"") for (key, _), value in zip(batch, found, strict=True)]
        return whole

    def _whole(self, batch: list[Row], good: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns which values have a whole header; all have version 1, or contain their version."""
        lengths = (len(value) >= header_bytes(value_version(value)) for _, value in batch)
        whole = np.fromiter(lengths, np.bool_, len(batch))
        self._malformed += int((good & ~whole).sum())
        return whole


@contextmanager
def _no_collection() -> Iterator[None]:
    """Stops Python's garbage collector, which looks at every row and finds no cycle: 4 % of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _hashed(rows: list[Row]) -> KeyHashes:
    return key_hashes(column_of([key for key, _ in rows]))


def _chosen(rows: list[Row], which: NDArray[np.bool_]) -> list[Row]:
    return list(compress(rows, which.tolist()))


def _spread(batch: Batch, counts: PartitionCounts, sink: PartitionFiles) -> None:
    """Writes the rows of a batch to their new partitions in order."""
    rows, hashes = batch
    targets = partition_indexes(hashes, counts.new)
    for target in np.unique(targets).tolist():
        sink.put(target, _chosen(rows, targets == target))


def _is_expired(value: bytes, now: int) -> bool:
    begin = 1 if value[:1] >= b"\x80" else 0  # the first bit marks version 2
    return 0 < int.from_bytes(value[begin : begin + 4], "big") <= now
