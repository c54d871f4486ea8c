"""Writes the rows of the table before and after the split."""

from collections.abc import Iterator
from typing import NamedTuple

from pipelines.pegasus.simulate.emission.table import BASE_ROWS, Spread, key_of, value_of
from pipelines.pegasus.simulate.walk import WalkHistory
from pipelines.pegasus.simulate.world import NO_CHILD, acked


class EmittedRow(NamedTuple):
    """A row of an export (docs/split-rows.md)."""

    partition_index: int
    key: bytes
    value: bytes


def rows_before(spread: Spread, history: WalkHistory) -> Iterator[EmittedRow]:
    """Yields the rows from before the split, and every write acknowledged since."""
    yield from _held(spread, history, acked(history.worlds[-1]), spread.group)


def rows_after(spread: Spread, history: WalkHistory) -> Iterator[EmittedRow]:
    """Yields the rows that the primaries of parent and child have at the end."""
    world = history.worlds[-1]
    yield from _held(spread, history, world.replicas[world.meta.primary].has, spread.group)
    if world.meta.child is not None and world.replicas[world.meta.child[1]].child != NO_CHILD:
        yield from _held(spread, history, world.replicas[world.meta.child[1]].child_has, spread.child)


def _held(spread: Spread, history: WalkHistory, writes: int, index: int) -> Iterator[EmittedRow]:
    there = [place for place in range(len(history.scope.writes)) if writes >> place & 1]
    for number in [*range(BASE_ROWS), *(BASE_ROWS + place for place in there)]:
        yield EmittedRow(index, key_of(spread, history, number), value_of(number))
