"""Splits old partitions offline: writes the rows of their data and logs to files of the new partitions."""

import gc
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, compress, islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipelines.pegasus.domain.audit_log.files import LogFile
from pipelines.pegasus.domain.keys import escape_bytes
from pipelines.pegasus.domain.offline.copies import CopyProblem, copy_problem
from pipelines.pegasus.domain.offline.merge import merged_rows
from pipelines.pegasus.domain.offline.plan import (
    OfflineSplitOptions,
    OldPartition,
    PartFile,
    PartitionCounts,
    PartitionResult,
    UnprovenCopies,
)
from pipelines.pegasus.domain.offline.tail import log_tail
from pipelines.pegasus.domain.private_log.mutations import Mutation
from pipelines.pegasus.domain.rows import Placement
from pipelines.pegasus.domain.values import EPOCH_S, as_version_1
from pipelines.pegasus.transforms.crc64_columns import Hashes
from pipelines.pegasus.transforms.key_columns import KeyHashes, column_of, key_hashes, partition_indexes

BATCH = 8_000
_SAMPLES = 5
_EMPTY_WRITE = (b"", bytes(12))
"""The record of an empty write in version 1: no client can read it, and compaction keeps it."""
Row = tuple[bytes, bytes]
Batch = tuple[list[Row], Hashes]
"""Rows in key order, and the hash of each key."""


class OpenDb(Protocol):
    """The open data of a replica."""

    @property
    def data_version(self) -> int:
        """Returns the `pegasus_data_version`."""
        ...

    @property
    def flushed(self) -> int:
        """Returns the `pegasus_last_flushed_decree`."""
        ...

    def batches(self, size: int) -> Iterator[list[Row]]:
        """Yields live rows in key order, in lists of this size."""
        ...

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the value of each key; None = no such row."""
        ...


class Logs(Protocol):
    """The private logs of a replica."""

    @property
    def files(self) -> Sequence[LogFile]:
        """Returns the logs that have been read."""
        ...

    def __iter__(self) -> Iterator[Mutation]:
        """Yields the mutations in order."""
        ...


class PartSink(Protocol):
    """Writes the files of new partitions."""

    def put(self, partition: int, rows: Sequence[Row]) -> None:
        """Appends rows to a new partition, in key order."""
        ...

    def close(self) -> tuple[PartFile, ...]:
        """Finishes all files."""
        ...


@dataclass(frozen=True, slots=True)
class PartitionTools:
    """The functions of other layers that a task calls."""

    open_db: Callable[[OldPartition], AbstractContextManager[OpenDb]]
    logs: Callable[[OldPartition], Logs]
    sink: PartSink


def split_partitions(
    group: Sequence[int],
    sources: Sequence[OldPartition],
    counts: PartitionCounts,
    rules: OfflineSplitOptions,
    tools: PartitionTools,
) -> list[PartitionResult]:
    """Splits the old partitions of one group into their new partitions.

    It leaves out rows whose hash belongs to another old partition, and counts those that this may lose.

    Args:
        group: the old partitions to split, see `PartitionCounts.groups`.
        sources: all old partitions of the table, by index.
        counts: the partition counts.
        rules: the options.
        tools: the functions of other layers.

    Raises:
        UsageError, UnavailableError: the data cannot be opened.
        RefusedError: the log lacks a committed decree, is broken, or cannot be replayed.
    """
    with ExitStack() as stack:
        stack.enter_context(_no_collection())
        opened = _Opened(sources, rules, tools, stack)
        readers = [_Reader(opened, index, counts, rules) for index in group]
        batches: Iterable[Batch] = readers[0].batches()
        if len(readers) > 1:  # a bulk load refuses files of one partition whose keys overlap
            merged = heapq.merge(*(chain.from_iterable(rows for rows, _ in reader.batches()) for reader in readers))
            batches = ((rows, _hashed(rows).hashes) for rows in iter(lambda: list(islice(merged, BATCH)), []))
        filled = set[int]()
        for batch in batches:
            filled |= _spread(batch, counts, tools.sink)
        if not rules.parquet:
            for target in counts.targets(group[0]):
                if target not in filled:  # a replica refuses a bulk load without a file
                    tools.sink.put(target, [_EMPTY_WRITE])
        results = [reader.result() for reader in readers]
    return [replace(results[0], files=tools.sink.close()), *results[1:]]


class OpenPartition:
    """The data of an old partition and the tail of its log.

    Attributes:
        read: the number of rows that `batches` has read from the database.
    """

    def __init__(
        self, source: OldPartition, database: OpenDb, rules: OfflineSplitOptions, tools: PartitionTools
    ) -> None:
        self.database, self.read = database, 0
        logs = None if source.logs is None else tools.logs(source)
        self.tail = log_tail(
            logs or (),
            database.flushed,
            rules.committed.get(source.partition),
            database.data_version,
            rules.cluster_id,
            source.logs or source.database,
        )
        self.logs: Sequence[LogFile] = () if logs is None else tuple(logs.files)

    def batches(self) -> Iterator[list[Row]]:
        """Yields the rows of the database as the log leaves them, in key order."""
        below = self._counted()
        if self.tail.rows:
            live = merged_rows(chain.from_iterable(below), self.tail.rows)
            below = iter(lambda: list(islice(live, BATCH)), [])
        yield from below

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the value of each key; None = no such row."""
        rows = self.tail.rows
        return [rows.get(key, value) for key, value in zip(keys, self.database.get(keys), strict=True)]

    def _counted(self) -> Iterator[list[Row]]:
        for batch in self.database.batches(BATCH):
            self.read += len(batch)
            yield batch


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

    def batches(self) -> Iterator[Batch]:
        """Yields the rows of the output in key order, with values of version 1."""
        for rows in self._mine.batches():
            yield self._kept(rows)

    def result(self) -> PartitionResult:
        """Returns the result without the files, after the last batch."""
        tail = self._mine.tail
        return PartitionResult(
            self._index, (), self._mine.read, tail.writes, self._mine.database.flushed, tail.last, self._owned,
            self._expired, self._stale, self._malformed, self._empty, tail.left_out, tuple(self._mine.logs),
            tuple(self._problems.values()), tuple(sorted(self._owners)),
        )  # fmt: skip

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
                samples = old.samples if old.rows >= _SAMPLES else (*old.samples, escape_bytes(key))
                self._problems[problem] = UnprovenCopies(problem, old.rows + 1, samples)

    def _converted(self, batch: list[Row], good: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Gives the values of a batch version 1, and returns which of them Pegasus could have written."""
        found = [as_version_1(value) for _, value in batch]
        whole = np.fromiter((value is not None for value in found), np.bool_, len(batch))
        self._malformed += int((good & ~whole).sum())
        batch[:] = [(key, value or b"") for (key, _), value in zip(batch, found, strict=True)]
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


def _spread(batch: Batch, counts: PartitionCounts, sink: PartSink) -> set[int]:
    """Writes the rows of a batch to their new partitions in order, and returns these partitions."""
    rows, hashes = batch
    targets = partition_indexes(hashes, counts.new)
    filled = np.unique(targets).tolist()
    for target in filled:
        sink.put(target, _chosen(rows, targets == target))
    return set(filled)


def _is_expired(value: bytes, now: int) -> bool:
    begin = 1 if value[:1] >= b"\x80" else 0  # the first bit marks version 2
    return 0 < int.from_bytes(value[begin : begin + 4], "big") <= now
