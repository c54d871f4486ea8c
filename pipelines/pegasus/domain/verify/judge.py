"""Finds what is wrong with one key: the expensive second step of the comparison, done where the sums differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from pipelines.pegasus.domain.verify.compare import AFTER, BEFORE


class DifferenceReason(Enum):
    """Why a row is a difference."""

    LOST = "lost"
    FOREIGN = "foreign"
    STALE = "stale"
    STALE_NEWER = "stale-newer"
    VALUE = "value"
    EXPIRED = "expired"
    MALFORMED = "malformed"


class KeyCopy(NamedTuple):
    """The rows of one key that are stored in a partition that owns it.

    Attributes:
        rows: the number of rows; a partition of Pegasus has at most one.
        lies_in: the partition that stores them.
        digest: the digest of key and value.
        expired: whether the TTL is over.
        timetag: `Timetag.packed`; 0 = the value has no timetag.
    """

    rows: int = 0
    lies_in: int | None = None
    digest: int | None = None
    expired: bool = False
    timetag: int = 0

    @property
    def live(self) -> bool:
        """Returns whether a client can read the row."""
        return self.rows > 0 and not self.expired


class KeyFacts(NamedTuple):
    """All rows of one key, on both sides.

    Attributes:
        before: the owner's row before.
        after: the owner's row after.
        stale: a copy left in another partition after: the newest of those newer than the owner's row, else of those
            that were no row before, else of all.
        copies_before: the digests of the copies in other partitions before.
    """

    before: KeyCopy
    after: KeyCopy
    stale: KeyCopy
    copies_before: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """One problem of a key.

    Attributes:
        side: the side on which the row is missing, misplaced or older.
        detail: one sentence.
    """

    reason: DifferenceReason
    side: str
    detail: str


def key_problems(facts: KeyFacts) -> Iterator[KeyProblem]:
    """Yields the problems of one key; none if its live rows are the same on both sides."""
    yield from _twice(facts)
    yield from _owners(facts)
    yield from _newer_copy(facts)


def _twice(facts: KeyFacts) -> Iterator[KeyProblem]:
    for side, copy in ((BEFORE, facts.before), (AFTER, facts.after)):
        if copy.rows > 1:
            yield KeyProblem(
                DifferenceReason.MALFORMED,
                side,
                f"{copy.rows} rows have this key, which no export of a RocksDB contains",
            )


def _owners(facts: KeyFacts) -> Iterator[KeyProblem]:
    before, after = facts.before, facts.after
    if before.live and not after.rows:
        left = f"; a copy is left in partition {facts.stale.lies_in}" if facts.stale.rows else ""
        yield KeyProblem(DifferenceReason.LOST, AFTER, f"live before, not in its partition after{left}")
    elif after.live and not before.rows:
        yield KeyProblem(
            DifferenceReason.LOST,
            BEFORE,
            "live after, missing before: it was written meanwhile, or a removed row has come back",
        )
    elif before.live and after.live and before.digest != after.digest:
        yield KeyProblem(DifferenceReason.VALUE, *_older(before, after))
    elif before.live != after.live and before.rows and after.rows:
        side = AFTER if after.expired else BEFORE
        yield KeyProblem(
            DifferenceReason.EXPIRED, side, f"expired {side}, live on the other side: its expire time has changed"
        )


def _older(before: KeyCopy, after: KeyCopy) -> tuple[str, str]:
    if not (before.timetag and after.timetag) or before.timetag == after.timetag:
        return AFTER, "the value differs, and no time of writing shows which is newer"
    if before.timetag > after.timetag:
        return AFTER, "the value after is an older one: a write was undone"
    return BEFORE, "the value after was written later"


def _newer_copy(facts: KeyFacts) -> Iterator[KeyProblem]:
    stale, owner = facts.stale, facts.after
    if not stale.live:
        return
    if owner.rows and stale.timetag > owner.timetag > 0:
        yield KeyProblem(
            DifferenceReason.STALE_NEWER,
            AFTER,
            f"the copy in partition {stale.lies_in} is newer than the owner's row: the parent took a write",
        )
    elif stale.digest in {facts.before.digest, owner.digest, *facts.copies_before}:
        return
    elif owner.rows and 0 in {stale.timetag, owner.timetag}:
        yield KeyProblem(
            DifferenceReason.STALE_NEWER,
            AFTER,
            f"the copy in partition {stale.lies_in} is no row of before, and no time of writing says whether it or "
            "the owner's row is newer",
        )
    elif not owner.rows and not facts.before.rows:
        yield KeyProblem(
            DifferenceReason.STALE_NEWER,
            AFTER,
            f"only partition {stale.lies_in} has it, which does not own it: written to the parent after the split",
        )
