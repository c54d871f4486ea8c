"""Decides what maintain may remove and when. Pure functions; instants and durations are ms, UTC; sizes are bytes.

Whatever is uncertain stays: a partition without a date, a directory that does not record its age, a run whose files may
still be in quarantine.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pipelines.common.instants import DAY_MS, HOUR_MS, utc_day

MIN_GRACE_MS = 168 * HOUR_MS
"""Minimum time that files no longer in a table's log are kept, because readers that began earlier may need them."""
MAX_GRACE_MS = 30 * DAY_MS
"""Delta deletes its own history after this time, so it could not keep a longer grace period."""
SMALL_FILE_BYTES = 32 << 20
COMPACTED_FILE_BYTES = 128 << 20
MOST_COMPACTED_BYTES = 16 << 30
MOST_COMPACTED_PARTITIONS = 100
LEFTOVER_MS = 7 * DAY_MS
"""Hidden folders of runs that died are removed if nothing in them has changed for this time."""

LIST, SNAPSHOT, PAGE, LEFTOVER = "list", "snapshot", "page", "leftover"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long each kind of data is kept.

    Attributes:
        tables_ms: by table name, counted from the end of the UTC day `run_date`.
        lists_ms: counted from the list's `not_after`.
        snapshots_ms: counted from the end of the capture.
        reports_ms: of a page, counted from the start of step `files`.
        compact_from: minimum number of small files for which a partition is compacted.
        grace_ms: grace period of VACUUM, a whole number of hours; None = the table's own setting, by default a week.
        nights: number of the newest nights of each cluster that are kept at any age, for comparisons with the past; a
            date with several runs is one night.
    """

    tables_ms: Mapping[str, int]
    lists_ms: int
    snapshots_ms: int
    reports_ms: int
    compact_from: int
    grace_ms: int | None
    nights: int


@dataclass(frozen=True, slots=True)
class FileTotals:
    """A number of files and their bytes."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: "FileTotals") -> "FileTotals":
        return FileTotals(self.files + other.files, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class NightPartition:
    """One night of a table, according to its log.

    Attributes:
        run_date: None = rows without a date, which are kept forever.
        rows: None = the writer left no statistics.
        small: the files smaller than `SMALL_FILE_BYTES`.
    """

    run_date: date | None
    size: FileTotals
    rows: int | None
    small: FileTotals

    @classmethod
    def of(cls, run_date: date | None, files: Sequence[Mapping[str, Any]]) -> "NightPartition":
        """Returns the night with these files, each with its `size` and `rows`."""
        small = [one["size"] for one in files if one["size"] < SMALL_FILE_BYTES]
        rows = [one["rows"] for one in files]
        return cls(
            run_date,
            FileTotals(len(files), sum(one["size"] for one in files)),
            None if None in rows else sum(rows),
            FileTotals(len(small), sum(small)),
        )


@dataclass(frozen=True, slots=True)
class NeededRun:
    """A run of which nothing is removed, at any age.

    Attributes:
        snapshots: SHA-256 of snapshot.json of each of its attempts; empty = unknown.
        quarantined: files of the run are, or may be, in quarantine; if False, the run is among the newest of its
            cluster.
        files: how many of them.
        bytes: their bytes.
        moved_at: when the first of them was moved, ms since the epoch; None = none.
    """

    cluster: str
    run_id: str
    run_date: date | None
    snapshots: tuple[str, ...] = ()
    quarantined: bool = False
    files: int = 0
    bytes: int = 0
    moved_at: int | None = None

    @property
    def why(self) -> str:
        """The reason why the run is needed."""
        return "files of its run may be in quarantine" if self.quarantined else "among the cluster's newest nights"


@dataclass(frozen=True, slots=True)
class NeededRuns:
    """Everything that must stay.

    Attributes:
        runs: see `NeededRun`.
        written: by night, when its newest row of `runs` was written; a replay of an old night counts from this time.
    """

    runs: tuple[NeededRun, ...] = ()
    written: Mapping[date, int] = field(default_factory=dict)

    @property
    def dates(self) -> frozenset[date]:
        """The partitions with rows of needed runs."""
        return frozenset(run.run_date for run in self.runs if run.run_date is not None)


@dataclass(frozen=True, slots=True)
class StoredDirectory:
    """A directory that is a list, a snapshot, or a hidden leftover of a run that died; or the file of a page.

    Attributes:
        kind: LIST, SNAPSHOT, PAGE or LEFTOVER.
        uri: the directory or file.
        since: the instant from which its age counts: `not_after`, the end of the capture, the start of step `files`, or
            the last change.
        names: relative names of all files that belong to it; hidden files belong to it as well.
        shows: the (cluster, run_id) of each run of a page.
    """

    kind: str
    uri: str
    since: int
    cluster: str | None = None
    run_id: str | None = None
    snapshot_sha256: str | None = None
    names: frozenset[str] = frozenset()
    shows: frozenset[tuple[str, str]] = frozenset()


def first_kept(now: int, keep_ms: int) -> date:
    """Returns the oldest night that is kept for its age alone; a day expires when all of it is older than `keep_ms`."""
    return utc_day(now - keep_ms)


def expired_partitions(
    partitions: Iterable[NightPartition], keep_ms: int, now: int, needed: NeededRuns, written: Mapping[date, int]
) -> tuple[NightPartition, ...]:
    """Returns the partitions to remove, oldest first.

    Args:
        partitions: partitions of one table.
        keep_ms: how long the table's rows are kept.
        now: ms since the epoch.
        needed: nights of needed runs stay.
        written: by night, the last write to the table itself, if its rows record it (audit rows are written later).
    """
    first = first_kept(now, keep_ms)

    def goes(day: date) -> bool:
        latest = max(needed.written.get(day, 0), written.get(day, 0))
        return day < first and day not in needed.dates and latest + keep_ms <= now

    found = [(one.run_date, one) for one in partitions if one.run_date is not None and goes(one.run_date)]
    return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))


