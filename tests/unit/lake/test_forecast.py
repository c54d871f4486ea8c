"""When the capacity is used up, from totals of nights, and from a lake with clean-ups in between."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.common.instants import DAY_MS, format_instant
from pipelines.lake.cleanup_history import cleanup_steps, quarantined
from pipelines.lake.forecast import NIGHTS, QUARANTINE, Forecast, capacity_of, days_until_full, night_totals
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import EarlierNights, NightTotal, RunKey, VerdictTotal
from schemas.cleanups import CLEANUPS
from schemas.deletions import DELETIONS
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.runs import RUNS
from schemas.verdict_totals import VERDICT_TOTALS
from tests.labs.plain_lake import append, reader

FIRST = 20_000 * DAY_MS + 7_200_000
GIB = 1 << 30


def nights(*sizes: int) -> list[NightTotal]:
    return [
        NightTotal(FIRST + day * DAY_MS, group, 1, part)
        for day, size in enumerate(sizes)
        for group, part in (("HELD PENDING", size // 2), ("DELETABLE REPLICATED", size - size // 2))
    ]


def test_a_steady_growth_is_extended_to_the_capacity() -> None:
    last = FIRST + 2 * DAY_MS
    assert days_until_full(nights(10, 20, 30), 100) == Forecast(3, 30, 100, 10, 7.0, last + 7 * DAY_MS)


def test_the_line_of_least_squares_counts_and_not_the_two_ends() -> None:
    assert days_until_full(nights(0, 30, 30, 30), 1000).growth_per_day == 9  # the mean of the daily growth is 10


@pytest.mark.parametrize(
    ("sizes", "capacity", "words"),
    [
        ((), 100, "no nights are too few, 3 are needed"),
        ((10,), 100, "1 night is too few, 3 are needed"),
        ((10, 20), 100, "2 nights are too few, 3 are needed"),
        ((30, 20, 10), 100, "the bytes do not grow"),
        ((10, 10, 10), 100, "the bytes do not grow"),
        ((10, 20, 30), None, "the key capacity of the configuration is not set"),
    ],
)
def test_without_a_basis_there_is_no_forecast(sizes: Sequence[int], capacity: int | None, words: str) -> None:
    forecast = days_until_full(nights(*sizes), capacity)
    assert (forecast.refusal, forecast.days, forecast.full_at) == (words, None, None)


def test_a_disk_that_is_full_after_all_instants_has_no_date() -> None:
    forecast = days_until_full(nights(10, 11, 12), 10**9)
    assert forecast.is_distant
    assert forecast.document()["full_at"] is None
    near = days_until_full(nights(10, 20, 30), 100)
    assert not near.is_distant
    assert near.document()["full_at"] == format_instant(near.full_at or 0)


def test_what_is_full_is_full_now_whatever_the_pace() -> None:
    assert days_until_full(nights(120, 110, 100), 100).days == 0.0


def test_without_a_stated_capacity_what_is_free_counts() -> None:
    totals = nights(10, 20, 30)
    assert capacity_of(totals, None, 7) == 37
    assert capacity_of(totals, 100, 7) == 100
    assert capacity_of(totals, None, None) is None
    assert capacity_of([], None, 7) is None


def test_of_several_listings_of_a_day_the_last_counts() -> None:
    again = [NightTotal(FIRST + 3_600_000, "HELD PENDING", 1, 99)]
    assert days_until_full([*again, *nights(10, 20)], 100).nights == 2
    assert days_until_full([*again, *nights(10, 109, 119)], 1000).growth_per_day == 10


@given(st.lists(st.integers(0, 1 << 50), min_size=3, max_size=20), st.integers(1, 1 << 52), st.randoms())
def test_a_forecast_is_never_before_the_last_night_and_order_does_not_matter(
    sizes: list[int], capacity: int, random: Random
) -> None:
    totals = nights(*sizes)
    forecast = days_until_full(totals, capacity)
    assert (forecast.refusal is None) == (forecast.days is not None) == (forecast.full_at is not None)
    if forecast.full_at is not None:
        assert forecast.full_at >= FIRST + (len(sizes) - 1) * DAY_MS
    random.shuffle(totals)
    assert days_until_full(totals, capacity) == forecast


def key(day: int) -> RunKey:
    return RunKey.of("prod-a", f"night-{day}", FIRST + day * DAY_MS)


def identity(day: int) -> dict[str, object]:
    return {"cluster": "prod-a", "run_id": key(day).run_id, "run_date": key(day).run_date}


def attempt(day: int, name: str, action: str, status: str, at: int, size: int = 0) -> dict[str, object]:
    own = {"action": action, "attempt": name, "status": status, "at": at, "done_files": size // 10, "done_bytes": size}
    return identity(day) | own


def outcome(day: int, name: str, path: str, outcome_: str, at: int, phase: str = "OUTCOME") -> dict[str, object]:
    return identity(day) | {
        "attempt": name, "action": "CLEAN", "phase": phase, "outcome": outcome_, "path": path, "length": 7, "at": at,
    }  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Four nights that grow by 100 B; after the second, clean moves 40 B, of which 10 B are restored."""
    append(tmp_path, PINNED_BYTES, [])
    append(tmp_path, FINDINGS, [])
    for day in range(4):
        at = FIRST + day * DAY_MS
        append(tmp_path, RUNS, [identity(day) | {"status": "DONE", "at": at + 9, "files_started_at": at}])
        size = 100 * (day + 1) - (30 if day > 1 else 0)
        total = {"verdict": "HELD", "reason": "PENDING", "files": 1, "bytes": size}
        append(tmp_path, VERDICT_TOTALS, [identity(day) | total])
    return tmp_path


