"""The simulated table: which rows there are, what they are called, and when things happen."""

from functools import cache
from typing import NamedTuple

from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.domain.partitions import partition_index
from pipelines.pegasus.domain.values import Timetag, Value, encode_value
from pipelines.pegasus.simulate.walk import History
from pipelines.pegasus.simulate.world import CHILD_HALF, PARENT_HALF

CLUSTER = "simulated"
APP_ID = 2
BASE_ROWS = 50
"""Rows of each partition that were there before the split began; row n was written by decree n + 1."""
STEP_MS = 100
"""Between two steps of a history."""
STARTED_US = 1_790_000_000_000_000
"""When the histories begin: 2026-09-21T14:13:20Z."""
LONG_AFTER_MS = 7 * 3_600_000
"""The last state is observed so long after the last step: what has not ended by then is stuck."""


class Spread(NamedTuple):
    """A partition of the table, and how many there were before the split."""

    group: int
    groups: int

    @property
    def child(self) -> int:
        """The partition that it is split into."""
        return self.group + self.groups


def address(node: int) -> str:
    """A node as meta calls it."""
    return f"10.0.0.{node + 1}:34801"


def at_us(step: int) -> int:
    """When a step of a history is over, μs since the epoch."""
    return STARTED_US + step * STEP_MS * 1000


def half_of(history: History, number: int) -> str:
    """Whose row that is after the split; the writes of the history follow the rows from before."""
    if number >= BASE_ROWS:
        return history.scope.writes[number - BASE_ROWS]
    return PARENT_HALF if number % 2 else CHILD_HALF


def key_of(spread: Spread, history: History, number: int) -> bytes:
    """The raw key of a row."""
    return _key(spread, half_of(history, number), number)


def hash_of(spread: Spread, half: str) -> int:
    """The hash of the key that clients ask for to see who answers."""
    return key_hash(_key(spread, half, 0))


@cache
def _key(spread: Spread, half: str, number: int) -> bytes:
    """A key of that half of a partition; the search is short, for one key in 2 * groups fits."""
    index = spread.child if half == CHILD_HALF else spread.group
    tried = 0
    while True:
        key = encode_key(f"user{number}-{tried}".encode(), b"")
        if partition_index(key_hash(key), 2 * spread.groups) == index:
            return key
        tried += 1


def user_data(number: int) -> bytes:
    """What a client wrote into a row."""
    return f"value {number}".encode()


def value_of(number: int) -> bytes:
    """The value of a row as RocksDB has it."""
    return encode_value(Value(1, 0, Timetag(STARTED_US + number, 1, deleted=False), user_data(number)))
