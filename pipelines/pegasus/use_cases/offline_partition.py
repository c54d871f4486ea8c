"""Splits one old partition offline: writes the rows of its data and log to files of the new partitions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
import pyarrow as pa

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.pegasus.domain.offline.merge import merged_rows
from pipelines.pegasus.domain.offline.plan import (
    OfflineSplitOptions,
    OldPartition,
    PartFile,
    PartitionCounts,
    PartitionResult,
)
from pipelines.pegasus.domain.offline.tail import LogTail, committed_tail
from pipelines.pegasus.domain.private_log.mutations import Mutation
from pipelines.pegasus.domain.values import EPOCH_S
from pipelines.pegasus.transforms.key_columns import binary_column, key_hashes, partition_indexes

BATCH = 50_000


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

    def rows(self) -> Iterator[tuple[bytes, bytes]]:
        """Yields live rows in key order."""
        ...


class PartSink(Protocol):
    """Writes the files of new partitions."""

    def put(self, partition: int, keys: Sequence[bytes], values: Sequence[bytes]) -> None:
        """Appends rows to a new partition, in key order."""
        ...

    def close(self) -> tuple[PartFile, ...]:
        """Finishes all files."""
        ...


@dataclass(frozen=True, slots=True)
class PartitionTools:
    """The functions of other layers that a task calls."""

    open_db: Callable[[str], AbstractContextManager[OpenDb]]
    mutations: Callable[[str], Iterable[Mutation]]
    sink: Callable[[int], PartSink]


def split_partition(
    source: OldPartition, counts: PartitionCounts, rules: OfflineSplitOptions, tools: PartitionTools
) -> PartitionResult:
    """Splits one old partition into its new partitions.

    It skips rows whose hash belongs to another old partition: they remain from an earlier split.

    Raises:
        UsageError, UnavailableError: the data cannot be opened.
        RefusedError: the log lacks a committed decree, is broken, or cannot be replayed.
    """
    with tools.open_db(source.database) as database:
        tail = LogTail(database.flushed)
        if source.logs is not None:
            tail = committed_tail(
                tools.mutations(source.logs), database.flushed, rules.committed, database.data_version,
                rules.cluster_id, source.logs,
            )  # fmt: skip
        elif rules.committed is not None and rules.committed > database.flushed:
            raise RefusedError(
                Condition.DECREE_MISSING,
                f"{source.database}: the data end at decree {database.flushed}, but there is no log up to "
                f"{rules.committed}",
            )
        sink = tools.sink(source.partition)

        tally = _Tally()
        rows = _counted(database.rows(), tally)
        live = merged_rows(rows, tail.rows)
        while batch := list(islice(live, BATCH)):
            _spread(batch, source.partition, counts, rules, sink, tally)
    return PartitionResult(
        source.partition, sink.close(), tally.read, tail.writes, database.flushed, tail.committed, tally.expired,
        tally.stale, tally.malformed, tally.empty,
    )  # fmt: skip


@dataclass
class _Tally:
    read: int = 0
    expired: int = 0
    stale: int = 0
    malformed: int = 0
    empty: int = 0


def _counted(rows: Iterable[tuple[bytes, bytes]], tally: _Tally) -> Iterator[tuple[bytes, bytes]]:
    for row in rows:
        tally.read += 1
        yield row


def _spread(
    batch: list[tuple[bytes, bytes]],
    partition: int,
    counts: PartitionCounts,
    rules: OfflineSplitOptions,
    sink: PartSink,
    tally: _Tally,
) -> None:
    """Writes the rows of a batch to their new partitions; rows of one partition keep their order."""
    keys, values = [key for key, _ in batch], [value for _, value in batch]
    found = key_hashes(binary_column(pa.array(keys, pa.binary())))
    mine = partition_indexes(found.hashes, counts.old) == partition
    whole = ~found.malformed & ~found.empty
    good = whole & mine
    tally.malformed += int(found.malformed.sum())
    tally.empty += int(found.empty.sum())
    tally.stale += int((whole & ~mine).sum())
    if rules.expired_at_s is not None:
        now = rules.expired_at_s - EPOCH_S
        expired = np.fromiter((_is_expired(value, now) for value in values), dtype=np.bool_, count=len(values))
        tally.expired += int((good & expired).sum())
        good &= ~expired
    targets = partition_indexes(found.hashes, counts.new)
    for target in np.unique(targets[good]).tolist():
        chosen = np.flatnonzero(good & (targets == target)).tolist()
        sink.put(target, [keys[one] for one in chosen], [values[one] for one in chosen])


def _is_expired(value: bytes, now: int) -> bool:
    begin = 1 if value[:1] >= b"\x80" else 0  # the first bit marks version 2
    return 0 < int.from_bytes(value[begin : begin + 4], "big") <= now
