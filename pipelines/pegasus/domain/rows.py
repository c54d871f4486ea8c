"""What a row of a partition is, seen from the rule that spreads keys over partitions (invariants D3, D4, D6)."""

from dataclasses import dataclass
from enum import IntEnum

from pipelines.common.errors import MalformedError, UsageError
from pipelines.pegasus.domain.keys import EMPTY_WRITE, key_hash
from pipelines.pegasus.domain.partitions import partition_index

U64 = (1 << 64) - 1


class Kind(IntEnum):
    """What a row is where it lies; the first that applies."""

    OUT_OF_RANGE = 0  # no such partition in the table: the input is not what its user says
    INCOMPLETE = 1  # no partition, key or value
    EMPTY_WRITE = 2  # the record of an empty write, no user's row
    MALFORMED = 3  # no key or value that Pegasus writes
    FOREIGN = 4  # it never belonged here, neither before nor after any split
    STALE = 5  # it was split away: the compaction filter may take it
    OWNED = 6


@dataclass(frozen=True, slots=True)
class Placement:
    """How the rows of one table are spread.

    Attributes:
        count: its partitions.
        created_with: partitions it had before any split that may have left copies; `count` = none has.
        data_version: `pegasus_data_version` of its replicas, 0 or 1.

    Raises:
        UsageError: numbers that no table has.
    """

    count: int
    created_with: int
    data_version: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.created_with <= self.count or self.count % self.created_with:
            raise UsageError(
                f"a table of {self.count} partitions was not created with {self.created_with}: "
                "a split doubles the count, so the first must be a multiple of the second"
            )


def kind_of(key: bytes, index: int, placement: Placement) -> Kind:
    """What a row with this raw key is in that partition; its value is not looked at."""
    if not 0 <= index < placement.count:
        return Kind.OUT_OF_RANGE
    if key == EMPTY_WRITE:
        return Kind.EMPTY_WRITE
    try:
        hashed = key_hash(key)
    except MalformedError:
        return Kind.MALFORMED
    if partition_index(hashed, placement.count) == index:
        return Kind.OWNED
    # hash % created_with is the partition that the row was in before all splits; its children have the same remainder
    same_family = partition_index(hashed, placement.created_with) == index % placement.created_with
    return Kind.STALE if same_family else Kind.FOREIGN


@dataclass(frozen=True, slots=True)
class Place:
    """Rows that are counted together.

    Attributes:
        index: the partition they lie in.
        group: `hash % groups`: the partition they belong to in the finer of two tables; -1 where there is no hash.
        kind: what they are.
        expired: their time to live is over.
        forever: they have no time to live.
    """

    index: int
    group: int
    kind: Kind
    expired: bool
    forever: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """A multiset of rows, whatever their order.

    Attributes:
        rows: how many.
        bytes: of their keys and values.
        digest_sum: sum of the rows' 64-bit digests modulo 2^64.
        digest_xor: exclusive or of them.
        newest: greatest timetag; 0 = none has one.
    """

    rows: int = 0
    bytes: int = 0
    digest_sum: int = 0
    digest_xor: int = 0
    newest: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.rows + other.rows,
            self.bytes + other.bytes,
            self.digest_sum + other.digest_sum & U64,
            self.digest_xor ^ other.digest_xor,
            max(self.newest, other.newest),
        )

    def same_rows(self, other: "Tally") -> bool:
        """Whether both are the same rows, by count and digests; two other multisets agree with a chance of 2^-64."""
        return (self.rows, self.digest_sum, self.digest_xor) == (other.rows, other.digest_sum, other.digest_xor)

    @property
    def digest(self) -> str:
        """The two digests as 32 hexadecimal digits."""
        return f"{self.digest_sum:016x}{self.digest_xor:016x}"


NOTHING = Tally()
Tallies = dict[Place, Tally]