def test_what_rests_in_the_quarantine_still_fills_the_disk(lake: Path) -> None:
    moved, restored = FIRST + DAY_MS + 5_000, FIRST + DAY_MS + 9_000
    append(
        lake,
        CLEANUPS,
        [
            attempt(1, "a", "CLEAN", "STARTED", moved - 1),
            attempt(1, "a", "CLEAN", "DONE", moved, 40),
            attempt(1, "b", "RESTORE", "STOPPED", restored, 10),
        ],
    )
    at = FIRST + 3 * DAY_MS
    earlier = reader(lake).histories({"prod-a": at}, 30)["prod-a"]
    steps = cleanup_steps(reader(lake), "prod-a", key(3).run_date)
    totals = night_totals(at, [VerdictTotal("HELD", "PENDING", "KEEP", 1, 370)], earlier, steps)
    assert [one.bytes for one in totals if one.group == QUARANTINE] == [0, 0, 30, 30]
    assert days_until_full(totals, 1000).growth_per_day == 100
    (rest,) = quarantined(steps).values()
    assert (rest.files, rest.bytes, rest.moved_at) == (3, 30, moved)


@pytest.mark.parametrize("grace", [7, 30, 60])
def test_a_quarantine_that_stays_as_large_does_not_grow(tmp_path: Path, grace: int) -> None:
    """Each night cleans as many bytes as it purges, of a run that may be older than `LOOK_BACK`."""
    last = 2 * grace
    cleaned = [attempt(day, f"c{day}", "CLEAN", "DONE", FIRST + day * DAY_MS + 5, 10) for day in range(last + 1)]
    purged = [
        attempt(day, f"p{day}", "PURGE", "DONE", FIRST + (day + grace) * DAY_MS + 9, 10) for day in range(grace + 1)
    ]
    append(tmp_path, CLEANUPS, cleaned + purged)
    steps = cleanup_steps(reader(tmp_path), "prod-a", key(last).run_date)
    days = range(grace + 1, last)
    listed = tuple(FIRST + day * DAY_MS for day in days)
    earlier = EarlierNights(nights=listed, empty=frozenset(listed))
    totals = night_totals(FIRST + last * DAY_MS, [], earlier, steps)
    assert {one.bytes for one in totals if one.group == QUARANTINE} == {grace * 10}


def test_each_cluster_of_a_fleet_looks_back_from_its_own_night(lake: Path) -> None:
    later, own = FIRST + 42 * DAY_MS, FIRST + 3 * DAY_MS
    found = reader(lake).histories({"prod-a": later, "prod-b": own}, 30)
    assert found["prod-a"].nights == (FIRST + 2 * DAY_MS, FIRST + 3 * DAY_MS)


def test_the_pace_is_that_of_the_last_nights() -> None:
    last = FIRST + 20 * DAY_MS
    earlier = EarlierNights(tuple(nights(*range(20))), nights=tuple(FIRST + day * DAY_MS for day in range(20)))
    totals = night_totals(last, [], earlier, [])
    assert {one.files_started_ms for one in totals} == {FIRST + day * DAY_MS for day in range(20 - NIGHTS + 1, 21)}


def test_a_night_without_a_file_counts_as_empty() -> None:
    """Its run is DONE with 0 bytes, and left no row in `verdict_totals`, because nothing was there."""
    days = tuple(FIRST + day * DAY_MS for day in range(3))
    earlier, tonight = EarlierNights(tuple(nights(100, 200, 300)), nights=days), FIRST + 3 * DAY_MS
    totals = night_totals(tonight, [], earlier, [])
    capacity = capacity_of(totals, None, 1000)
    assert days_until_full(totals, capacity) == Forecast(4, 0, 1000, -20, refusal="the bytes do not grow")
    totals = night_totals(tonight, [], EarlierNights(nights=days, empty=frozenset(days)), [])
    assert days_until_full(totals, None).nights == 4


