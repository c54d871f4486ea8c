"""Predicts the result of a split: sizes of parents and children, and the doublings that a target size needs."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.pegasus.domain.partitions import MOST_PARTITIONS

_MOST = 10


@dataclass(frozen=True, slots=True)
class RowTotals:
    """A number of rows and their bytes."""

    rows: int = 0
    bytes: int = 0

    def __add__(self, other: "RowTotals") -> "RowTotals":
        return RowTotals(self.rows + other.rows, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class SplitPlanRow:
    """A row of `split_plan`: one parent, split once.

    Attributes:
        keep_rows: the number of rows that stay in the parent.
        move_rows: the number of rows that go to the child.
        skew: the bytes of the larger half divided by those of an even half: 1 = even, 2 = all rows are in one half.
    """

    parent: int
    child: int
    rows: int
    bytes: int
    keep_rows: int
    keep_bytes: int
    move_rows: int
    move_bytes: int
    skew: float


@dataclass(frozen=True, slots=True)
class DoublingLevel:
    """The table after some doublings; `largest` is the size of its largest partition in bytes."""

    doublings: int
    partitions: int
    largest: int


def one_split(sizes: Mapping[int, RowTotals], count: int) -> list[SplitPlanRow]:
    """Returns the sizes of each parent and child after one doubling.

    Args:
        sizes: the sizes by `hash & mask`, with a mask that covers `2 · count - 1`.
        count: the current number of partitions, a power of two.
    """
    halves = sizes_at_count(sizes, 2 * count)
    rows = []
    for parent in range(count):
        keep, move = halves.get(parent, RowTotals()), halves.get(parent + count, RowTotals())
        whole = keep + move
        skew = 2 * max(keep.bytes, move.bytes) / whole.bytes if whole.bytes else 1.0
        of_all, of_keep, of_move = (whole.rows, whole.bytes), (keep.rows, keep.bytes), (move.rows, move.bytes)
        rows.append(SplitPlanRow(parent, parent + count, *of_all, *of_keep, *of_move, round(skew, 3)))
    return rows


def most_doublings(count: int) -> int:
    """Returns for how many doublings sizes are computed: the driver holds one for each partition after all of them.

    Args:
        count: the current number of partitions, a power of two.
    """
    return min(_MOST, (MOST_PARTITIONS // count).bit_length() - 1)


def split_levels(sizes: Mapping[int, RowTotals], count: int) -> list[DoublingLevel]:
    """Returns the sizes of the table now and after 1 … `most_doublings` doublings."""
    found = []
    for doublings in range(most_doublings(count) + 1):
        partitions = count << doublings
        largest = max((size.bytes for size in sizes_at_count(sizes, partitions).values()), default=0)
        found.append(DoublingLevel(doublings, partitions, largest))
    return found


def doublings_for(found: list[DoublingLevel], target: int) -> int | None:
    """Returns the fewest doublings after which no partition is above `target` bytes; None = more than were computed."""
    return next((level.doublings for level in found if level.largest <= target), None)


def sizes_at_count(sizes: Mapping[int, RowTotals], count: int) -> dict[int, RowTotals]:
    """Returns the partition sizes of a table of `count` partitions, a power of two."""
    sums: dict[int, RowTotals] = {}
    for bits, size in sizes.items():
        index = bits & (count - 1)
        sums[index] = sums.get(index, RowTotals()) + size
    return sums
