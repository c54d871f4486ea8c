"""The benchmark's report: ratios, and results that take the place of the ones before."""

import json
from pathlib import Path

import pytest

from benchmarks.speed_report import (
    BEGIN,
    END,
    GIB,
    MIB,
    CleanerSpeed,
    DecisionSpeed,
    JobSpeed,
    NightsSpeed,
    Speed,
    publish,
    table,
)

SPEED = Speed(
    cores=2,
    load=0.34,
    cleaner=CleanerSpeed(1_000_000, 400_000, [12.0, 10.0, 11.0], 737.4),
    decision=DecisionSpeed(
        10_000_000, {"PENDING": 6_000_000, "REPLICATED": 4_000_000}, [5.0, 4.0, 6.0], 400_000, [3.0, 2.0]
    ),
    jobs=[JobSpeed(10_000_000, 4_000_000, 5.0, 75.0, 3 * GIB, 200 * MIB)],
    nights=NightsSpeed(200_000, [30.0, 8.0, 9.0, 7.0, 8.5, 8.0]),
)


def test_ratios_are_of_the_best_runs() -> None:
    assert SPEED.cleaner.per_second == 100_000
    assert SPEED.decision_ratio == pytest.approx(25)
    assert SPEED.cleaner_seconds(10_000_000) == pytest.approx(100)


def test_the_yardstick_is_a_ratio_of_the_best_runs() -> None:
    assert "| 5,000,000 | walsafe does 0.50 of its files/s |" in table(SPEED)


def test_a_job_is_compared_with_its_session_included() -> None:
    (job,) = [line for line in table(SPEED).splitlines() if "whole job" in line]
    assert "| 75.0 + 5.0 session |" in job
    assert "| 0.80 of its time to decide alone (100 s) |" in job
    assert "JVM 3.0 GiB, Python 200 MiB" in job


def test_the_night_that_makes_the_tables_is_in_neither_half() -> None:
    assert SPEED.nights is not None
    assert (SPEED.nights.early, SPEED.nights.late) == (8.0, 8.0)
    assert "| 30.0 | 8.0 | 8.0 | 8.0 | 8.0 |" in table(SPEED)


def test_results_take_the_place_of_the_ones_before(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"above\n{BEGIN}\nstale\n{END}\nbelow\n")
    publish(SPEED, "the command", tmp_path, tmp_path)
    publish(SPEED, "the command", tmp_path, tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "stale" not in page
    assert page.count(table(SPEED)) == 1
    assert page.startswith(f"above\n{BEGIN}\nOn 2 cores, with a load average of 0.3 before it began:\n")
    assert page.endswith(f"{END}\nbelow\n")
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["command"] == "the command"
    assert results["decision_ratio"] == pytest.approx(25)
    assert results["jobs"][0]["seconds"] == 75.0


def test_a_page_without_markers_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("no markers\n")
    with pytest.raises(ValueError, match="has no lines"):
        publish(SPEED, "the command", tmp_path, tmp_path)
    assert (tmp_path / "README.md").read_text() == "no markers\n"