def past_retention(partitions: Iterable[NightPartition], keep_ms: int, now: int) -> frozenset[date]:
    """Returns the nights of a table that are old enough to be removed, whether needed or not."""
    first = first_kept(now, keep_ms)
    return frozenset(one.run_date for one in partitions if one.run_date is not None and one.run_date < first)


def to_compact(
    partitions: Iterable[NightPartition], from_files: int, now: int, gone: Sequence[NightPartition]
) -> tuple[NightPartition, ...]:
    """Returns the partitions worth compacting, newest first, as many as one run should rewrite.

    A night qualifies when it is over (UTC) and has at least `from_files` small files, and compaction leaves fewer
    files. So the next run finds nothing to compact.
    """
    today, dropped = utc_day(now), {one.run_date for one in gone}
    worth = [
        (one.run_date, one)
        for one in partitions
        if one.run_date is not None
        and one.run_date < today
        and one.run_date not in dropped
        and one.small.files >= max(from_files, files_after(one) + 1)
    ]
    chosen: list[NightPartition] = []
    taken = 0
    for _, one in sorted(worth, key=lambda pair: pair[0], reverse=True)[:MOST_COMPACTED_PARTITIONS]:
        taken += one.small.bytes
        if chosen and taken > MOST_COMPACTED_BYTES:
            break
        chosen.append(one)
    return tuple(chosen)


def files_after(partition: NightPartition) -> int:
    """Returns the number of files that compaction makes of the partition's small files."""
    return max(1, -(-partition.small.bytes // COMPACTED_FILE_BYTES))


def why_stays(stored: StoredDirectory, policy: RetentionPolicy, needed: NeededRuns, now: int) -> str | None:
    """Returns why a directory must stay, or None if it is removed."""
    keep_ms = {
        LIST: policy.lists_ms,
        SNAPSHOT: policy.snapshots_ms,
        PAGE: policy.reports_ms,
        LEFTOVER: LEFTOVER_MS,
    }[stored.kind]
    if now < stored.since + keep_ms:
        return "not old enough"
    for run in needed.runs:
        if (run.cluster, run.run_id) in stored.shows or (run.cluster == stored.cluster and _is_of(stored, run)):
            return run.why
    return None


def _is_of(stored: StoredDirectory, run: NeededRun) -> bool:
    if stored.kind == LIST:
        return stored.run_id == run.run_id
    # if the snapshot of a run is unknown, any snapshot of the cluster may be that of the run
    return stored.snapshot_sha256 in run.snapshots or (run.quarantined and not run.snapshots)
