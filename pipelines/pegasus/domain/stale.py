"""Predicts what Pegasus's compaction filter does with each row, and why (src/server/key_ttl_compaction_filter.h)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from pipelines.common.errors import UsageError
from pipelines.common.human import human_bytes, human_count
from pipelines.lake.findings import ERROR, INFO, WARNING
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.partitions import REJECTING, is_owner, is_power_of_two
from pipelines.pegasus.domain.rows import NOTHING, Placement, RowGroup, RowKind, RowTally, Tallies
from pipelines.pegasus.domain.rule_violations import lost_env_remedy, rule_violation


class RowFate(Enum):
    """The effect of the next compaction on rows; the first that applies."""

    KEPT_EMPTY_WRITE = "KEPT_EMPTY_WRITE"  # the filter skips keys shorter than two bytes
    KEPT_MALFORMED = "KEPT_MALFORMED"  # not a rule of the filter: Pegasus asserts on such a key
    DROPPED_EXPIRED = "DROPPED_EXPIRED"
    KEPT_ENV_LOST = "KEPT_ENV_LOST"  # stale, but the validate env is not true
    KEPT_REJECTING = "KEPT_REJECTING"  # stale, but the version is -1: a registration is under way
    KEPT_UNCOUNTED = "KEPT_UNCOUNTED"  # a child before its count update: its index is above its version
    DROPPED_STALE = "DROPPED_STALE"
    KEPT_OLD_VERSION = "KEPT_OLD_VERSION"  # stale by the new count, but the replica still has the old version
    KEPT_GETS_TTL = "KEPT_GETS_TTL"  # owned, without a TTL: the filter sets the default TTL of the table
    KEPT_OWNED = "KEPT_OWNED"


DROPPED = frozenset({RowFate.DROPPED_EXPIRED, RowFate.DROPPED_STALE})
STALE_KINDS = frozenset({RowKind.STALE, RowKind.FOREIGN})


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """The settings that, besides the row itself, decide its fate.

    Attributes:
        placement: how the rows of the table are distributed.
        validate: whether `replica.split.validate_partition_hash` is true on the replicas.
        default_ttl: the `default_ttl` of the table in seconds; 0 = no default.
        versions: the `partition_version` by partition, where it is not the count - 1.

    Raises:
        UsageError: no partition can have such a version.
    """

    placement: Placement
    validate: bool
    default_ttl: int = 0
    versions: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for index, version in self.versions.items():
            if not (version == REJECTING or is_power_of_two(version + 1)) or not 0 <= index < self.placement.count:
                raise UsageError(
                    f"partition_version {version} of partition {index}: -1, or a number of partitions minus 1"
                )

    @property
    def groups(self) -> int:
        """Returns the next power of two, so that `group & version` equals `hash & version`."""
        return 1 << (self.placement.count - 1).bit_length()

    def version(self, index: int) -> int:
        """Returns the version of a partition."""
        return self.versions.get(index, self.placement.count - 1)


@dataclass(frozen=True, slots=True)
class StaleRow:
    """A row of `split_stale`. Bytes are those of keys and values, before compression."""

    table_name: str
    partition_index: int
    fate: str
    is_dropped: bool
    is_stale: bool
    rows: int
    bytes: int


def fate_of(place: RowGroup, settings: FilterSettings) -> RowFate:
    """Returns what the filter does with a group of rows; `place.bucket` must be hash % `settings.groups`."""
    if place.kind is RowKind.EMPTY_WRITE:
        return RowFate.KEPT_EMPTY_WRITE
    if place.kind is RowKind.MALFORMED:
        return RowFate.KEPT_MALFORMED
    if place.expired:
        return RowFate.DROPPED_EXPIRED
    version, stale = settings.version(place.index), place.kind in STALE_KINDS
    misses = version >= 0 and not is_owner(place.bucket, place.index, version)
    if (stale or misses) and not settings.validate:
        return RowFate.KEPT_ENV_LOST
    if stale and version < 0:
        return RowFate.KEPT_REJECTING
    if (stale or misses) and place.index > version >= 0:
        return RowFate.KEPT_UNCOUNTED
    if misses:
        return RowFate.DROPPED_STALE
    if stale:
        return RowFate.KEPT_OLD_VERSION
    return RowFate.KEPT_GETS_TTL if settings.default_ttl and place.forever else RowFate.KEPT_OWNED


def sum_by_fate(table: str, tallies: Tallies, settings: FilterSettings) -> tuple[StaleRow, ...]:
    """Returns rows and bytes by partition and fate."""
    sums: dict[tuple[int, RowFate, bool], RowTally] = {}
    for place, tally in tallies.items():
        key = (place.index, fate_of(place, settings), place.kind in STALE_KINDS)
        sums[key] = sums.get(key, NOTHING) + tally
    order = list(RowFate)
    return tuple(
        StaleRow(table, index, fate.value, fate in DROPPED, stale, tally.rows, tally.bytes)
        for (index, fate, stale), tally in sorted(
            sums.items(), key=lambda item: (item[0][0], order.index(item[0][1]), item[0][2])
        )
    )


def stale_findings(table: str, tallies: Tallies, settings: FilterSettings) -> Iterator[FindingRow]:
    """Yields findings about copies that compaction drops, not yet drops or never drops, and rows it drops wrongly."""
    by_fate: dict[RowFate, RowTally] = {}
    foreign = wrong = NOTHING
    partitions = set[int]()
    for place, tally in tallies.items():
        fate = fate_of(place, settings)
        if place.kind is RowKind.FOREIGN and not place.expired:
            foreign += tally
            partitions.add(place.index)
        elif place.kind is RowKind.STALE:
            by_fate[fate] = by_fate.get(fate, NOTHING) + tally
        elif fate is RowFate.DROPPED_STALE:
            wrong += tally
    if foreign.rows:
        yield rule_violation(
            "D3",
            ERROR,
            f"{table}/{foreign.rows}",  # who acknowledges two rows does not mean two thousand
            f"Table {table}: {_amount(foreign)} in partitions that never owned them, neither before nor after a split, "
            f"such as partition {min(partitions)}: no split has left them, and they may be the only ones.",
            "Do not compact. Compare --created-with with init_partition_count; if the data came from another table "
            "that was split (duplication), give the init_partition_count of that table. Otherwise a replica lies under "
            "a wrong index: find out where its directory comes from.",
            rows=foreign.rows,
            partitions=sorted(partitions)[:100],
        )
    lost = by_fate.get(RowFate.KEPT_ENV_LOST, NOTHING)
    if lost.rows:
        yield rule_violation(
            "C9",
            ERROR,
            table,
            f"Table {table}: {_amount(lost)} are copies of a split that compaction does not remove as copies: the env "
            "replica.split.validate_partition_hash is not true. Scans return them twice.",
            lost_env_remedy(settings.placement.count),
            rows=lost.rows,
            bytes=lost.bytes,
        )
    if wrong.rows:
        yield rule_violation(
            "C1",
            ERROR,
            table,
            f"Table {table}: the filter will drop {_amount(wrong)} from the partitions to which "
            "they belong: its "
            f"rule is hash & {settings.placement.count - 1}, and {settings.placement.count} is not a power of two.",
            "Set replica.split.validate_partition_hash to false before any compaction, and move the data to a table "
            "with a power of two.",
            rows=wrong.rows,
            bytes=wrong.bytes,
        )
    for fate, words in (
        (RowFate.KEPT_REJECTING, "their partitions reject requests (partition_version -1)"),
        (RowFate.KEPT_UNCOUNTED, "their child has not taken the new count"),
        (RowFate.KEPT_OLD_VERSION, "their parent has not taken the new count"),
    ):
        held = by_fate.get(fate, NOTHING)
        if held.rows:
            yield rule_violation(
                "D4",
                WARNING,
                f"{table}/{fate.value}",
                f"Table {table}: {_amount(held)} are copies that compaction does not remove yet: {words}.",
                "Wait for the split to end, then compact; split-audit-config shows whether it hangs.",
                rows=held.rows,
                bytes=held.bytes,
            )
    taken = by_fate.get(RowFate.DROPPED_STALE, NOTHING)
    if taken.rows:
        yield rule_violation(
            "D4",
            INFO,
            table,
            f"Table {table}: a manual compaction removes {_amount(taken)} of copies that a split has left.",
            "Prove the split with split-verify first: a compaction cannot be undone.",
            rows=taken.rows,
            bytes=taken.bytes,
        )


def _amount(tally: RowTally) -> str:
    return f"{human_count(tally.rows, 'row')} ({human_bytes(tally.bytes)})"
