"""Compares sums by partition, the cheap first step: they show in which partitions rows must be compared one by one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pipelines.pegasus.domain.rows import NOTHING, Placement, RowKind, RowTally, Tallies

BEFORE, AFTER = "before", "after"
_BUCKETS = 1024
Counts = Mapping[tuple[int | None, str, str], int]
"""Differences by (partition, reason, side)."""


@dataclass(frozen=True, slots=True)
class SplitVerifyRow:
    """A row of `split_verify`: one partition of the table with more partitions, on both sides.

    Sizes are bytes of keys and values.

    Attributes:
        partition: the index of the partition; a row counts for `hash % partitions`, whichever partition stores it.
        is_equal: whether both sides have the same live rows.
        stale_rows: the copies that a split left in other partitions on the side `after`; not a difference by
            themselves.
    """

    table_name: str
    partition: int
    before_rows: int
    after_rows: int
    before_bytes: int
    after_bytes: int
    before_digest: str
    after_digest: str
    is_equal: bool
    before_expired: int
    after_expired: int
    stale_rows: int
    stale_bytes: int
    foreign_rows: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing the sums.

    Attributes:
        partitions: the partitions of the table with more partitions.
        differing: the partitions whose live rows differ between the sides.
        wanted: the buckets whose rows must be compared one by one: the live rows differ, or stale copies equal neither
            the owner's rows nor those of `before`, so that one copy may be newer.
        tallies: the sums of all rows, by side.
        kinds: the number of rows of each kind, by side.
    """

    partitions: tuple[SplitVerifyRow, ...]
    differing: frozenset[int]
    wanted: frozenset[int]
    tallies: Mapping[str, Tallies] = field(default_factory=dict, repr=False)
    kinds: dict[str, dict[RowKind, RowTally]] = field(default_factory=dict)

    def places(self, side: str, buckets: Collection[int], kinds: Collection[RowKind]) -> frozenset[int]:
        """Returns the partitions that store rows of these buckets or of these kinds."""
        return frozenset(place.index for place in self.tallies[side] if place.bucket in buckets or place.kind in kinds)

    def rows(self, side: str, *kinds: RowKind) -> int:
        """Returns the number of rows of these kinds on one side."""
        return sum(self.kinds[side].get(kind, NOTHING).rows for kind in kinds)


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row of `split_diff`; its timetags are `Timetag.packed`."""

    table_name: str
    partition: int | None
    reason: str
    side: str
    key: str
    raw_key: bytes
    key_hash: str | None
    before_index: int | None
    after_index: int | None
    before_timetag: int | None
    after_timetag: int | None
    stale_timetag: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class Differences:
    """The result of comparing rows one by one.

    Attributes:
        counts: all differences, by (partition, reason, side).
        rows: the differences shown, at most the requested number for each reason.
    """

    counts: Counts
    rows: tuple[DiffRow, ...]


def groups_of(before: Placement, after: Placement) -> int:
    """Returns the partition count of the table with more partitions; the comparison works by these partitions."""
    return max(before.count, after.count)


def buckets_of(groups: int) -> int:
    """Returns the number of buckets of each group: the more, the fewer rows one difference makes suspect."""
    return max(1, _BUCKETS // groups)


def compare_sums(table: str, groups: int, before: Tallies, after: Tallies) -> Comparison:
    """Compares the sums of both sides.

    Args:
        table: the name of the table.
        groups: the number of partitions by which rows are grouped, see `groups_of`.
        before: the sums of the rows before, of every kind, by buckets of any number for each group.
        after: the sums of the rows after, of every kind, by the same buckets.
    """
    rows, differing = [], set[int]()
    wanted = _suspects(before, after)
    by_group = {side: _by_group(tallies, groups) for side, tallies in ((BEFORE, before), (AFTER, after))}
    for group in range(groups):
        old, new = by_group[BEFORE].get(group, {}), by_group[AFTER].get(group, {})
        live_before, live_after = _sum(old, RowKind.OWNED), _sum(new, RowKind.OWNED)
        equal = live_before.same_rows(live_after)
        if not equal:
            differing.add(group)
        stale = _sum(new, RowKind.STALE) + _sum(new, RowKind.STALE, expired=True)
        foreign = [tally for place, tally in new.items() if place.kind is RowKind.FOREIGN]
        rows.append(
            SplitVerifyRow(
                table,
                group,
                live_before.rows,
                live_after.rows,
                live_before.bytes,
                live_after.bytes,
                live_before.digest,
                live_after.digest,
                equal,
                _sum(old, RowKind.OWNED, expired=True).rows,
                _sum(new, RowKind.OWNED, expired=True).rows,
                stale.rows,
                stale.bytes,
                sum(tally.rows for tally in foreign),
            )
        )
    tallies = {BEFORE: before, AFTER: after}
    kinds = {side: _by_kind(sums) for side, sums in tallies.items()}
    return Comparison(tuple(rows), frozenset(differing), wanted, tallies, kinds)


def _suspects(before: Tallies, after: Tallies) -> frozenset[int]:
    """Returns the buckets whose rows must be compared one by one."""
    owned: dict[str, dict[int, RowTally]] = {BEFORE: {}, AFTER: {}}
    copies: dict[tuple[int, int], RowTally] = {}
    for side, tallies in ((BEFORE, before), (AFTER, after)):
        for place, tally in tallies.items():
            if place.expired:
                continue
            if place.kind is RowKind.OWNED:
                owned[side][place.bucket] = owned[side].get(place.bucket, NOTHING) + tally
            elif place.kind is RowKind.STALE and side == AFTER:
                where = (place.bucket, place.index)
                copies[where] = copies.get(where, NOTHING) + tally
    old, new = owned[BEFORE], owned[AFTER]
    found = {one for one in {*old, *new} if not old.get(one, NOTHING).same_rows(new.get(one, NOTHING))}
    for (bucket, _), copy in copies.items():
        if not any(copy.same_rows(side.get(bucket, NOTHING)) for side in (old, new)):
            found.add(bucket)
    return frozenset(found)


def _by_group(tallies: Tallies, groups: int) -> dict[int, Tallies]:
    found: dict[int, Tallies] = {}
    for place, tally in tallies.items():
        if place.bucket >= 0:
            found.setdefault(place.bucket % groups, {})[place] = tally
    return found


def _by_kind(tallies: Tallies) -> dict[RowKind, RowTally]:
    kinds: dict[RowKind, RowTally] = {}
    for place, tally in tallies.items():
        kinds[place.kind] = kinds.get(place.kind, NOTHING) + tally
    return kinds


def _sum(tallies: Tallies, kind: RowKind, *, expired: bool = False) -> RowTally:
    found = (tally for place, tally in tallies.items() if place.kind is kind and place.expired is expired)
    return sum(found, NOTHING)
