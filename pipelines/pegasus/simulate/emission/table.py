"""The simulated table: its rows, its names and its times."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from pipelines.common.instants import HOUR_MS
from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.domain.partitions import partition_index
from pipelines.pegasus.domain.values import StoredValue, Timetag, encode_value
from pipelines.pegasus.simulate.scope import CHILD_HALF, PARENT_HALF
from pipelines.pegasus.simulate.walk import WalkHistory
from pipelines.pegasus.simulate.world import NO_CHILD, acked

CLUSTER = "simulated"
APP_ID = 2
BASE_ROWS = 50
"""Rows of each partition from before the split; row n was written by decree n + 1."""
STEP_MS = 100
"""Time between two steps of a history, in ms."""
STARTED_US = 1_790_000_000_000_000
"""Time at which the histories begin: 2026-09-21T14:13:20Z, in μs since the epoch."""
LONG_AFTER_MS = 7 * HOUR_MS
"""Time between the last step and the last state, in ms: a split that has not ended by then is stuck."""


class EmittedRow(NamedTuple):
    """A row of an export (docs/split-rows.md)."""

    partition_index: int
    key: bytes
    value: bytes


class Spread(NamedTuple):
    """A partition of the table, and the partition count before the split."""

    group: int
    groups: int

    @property
    def child(self) -> int:
        """Returns the index of the partition that is split off from this one."""
        return self.group + self.groups


def address(node: int) -> str:
    """Returns the address by which meta names a node."""
    return f"10.0.0.{node + 1}:34801"


def at_us(step: int) -> int:
    """Returns the time at which a step of a history ends, μs since the epoch."""
    return STARTED_US + step * STEP_MS * 1000


def half_of(history: WalkHistory, number: int) -> str:
    """Returns which half owns a row after the split.

    The writes of the history follow the rows from before the split.
    """
    if number >= BASE_ROWS:
        return history.scope.writes[number - BASE_ROWS]
    return PARENT_HALF if number % 2 else CHILD_HALF


def key_of(spread: Spread, history: WalkHistory, number: int) -> bytes:
    """Returns the raw key of a row."""
    return _key(spread, half_of(history, number), number)


def hash_of(spread: Spread, half: str) -> int:
    """Returns the hash of the key that clients read to see which replica answers."""
    return key_hash(_key(spread, half, 0))


@cache
def _key(spread: Spread, half: str, number: int) -> bytes:
    """Returns a key that belongs to that half of a partition.

    The search is short, because one key in 2 * groups fits.
    """
    index = spread.child if half == CHILD_HALF else spread.group
    tried = 0
    while True:
        key = encode_key(f"user{number}-{tried}".encode(), b"")
        if partition_index(key_hash(key), 2 * spread.groups) == index:
            return key
        tried += 1


def user_data(number: int) -> bytes:
    """Returns the data that a client wrote into a row."""
    return f"value {number}".encode()


def value_of(number: int) -> bytes:
    """Returns the value of a row as RocksDB stores it."""
    return encode_value(StoredValue(1, 0, Timetag(STARTED_US + number, 1, deleted=False), user_data(number)))


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