def test_a_night_whose_totals_were_removed_does_not_count(tmp_path: Path) -> None:
    """`maintain` may keep `runs` longer than `verdict_totals`."""
    append(tmp_path, PINNED_BYTES, [])
    append(tmp_path, FINDINGS, [])
    append(tmp_path, VERDICT_TOTALS, [])
    for day, size in enumerate((1000, 0, 1000, 1000)):
        at = FIRST + day * DAY_MS
        run = {"status": "DONE", "at": at + 9, "files_started_at": at, "bytes": size}
        append(tmp_path, RUNS, [identity(day) | run])
        if day > 1:
            total = {"verdict": "HELD", "reason": "PENDING", "files": 1, "bytes": size}
            append(tmp_path, VERDICT_TOTALS, [identity(day) | total])
    tonight = FIRST + 4 * DAY_MS
    earlier = reader(tmp_path).histories({"prod-a": tonight}, 30)["prod-a"]
    totals = night_totals(tonight, [VerdictTotal("HELD", "PENDING", "KEEP", 1, 1000)], earlier, [])
    assert sorted({one.files_started_ms for one in totals}) == [FIRST + day * DAY_MS for day in (1, 2, 3, 4)]


def test_an_attempt_that_died_counts_by_its_files(lake: Path) -> None:
    at = FIRST + DAY_MS + 5_000
    append(
        lake,
        CLEANUPS,
        [attempt(1, "a", "CLEAN", "STARTED", at), attempt(1, "b", "CLEAN", "FAILED", at + 9, 1000)],
    )
    append(
        lake,
        DELETIONS,
        [
            outcome(1, "a", "x", "", at, "INTENT"),
            outcome(1, "a", "x", "MOVED", at),
            outcome(1, "b", "y", "CHANGED", at + 3),
            outcome(1, "b", "z", "MOVED", at + 4),
        ],
    )
    steps = cleanup_steps(reader(lake), "prod-a", key(3).run_date)
    assert [(step.action, step.status, step.files, step.bytes) for step in steps] == [
        ("CLEAN", "STARTED", 1, 7),
        ("CLEAN", "FAILED", 1, 7),
    ]
    append(lake, CLEANUPS, [attempt(1, "c", "PURGE", "DONE", at + DAY_MS, 2)])
    append(lake, DELETIONS, [outcome(1, "c", path, "PURGED", at + DAY_MS) for path in ("x", "z")])
    assert quarantined(cleanup_steps(reader(lake), "prod-a", key(3).run_date)) == {}


def test_a_purge_that_left_nothing_empties_the_quarantine(lake: Path) -> None:
    """Two of ten files were gone already, and no row says how large they were."""
    moved, emptied = FIRST + 5, FIRST + DAY_MS
    rows = [
        attempt(0, "a", "CLEAN", "DONE", moved, 100),
        attempt(0, "b", "PURGE", "DONE", emptied, 80) | {"left_files": 0, "gone_files": 2},
        attempt(1, "c", "CLEAN", "DONE", moved, 100),
        attempt(1, "d", "PURGE", "DONE", emptied, 80) | {"left_files": 2},
    ]
    append(lake, CLEANUPS, rows)
    steps = cleanup_steps(reader(lake), "prod-a", key(3).run_date)
    assert {run.run_id: rest.bytes for run, rest in quarantined(steps, emptied - 1).items()} == {
        "night-0": 100,
        "night-1": 100,
    }
    assert {run.run_id: rest.bytes for run, rest in quarantined(steps).items()} == {"night-1": 20}
    assert [step.bytes for step in steps if step.action == "PURGE"] == [80, 80]


def test_a_purge_that_found_no_file_any_more_empties_the_quarantine_of_a_dead_clean(lake: Path) -> None:
    dead = attempt(0, "a", "CLEAN", "STARTED", FIRST + 5)
    purge = attempt(0, "b", "PURGE", "DONE", FIRST + DAY_MS) | {"left_files": 0, "gone_files": 2}
    append(lake, CLEANUPS, [dead, purge])
    moved = [outcome(0, "a", path, "MOVED", FIRST + 5) for path in "xyz"]
    append(lake, DELETIONS, [*moved, outcome(0, "b", "x", "PURGED", FIRST + DAY_MS)])
    steps = cleanup_steps(reader(lake), "prod-a", key(3).run_date)
    assert [(step.action, step.files) for step in steps] == [("CLEAN", 3), ("PURGE", 1)]
    assert quarantined(steps) == {}


@pytest.mark.parametrize(
    ("action", "left", "days", "asked"),
    [("PURGE", 0, 42, False), ("PURGE", 0, 41, True), ("PURGE", 1, 42, True), ("RESTORE", 0, 42, True)],
)
def test_a_run_that_was_emptied_before_the_look_back_is_not_summed_up_by_file(
    lake: Path, monkeypatch: pytest.MonkeyPatch, action: str, left: int, days: int, asked: bool
) -> None:
    last = attempt(0, "b", action, "DONE", FIRST + DAY_MS, 80) | {"left_files": left}
    append(lake, CLEANUPS, [attempt(0, "a", "CLEAN", "FAILED", FIRST + 5), last])
    append(lake, DELETIONS, [])
    queries = []
    monkeypatch.setattr(LakeReader, "ask", lambda _, query: queries.append(query) or [])
    steps = cleanup_steps(reader(lake), "prod-a", key(days).run_date)
    assert bool(queries) == asked
    assert not quarantined(steps)


def test_without_a_clean_up_there_are_no_steps(lake: Path) -> None:
    assert cleanup_steps(reader(lake), "prod-a", key(3).run_date) == ()
