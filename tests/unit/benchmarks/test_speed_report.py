"""The benchmark's report: ratios are of the best runs, and what an older run lacks is left out."""

from dataclasses import asdict, replace

import pytest

from benchmarks.speed_report import (
    GIB,
    MIB,
    CleanerSpeed,
    DecisionSpeed,
    JobSpeed,
    Speed,
    speed_of,
    table,
)

SPEED = Speed(
    cleaner=CleanerSpeed(1_000_000, 400_000, [12.0, 10.0, 11.0], 737.4),
    decision=DecisionSpeed(
        10_000_000,
        {"PENDING": 6_000_000, "REPLICATED": 4_000_000},
        [5.0, 4.0, 6.0],
        400_000,
        [3.0, 2.0],
        [1.5, 1.0],
        [9.0, 8.0],
    ),
    jobs=[
        JobSpeed(1_000_000, 400_000, 5.0, 30.0, 2 * GIB, 200 * MIB),
        JobSpeed(10_000_000, 4_000_000, 5.0, 75.0, 3 * GIB, 200 * MIB, 500 * MIB, 1.0),
    ],
)


def test_ratios_are_of_the_best_runs() -> None:
    assert SPEED.cleaner.per_second == 100_000
    assert SPEED.decision_ratio == pytest.approx(25)
    assert SPEED.cleaner_seconds(10_000_000) == pytest.approx(100)


def test_of_the_times_before_and_after_the_better_one_counts() -> None:
    slower, slowest = (replace(SPEED.cleaner, seconds=[seconds]) for seconds in (20.0, 40.0))
    speed = replace(SPEED, later=[slower, slowest])
    assert speed.decision_ratio == pytest.approx(25)
    assert speed.cleaner_seconds(1_000_000) == pytest.approx(20)
    slow_before = replace(speed, cleaner=slowest, later=[slower])
    assert slow_before.decision_ratio == pytest.approx(50)
    assert [line.count("ReplicationLogCleaner") for line in table(speed).splitlines()[2:5]] == [1, 1, 1]
    assert speed_of(asdict(speed)) == speed


def test_the_yardsticks_are_ratios_of_the_best_runs() -> None:
    duckdb, polars = [line for line in table(SPEED).splitlines() if "the same counts" in line]
    assert "DuckDB" in duckdb
    assert "| 5,000,000 | walsafe does 0.50 of its files/s |" in duckdb
    assert "polars" in polars
    assert "| 10,000,000 | walsafe does 0.25 of its files/s |" in polars


def test_a_job_is_compared_with_its_session_included() -> None:
    tenth, job = [line for line in table(SPEED).splitlines() if "whole job" in line]
    assert "| 75.0 + 5.0 session |" in job
    assert (
        "| 0.80 of its time to decide alone (100 s, by its first million); 10.0 times DuckDB's for the same rows |"
        in job
    )
    assert "heap in use 500 MiB; resident: JVM 3.0 GiB, Python 200 MiB" in job
    assert "DuckDB" not in tenth, "it had other files"
    assert "| resident: JVM 2.0 GiB" in tenth


def test_a_recorded_run_is_read_again() -> None:
    assert speed_of(asdict(SPEED)) == SPEED


def test_an_older_run_has_no_second_yardstick() -> None:
    point = asdict(SPEED)
    for name in ("polars_seconds", "duckdb_rows_seconds"):
        del point["decision"][name]
    lines = table(speed_of(point)).splitlines()
    assert not [line for line in lines if "polars" in line or "Parquet" in line or "same rows" in line]
    assert len([line for line in lines if "DuckDB" in line]) == 1


def test_the_class_on_every_name_has_a_ratio_of_its_own() -> None:
    speed = replace(SPEED, every_name=CleanerSpeed(10_000_000, 4_000_000, [90.0, 80.0], 400.0))
    first, every = [line for line in table(speed).splitlines() if "ReplicationLogCleaner" in line]
    assert "first | 1,000,000" in first
    assert "on every name, last | 10,000,000 | 80.0 | 125,000 | walsafe does 20.0 times its files/s |" in every
    tenth, job = [line for line in table(speed).splitlines() if "whole job" in line]
    assert "0.80 of its time to decide alone (100 s, by its first million; 1.00 of the 80 s for every name)" in job
    assert "time to decide alone (10 s)" in tenth
    assert speed.decision_ratio == SPEED.decision_ratio
    assert speed_of(asdict(speed)) == speed
