"""What maintain may remove: nothing young, nothing needed, nothing in doubt."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cli.config.configuration import Config, parse_config
from jobs.maintain.retention import retention_policy
from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.lake.retention import (
    COMPACTED_FILE_BYTES,
    LEFTOVER,
    LEFTOVER_MS,
    LIST,
    MOST_COMPACTED_BYTES,
    MOST_COMPACTED_PARTITIONS,
    SMALL_FILE_BYTES,
    SNAPSHOT,
    FileTotals,
    NeededRun,
    NeededRuns,
    NightPartition,
    RetentionPolicy,
    StoredDirectory,
    expired_partitions,
    files_after,
    first_kept,
    past_retention,
    to_compact,
    why_stays,
)
from schemas.registry import TABLES

NOW = 1_790_000_000_000
TODAY = datetime.fromtimestamp(NOW // 1000, UTC).date()
POLICY = RetentionPolicy({}, 30 * DAY_MS, 20 * DAY_MS, 90 * DAY_MS, 4, None, 4)

days = st.integers(0, 400).map(lambda ago: TODAY - timedelta(days=ago))
instants = st.integers(NOW - 400 * DAY_MS, NOW)
keeps = st.integers(DAY_MS, 300 * DAY_MS)


@st.composite
def partition(draw: st.DrawFn, run_date: date | None) -> NightPartition:
    small = draw(st.integers(0, 600))
    small_bytes = small * draw(st.integers(0, SMALL_FILE_BYTES - 1))
    large = draw(st.integers(0, 5))
    size = FileTotals(small + large, small_bytes + large * SMALL_FILE_BYTES)
    return NightPartition(run_date, size, draw(st.none() | st.integers(0, 10**9)), FileTotals(small, small_bytes))


tables = st.sets(st.none() | days, max_size=12).flatmap(lambda some: st.tuples(*map(partition, some)))
runs = st.builds(
    NeededRun,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["r1", "r2", "r3"]),
    st.none() | days,
    st.sets(st.sampled_from(["s1", "s2"])).map(lambda some: tuple(sorted(some))),
    st.booleans(),
)
needs = st.builds(NeededRuns, st.lists(runs, max_size=4).map(tuple), st.dictionaries(days, instants, max_size=5))


def end_of(day: date) -> int:
    return int(datetime.combine(day + timedelta(days=1), datetime.min.time(), UTC).timestamp()) * 1000


def test_a_night_of_files() -> None:
    small, large = {"size": SMALL_FILE_BYTES - 1, "rows": 3}, {"size": SMALL_FILE_BYTES, "rows": 4}
    found = NightPartition.of(TODAY, [small, large, small])
    assert found == NightPartition(
        TODAY, FileTotals(3, 3 * SMALL_FILE_BYTES - 2), 10, FileTotals(2, 2 * SMALL_FILE_BYTES - 2)
    )
    assert NightPartition.of(None, [small, {"size": 1, "rows": None}]).rows is None


@given(tables, keeps, needs, st.dictionaries(days, instants, max_size=4))
def test_nights_go_only_when_old_not_needed_and_not_written_lately(
    found: tuple[NightPartition, ...], keep: int, needed: NeededRuns, written: dict[date, int]
) -> None:
    gone = expired_partitions(found, keep, NOW, needed, written)
    dates = [one.run_date for one in gone]
    assert dates == sorted(day for day in dates if day is not None), "oldest first, none without a date"
    for one in found:
        day = one.run_date
        if day is None:
            assert one not in gone
            continue
        old = end_of(day) + keep <= NOW
        needed_by_a_run = any(run.run_date == day for run in needed.runs)
        just_written = any(at + keep > NOW for at in (needed.written.get(day), written.get(day)) if at is not None)
        assert (one in gone) == (old and not needed_by_a_run and not just_written)
    assert set(dates) <= past_retention(found, keep, NOW)


@given(keeps)
def test_a_day_is_kept_to_its_end(keep: int) -> None:
    first = first_kept(NOW, keep)
    assert end_of(first) + keep > NOW
    assert end_of(first - timedelta(days=1)) + keep <= NOW


@given(tables, st.integers(2, 20), st.integers(0, 3))
def test_compaction_is_bounded_gains_and_ends(found: tuple[NightPartition, ...], from_files: int, dropped: int) -> None:
    gone = found[:dropped]
    chosen = to_compact(found, from_files, NOW, gone)
    assert not set(chosen) & set(gone)
    assert len(chosen) <= MOST_COMPACTED_PARTITIONS
    assert len(chosen) <= 1 or sum(one.small.bytes for one in chosen) <= MOST_COMPACTED_BYTES
    for one in chosen:
        assert one.run_date is not None
        assert one.run_date < TODAY, "a night that is not over is left to its runs"
        assert one.small.files >= from_files
        assert files_after(one) < one.small.files, "fewer files than before"
        # what comes of it: large files and at most one small one
        rest = one.small.bytes % COMPACTED_FILE_BYTES
        after = NightPartition(one.run_date, one.size, one.rows, FileTotals(1, rest))
        assert to_compact([after], from_files, NOW, ()) == ()


def test_compaction_takes_the_newest_hundred() -> None:
    small = FileTotals(4, 400)
    found = [NightPartition(TODAY - timedelta(days=ago), small, None, small) for ago in range(1, 102)]
    assert to_compact(found[::-1], 4, NOW, ()) == tuple(found[:MOST_COMPACTED_PARTITIONS])


@given(tables, st.integers(2, 20))
def test_compaction_finds_every_night_worth_it_in_the_end(found: tuple[NightPartition, ...], from_files: int) -> None:
    worth = {
        one
        for one in found
        if one.run_date is not None
        and one.run_date < TODAY
        and one.small.files >= max(from_files, files_after(one) + 1)
    }
    left = set(found)
    for _ in range(len(found) + 1):
        left -= set(to_compact(tuple(left), from_files, NOW, ()))
    assert left == set(found) - worth


stored = st.builds(
    StoredDirectory,
    st.sampled_from([LIST, SNAPSHOT, LEFTOVER]),
    st.just("file:/x"),
    st.integers(NOW - 60 * DAY_MS, NOW + DAY_MS),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["r1", "r2", "r3"]),
    st.sampled_from(["s1", "s2"]),
)


@given(stored, needs)
def test_directories_go_only_past_their_time_and_not_needed(one: StoredDirectory, needed: NeededRuns) -> None:
    keep = {LIST: POLICY.lists_ms, SNAPSHOT: POLICY.snapshots_ms, LEFTOVER: LEFTOVER_MS}[one.kind]
    of_a_run = any(
        one.cluster == run.cluster
        and (
            one.run_id == run.run_id
            if one.kind == LIST
            else one.snapshot_sha256 in run.snapshots or (run.quarantined and not run.snapshots)
        )
        for run in needed.runs
    )
    assert (why_stays(one, POLICY, needed, NOW) is None) == (one.since + keep <= NOW and not of_a_run)


def test_without_the_snapshot_of_a_quarantined_run_every_one_of_its_cluster_stays() -> None:
    needed = NeededRuns((NeededRun("a", "r1", None, (), quarantined=True),))
    old = NOW - 300 * DAY_MS
    assert why_stays(StoredDirectory(SNAPSHOT, "u", old, "a", None, "s"), POLICY, needed, NOW) is not None
    assert why_stays(StoredDirectory(SNAPSHOT, "u", old, "b", None, "s"), POLICY, needed, NOW) is None


def test_every_table_has_its_time() -> None:
    policy = retention_policy(Config())
    assert set(policy.tables_ms) == {table.name for table in TABLES}
    assert policy.tables_ms["wal_verdicts"] == 90 * DAY_MS
    assert {time for name, time in policy.tables_ms.items() if name != "wal_verdicts"} == {730 * DAY_MS}
    assert (policy.lists_ms, policy.snapshots_ms, policy.grace_ms, policy.nights) == (30 * DAY_MS, 30 * DAY_MS, None, 4)
    own = parse_config("maintain:\n  vacuum_grace: 14d\n  keep: {tables: {findings: 400d, wal_verdicts: 7d}}", "c.yaml")
    policy = retention_policy(own)
    assert (policy.tables_ms["findings"], policy.tables_ms["wal_verdicts"]) == (400 * DAY_MS, 7 * DAY_MS)
    assert policy.grace_ms == 14 * 24 * HOUR_MS


def test_a_grace_is_rounded_up_to_whole_hours() -> None:
    """As tables store it: a grace that differs from the stored one would be set again by each run."""
    policy = retention_policy(parse_config("maintain: {vacuum_grace: 10090m}", "c.yaml"))
    assert policy.grace_ms == 169 * HOUR_MS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("maintain: {vacuum_grace: 167h}", r"c.yaml, line 1: 'maintain.vacuum_grace': 7d \(168h\)"),
        ("maintain: {vacuum_grace: 31d}", "forgets after 30d"),
        ("maintain: {keep: {tables: {wal_verdict: 9d}}}", "no table 'wal_verdict'; tables: runs, wal_verdicts"),
        ("list: {valid_for: 48h}\nmaintain: {keep: {lists: 47h}}", "lists would go after 1 d 23 h.*list.valid_for"),
        ("maintain: {keep: {wal_verdicts: 23h}}", "a night of wal_verdicts would go after 23 h"),
    ],
)
def test_what_could_harm_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        retention_policy(parse_config(text, "c.yaml"))
