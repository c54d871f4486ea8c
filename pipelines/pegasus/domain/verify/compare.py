"""The cheap half of the comparison: sums by partition, which say where a row must be looked at and where none."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pipelines.pegasus.domain.rows import NOTHING, Kind, Place, Placement, Tallies, Tally

BEFORE, AFTER = "before", "after"
Counts = Mapping[tuple[int | None, str, str], int]
"""Differences by (partition, reason, side)."""


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """A row of `split_verify`: one partition of the finer table, on both sides. Bytes of keys and values.

    Attributes:
        partition: its index; every row's is `hash % partitions`, wherever the row lies.
        is_equal: the same rows are live on both sides.
        stale_rows: copies left in other partitions after a split, on the side `after`; no difference by themselves.
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
    """What the sums say.

    Attributes:
        partitions: of the finer table.
        differing: of these, those whose live rows are not the same on both sides.
        suspect: those with stale copies that are neither the owner's rows nor those of `before`: one may be newer.
        kinds: rows of each kind, by side.
    """

    partitions: tuple[PartitionRow, ...]
    differing: frozenset[int]
    suspect: frozenset[int]
    kinds: dict[str, dict[Kind, Tally]] = field(default_factory=dict)

    @property
    def wanted(self) -> frozenset[int]:
        """Partitions whose rows must be looked at one by one."""
        return self.differing | self.suspect

    def rows(self, side: str, *kinds: Kind) -> int:
        """Rows of these kinds on one side."""
        return sum(self.kinds[side].get(kind, NOTHING).rows for kind in kinds)


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row of `split_diff`; timetags are `Timetag.packed`."""

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
    """What was looked at one by one.

    Attributes:
        counts: by (partition, reason, side), all of them.
        rows: at most so many for each reason as the request allows.
    """

    counts: Counts
    rows: tuple[DiffRow, ...]


def groups_of(before: Placement, after: Placement) -> int:
    """Partitions of the finer of two tables: the grain of the comparison."""
    return max(before.count, after.count)


def compare(table: str, groups: int, before: Tallies, after: Tallies) -> Comparison:
    """Compare the sums of both sides.

    Args:
        table: its name.
        groups: see `groups_of`.
        before: sums of the rows before; rows of every kind.
        after: the same of the rows after.
    """
    rows, differing, suspect = [], set[int](), set[int]()
    by_group = {side: _by_group(tallies) for side, tallies in ((BEFORE, before), (AFTER, after))}
    for group in range(groups):
        old, new = by_group[BEFORE].get(group, {}), by_group[AFTER].get(group, {})
        live_before, live_after = _sum(old, Kind.OWNED), _sum(new, Kind.OWNED)
        equal = live_before.same_rows(live_after)
        if not equal:
            differing.add(group)
        copies: dict[int, Tally] = {}
        for place, tally in new.items():
            if place.kind is Kind.STALE and not place.expired:
                copies[place.index] = copies.get(place.index, NOTHING) + tally
        if any(not copy.same_rows(live_after) and not copy.same_rows(live_before) for copy in copies.values()):
            suspect.add(group)
        stale = _sum(new, Kind.STALE) + _sum(new, Kind.STALE, expired=True)
        foreign = [tally for place, tally in new.items() if place.kind is Kind.FOREIGN]
        rows.append(
            PartitionRow(
                table,
                group,
                live_before.rows,
                live_after.rows,
                live_before.bytes,
                live_after.bytes,
                live_before.digest,
                live_after.digest,
                equal,
                _sum(old, Kind.OWNED, expired=True).rows,
                _sum(new, Kind.OWNED, expired=True).rows,
                stale.rows,
                stale.bytes,
                sum(tally.rows for tally in foreign),
            )
        )
    kinds = {BEFORE: _by_kind(before), AFTER: _by_kind(after)}
    return Comparison(tuple(rows), frozenset(differing), frozenset(suspect), kinds)


def _by_group(tallies: Tallies) -> dict[int, Tallies]:
    groups: dict[int, Tallies] = {}
    for place, tally in tallies.items():
        groups.setdefault(place.group, {})[place] = tally
    return groups


def _by_kind(tallies: Tallies) -> dict[Kind, Tally]:
    kinds: dict[Kind, Tally] = {}
    for place, tally in tallies.items():
        kinds[place.kind] = kinds.get(place.kind, NOTHING) + tally
    return kinds


def _sum(tallies: Tallies, kind: Kind, *, expired: bool = False) -> Tally:
    return _total(tally for place, tally in tallies.items() if place.kind is kind and place.expired is expired)


def _total(tallies: Iterable[Tally]) -> Tally:
    return sum(tallies, NOTHING)


def faulty_places(tallies: Tallies, kind: Kind) -> list[Place]:
    """Where rows of a kind lie that make the input unusable."""
    return sorted((place for place in tallies if place.kind is kind), key=lambda place: place.index)
