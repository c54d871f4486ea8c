"""What maintain may remove, and when: pure rules over what was found. Instants and times are ms, UTC; sizes are bytes.

Doubt keeps: a partition without a date, a directory whose age is not written in it, a run whose files may still rest
in the quarantine.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timezone

from pipelines.common.instants import DAY_MS, HOUR_MS

MIN_GRACE_MS = 168 * HOUR_MS
"""Files that a table's log no longer names stay for so long at least: readers that began before may want them."""
MAX_GRACE_MS = 30 * DAY_MS
"""Delta forgets its own history after so long; a longer grace would promise what the log cannot keep."""
SMALL_FILE_BYTES = 32 << 20
COMPACTED_FILE_BYTES = 128 << 20
MOST_COMPACTED_BYTES = 16 << 30
MOST_COMPACTED_PARTITIONS = 100
LEFTOVER_MS = 7 * DAY_MS
"""Hidden folders of runs that died are removed when nothing in them changed for so long."""

LIST, SNAPSHOT, LEFTOVER = "list", "snapshot", "leftover"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long what is kept.

    Attributes:
        tables_ms: by table name, counted from the end of the UTC day `run_date`.
        lists_ms: counted from the list's `not_after`.
        snapshots_ms: counted from the end of the capture.
        compact_from: a partition with so many small files is compacted.
        grace_ms: of VACUUM; None = what the table itself says, a week unless someone changed it.
        nights: so many nights of each cluster are kept whatever their age, for the comparisons with the past.
    """

    tables_ms: Mapping[str, int]
    lists_ms: int
    snapshots_ms: int
    compact_from: int
    grace_ms: int | None
    nights: int


@dataclass(frozen=True, slots=True)
class Size:
    """Some files and their bytes."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.files + other.files, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class Partition:
    """One night of a table, as its log has it.

    Attributes:
        run_date: None = rows without a date, which are kept for ever.
        rows: None = the writer left no statistics.
        small: its files below `SMALL_FILE_BYTES`.
    """

    run_date: date | None
    size: Size
    rows: int | None
    small: Size


@dataclass(frozen=True, slots=True)
class NeededRun:
    """A run of which nothing is removed, whatever its age.

    Attributes:
        snapshots: SHA-256 of snapshot.json of its attempts; none = not known.
        quarantined: files of it rest, or may rest, in the quarantine; else it is among the newest of its cluster.
    """

    cluster: str
    run_id: str
    run_date: date | None
    snapshots: tuple[str, ...] = ()
    quarantined: bool = False

    @property
    def why(self) -> str:
        """What it is needed for."""
        return "files of its run may be in quarantine" if self.quarantined else "among the cluster's newest nights"


@dataclass(frozen=True, slots=True)
class Needed:
    """What must stay.

    Attributes:
        runs: see `NeededRun`.
        written: when the newest row of `runs` of each night was written: a replay of an old night counts from there.
    """

    runs: tuple[NeededRun, ...] = ()
    written: Mapping[date, int] = field(default_factory=dict)

    @property
    def dates(self) -> frozenset[date]:
        """The partitions with rows of needed runs."""
        return frozenset(run.run_date for run in self.runs if run.run_date is not None)


@dataclass(frozen=True, slots=True)
class Stored:
    """A directory that is a list, a snapshot, or the hidden rest of a run that died.

    Attributes:
        kind: LIST, SNAPSHOT or LEFTOVER.
        uri: the directory.
        since: what its age counts from: `not_after`, the end of the capture, the last change.
        names: every file that belongs to it, relative; hidden files do anyway.
    """

    kind: str
    uri: str
    since: int
    cluster: str | None = None
    run_id: str | None = None
    snapshot_sha256: str | None = None
    names: frozenset[str] = frozenset()


def first_kept(now: int, keep_ms: int) -> date:
    """The oldest night that is kept for its age alone: a day goes only when all of it is older than `keep_ms`."""
    return _day(now - keep_ms)


def expired(
    partitions: Iterable[Partition], keep_ms: int, now: int, needed: Needed, written: Mapping[date, int]
) -> tuple[Partition, ...]:
    """The partitions to remove, oldest first.

    Args:
        partitions: of one table.
        keep_ms: how long its rows are kept.
        now: ms since the epoch.
        needed: nights of needed runs stay.
        written: when the table itself was last written to in a night, where its rows say so (audit rows come late).
    """
    first = first_kept(now, keep_ms)

    def goes(day: date) -> bool:
        latest = max(needed.written.get(day, 0), written.get(day, 0))
        return day < first and day not in needed.dates and latest + keep_ms <= now

    found = [(one.run_date, one) for one in partitions if one.run_date is not None and goes(one.run_date)]
    return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))


def past_retention(partitions: Iterable[Partition], keep_ms: int, now: int) -> frozenset[date]:
    """The nights of a table that are old enough to go, needed or not."""
    first = first_kept(now, keep_ms)
    return frozenset(one.run_date for one in partitions if one.run_date is not None and one.run_date < first)


def to_compact(
    partitions: Iterable[Partition], from_files: int, now: int, gone: Sequence[Partition]
) -> tuple[Partition, ...]:
    """The partitions worth compacting, newest first, as many as one run should rewrite.

    A night counts when it is over (UTC) and has `from_files` small files or more; what compaction makes of them is
    fewer, so that the next run finds nothing to gain.
    """
    today, dropped = _day(now), {one.run_date for one in gone}
    worth = [
        (one.run_date, one)
        for one in partitions
        if one.run_date is not None
        and one.run_date < today
        and one.run_date not in dropped
        and one.small.files >= max(from_files, files_after(one) + 1)
    ]
    chosen: list[Partition] = []
    taken = 0
    for _, one in sorted(worth, key=lambda pair: pair[0], reverse=True)[:MOST_COMPACTED_PARTITIONS]:
        taken += one.small.bytes
        if chosen and taken > MOST_COMPACTED_BYTES:
            break
        chosen.append(one)
    return tuple(chosen)


def files_after(partition: Partition) -> int:
    """How many files compaction makes of its small ones."""
    return max(1, -(-partition.small.bytes // COMPACTED_FILE_BYTES))


def why_stays(stored: Stored, policy: RetentionPolicy, needed: Needed, now: int) -> str | None:
    """Why a directory must stay, or None when it goes."""
    keep_ms = {LIST: policy.lists_ms, SNAPSHOT: policy.snapshots_ms, LEFTOVER: LEFTOVER_MS}[stored.kind]
    if now < stored.since + keep_ms:
        return "not old enough"
    for run in needed.runs:
        if run.cluster == stored.cluster and _is_of(stored, run):
            return run.why
    return None


def _is_of(stored: Stored, run: NeededRun) -> bool:
    if stored.kind == LIST:
        return stored.run_id == run.run_id
    # of a run whose snapshot is not known any snapshot of the cluster may be the one
    return stored.snapshot_sha256 in run.snapshots or (run.quarantined and not run.snapshots)


def _day(ms: int) -> date:
    return datetime.fromtimestamp(ms // 1000, timezone.utc).date()
