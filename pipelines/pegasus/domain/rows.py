"""Classifies the rows of a partition by the rule that distributes keys over partitions (invariants D3, D4, D6)."""

from dataclasses import dataclass
from enum import IntEnum

from pipelines.common.errors import MalformedError, UsageError
from pipelines.pegasus.domain.keys import EMPTY_WRITE, key_hash
from pipelines.pegasus.domain.partitions import MOST_PARTITIONS, is_power_of_two, partition_index

U64_MASK = (1 << 64) - 1


class RowKind(IntEnum):
    """Kind of a row in the partition where it is stored; the first that applies."""

    OUT_OF_RANGE = 0  # the table has no such partition: the input does not match the given count
    INCOMPLETE = 1  # no partition, key or value
    EMPTY_WRITE = 2  # the record of an empty write, not a user's row
    MALFORMED = 3  # a key or value that Pegasus never writes
    FOREIGN = 4  # it never belonged to this partition, neither before nor after any split
    STALE = 5  # it now belongs to another partition after a split: the compaction filter may drop it
    OWNED = 6


@dataclass(frozen=True, slots=True)
class Placement:
    """How the rows of one table are distributed.

    Attributes:
        count: the number of the table's partitions.
        created_with: the number of partitions before any split that may have left copies; `count` = there was no such
            split.
        data_version: the `pegasus_data_version` of its replicas, 0 or 1.

    Raises:
        UsageError: no table can have such counts.
    """

    count: int
    created_with: int
    data_version: int = 1

    def __post_init__(self) -> None:
        if self.count > MOST_PARTITIONS:
            raise UsageError(f"{self.count} partitions: a table has at most {MOST_PARTITIONS}")
        times, rest = divmod(self.count, self.created_with) if self.created_with > 0 else (0, 0)
        if rest or not is_power_of_two(times):
            raise UsageError(
                f"a table of {self.count} partitions was not created with {self.created_with}: "
                "each split doubles the count"
            )


def kind_of(key: bytes, index: int, placement: Placement) -> RowKind:
    """Returns the kind of a row with this raw key in that partition; ignores the value."""
    if not 0 <= index < placement.count:
        return RowKind.OUT_OF_RANGE
    if key == EMPTY_WRITE:
        return RowKind.EMPTY_WRITE
    try:
        hashed = key_hash(key)
    except MalformedError:
        return RowKind.MALFORMED
    if partition_index(hashed, placement.count) == index:
        return RowKind.OWNED
    # hash % created_with is the row's partition before all splits; its children have the same remainder
    same_family = partition_index(hashed, placement.created_with) == index % placement.created_with
    return RowKind.STALE if same_family else RowKind.FOREIGN


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A group of rows that are counted together.

    Attributes:
        index: the partition that stores the rows.
        bucket: `hash % (groups * buckets)`, so `bucket % groups` is the partition that owns the rows in the table with
            more partitions; -1 = they have no hash.
        kind: the kind of the rows.
        expired: whether their TTL is over.
        forever: whether they have no TTL.
    """

    index: int
    bucket: int
    kind: RowKind
    expired: bool
    forever: bool


@dataclass(frozen=True, slots=True)
class RowTally:
    """Sums over a multiset of rows, independent of their order.

    Attributes:
        rows: the number of rows.
        bytes: the bytes of their keys and values.
        digest_sum: the sum of the rows' 64-bit digests modulo 2^64.
        digest_xor: the XOR of the digests.
    """

    rows: int = 0
    bytes: int = 0
    digest_sum: int = 0
    digest_xor: int = 0

    def __add__(self, other: "RowTally") -> "RowTally":
        return RowTally(
            self.rows + other.rows,
            self.bytes + other.bytes,
            self.digest_sum + other.digest_sum & U64_MASK,
            self.digest_xor ^ other.digest_xor,
        )

    def same_rows(self, other: "RowTally") -> bool:
        """Returns whether count and digests of two tallies agree.

        Two different multisets agree with a probability of 2^-64.
        """
        return (self.rows, self.digest_sum, self.digest_xor) == (other.rows, other.digest_sum, other.digest_xor)

    @property
    def digest(self) -> str:
        """Returns the two digests as 32 hexadecimal digits."""
        return f"{self.digest_sum:016x}{self.digest_xor:016x}"


NOTHING = RowTally()
Tallies = dict[RowGroup, RowTally]
