"""Divides large old partitions into ranges of keys, one for each task, and joins the results."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from pipelines.common.errors import UnavailableError
from pipelines.pegasus.domain.offline.model import SAMPLES, PartitionResult, UnprovenCopies

_TOO_MUCH = 3
"""A range is uneven if the SSTs that it needs have more than so many times the bytes of a task."""


@dataclass(frozen=True, slots=True)
class StoredPiece:
    """Rows of an old partition: an SST, or a piece of its keys.

    Attributes:
        first: the smallest key.
        last: the largest key.
        size: the bytes.
    """

    first: bytes
    last: bytes
    size: int


@dataclass(frozen=True, slots=True)
class SplitTask:
    """What one task reads: the keys of a group of old partitions from `begin` to below `end`.

    Attributes:
        group: the old partitions.
        begin: the smallest key.
        end: the first key behind the range; None = all keys from `begin`.
        number: the place of the range in its group; None = the group has only this range.
    """

    group: range
    begin: bytes = b""
    end: bytes | None = None
    number: int | None = None

    @property
    def name(self) -> str:
        """Returns the name of the task, which no other task of the table has."""
        return str(self.group[0]) if self.number is None else f"{self.group[0]}-{self.number}"

    def has(self, key: bytes) -> bool:
        """Returns whether the key is in the range."""
        return self.begin <= key and (self.end is None or key < self.end)


def tasks_of(group: range, pieces: Iterable[StoredPiece], task_bytes: int) -> list[SplitTask]:
    """Divides the keys of a group, so that the pieces that begin in a range have about `task_bytes` together.

    Ranges begin where pieces begin, so there are never more ranges than pieces.
    """
    bounds, held = [b""], 0
    for first, those in groupby(sorted(pieces, key=lambda piece: piece.first), key=lambda piece: piece.first):
        if held >= task_bytes and first > bounds[-1]:
            bounds.append(first)
            held = 0
        held += sum(piece.size for piece in those)
    if len(bounds) == 1:
        return [SplitTask(group)]
    return [
        SplitTask(group, begin, end, place)
        for place, (begin, end) in enumerate(zip(bounds, [*bounds[1:], None], strict=True))
    ]


def is_uneven(files: Sequence[StoredPiece], task_bytes: int) -> bool:
    """Returns whether ranges that begin where SSTs begin need too much: an SST is large, or many have the same keys."""
    return any(
        sum(file.size for file in files if task.begin <= file.last and (task.end is None or file.first < task.end))
        > _TOO_MUCH * task_bytes
        for task in tasks_of(range(1), files, task_bytes)
    )


def pieces_of(keys: Sequence[bytes], size: int) -> list[StoredPiece]:
    """Returns the pieces of a partition of some bytes that begin with these keys, which have about the same rows."""
    return [
        StoredPiece(first, last, size // len(keys)) for first, last in zip(keys, [*keys[1:], keys[-1]], strict=True)
    ]


def joined(results: Iterable[PartitionResult]) -> Iterator[PartitionResult]:
    """Joins the results of the ranges of each partition.

    Args:
        results: the results of all tasks, those of one group in the order of their ranges.

    Raises:
        UnavailableError: two ranges of a partition had different data or logs.
    """
    found: dict[int, list[PartitionResult]] = {}
    for result in results:
        found.setdefault(result.partition, []).append(result)
    for ranges in found.values():
        yield ranges[0] if len(ranges) == 1 else _whole(ranges)


def _whole(ranges: Sequence[PartitionResult]) -> PartitionResult:
    first = ranges[0]
    for other in ranges[1:]:
        if _state(other) != _state(first):
            raise UnavailableError(
                f"partition {first.partition} changed while the job read it: its data ended at decree {first.flushed} "
                f"and its logs at {first.committed}, later at {other.flushed} and {other.committed}. Stop its server, "
                "or take a copy, and start the job again"
            )
    return replace(
        first,
        read=sum(one.read for one in ranges),
        owned=sum(one.owned for one in ranges),
        expired=sum(one.expired for one in ranges),
        stale=sum(one.stale for one in ranges),
        malformed=sum(one.malformed for one in ranges),
        empty=sum(one.empty for one in ranges),
        files=tuple(sorted((file for one in ranges for file in one.files), key=lambda file: file.partition)),
        copies=tuple(_copies(ranges)),
        owners=tuple(sorted({owner for one in ranges for owner in one.owners})),
        resumed=all(one.resumed for one in ranges),
    )


def _state(result: PartitionResult) -> tuple[object, ...]:
    """Returns what all ranges of a partition must have seen alike."""
    return result.flushed, result.committed, result.logged, result.left_out, result.logs


def _copies(ranges: Sequence[PartitionResult]) -> Iterator[UnprovenCopies]:
    found = [copies for one in ranges for copies in one.copies]
    for problem in dict.fromkeys(copies.problem for copies in found):
        mine = [copies for copies in found if copies.problem is problem]
        samples = tuple(key for copies in mine for key in copies.samples)[:SAMPLES]
        yield UnprovenCopies(problem, sum(copies.rows for copies in mine), samples)
