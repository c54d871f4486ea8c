"""docs/benchmarks.md and the costs in docs/maintain.md are what benchmarks/results says."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench import collections
from benchmarks.floor import LOG_LINE, covered, pieces, slowest
from benchmarks.pages import capture, clean, marginal, nights, page, sizes
from benchmarks.records import Run, add, command_line, newest_of_each, recorded
from benchmarks.speed_report import MIB, JobSpeed
from benchmarks.split_pages import DecodeSpeed, HashSpeed, SplitSpeed, VerifySpeed, as_point
from benchmarks.year import in_a_year, year
from scripts.generate_benchmarks import BENCHMARKS, MAINTAIN, maintain_page
from tests.labs.places import PROJECT

RUN = Run("2026-11-22T12:00:00Z", ".venv/bin/python benchmarks/x.py", 2, 0.1)


def job(files: int, seconds: float) -> JobSpeed:
    return JobSpeed(files, files // 3, 5.0, seconds, 1 << 30, 1 << 28, 100 * MIB, 0.5, "4g")


@pytest.mark.promise("numbers-are-of-recorded-runs")
def test_the_pages_say_what_was_measured() -> None:
    again = "run: scripts/generate_benchmarks.py"
    assert BENCHMARKS.read_text(encoding="utf-8") == page(), again
    text = MAINTAIN.read_text(encoding="utf-8")
    assert text == maintain_page(text), again


@pytest.mark.promise("numbers-are-of-recorded-runs")
def test_every_recorded_line_is_of_a_benchmark_that_the_page_shows() -> None:
    shown = page()
    folder = PROJECT / "benchmarks" / "results"
    for file in folder.glob("*.jsonl"):
        runs = recorded(file.stem)
        assert runs
        for run in runs:
            assert run.command in shown + MAINTAIN.read_text(encoding="utf-8"), file.name


def test_the_newest_run_of_each_command_is_shown(tmp_path: Path) -> None:
    other = replace(RUN, command="another one", began="between")
    for run, seconds in ((RUN, 50.0), (other, 60.0), (replace(RUN, began="later"), 70.0)):
        add(run, "sizes", asdict(job(1_000_000, seconds)), tmp_path)
    assert [(run.command, run.began) for run in newest_of_each("sizes", tmp_path)] == [
        (RUN.command, "later"),
        ("another one", "between"),
    ]
    shown = page(tmp_path)
    assert ("50.0" in shown, shown.index("70.0") < shown.index("60.0")) == (False, True)


def test_a_result_that_changes_changes_the_page(tmp_path: Path) -> None:
    add(RUN, "sizes", asdict(job(1_000_000, 50.0)), tmp_path)
    before = page(tmp_path)
    add(replace(RUN, began="later"), "sizes", asdict(job(1_000_000, 60.0)), tmp_path)
    assert "50.0" in before
    assert "60.0" in page(tmp_path)
    assert "50.0" not in page(tmp_path), "an older run stays in the file alone"
    assert [run.began for run in recorded("sizes", tmp_path)] == [RUN.began, "later"]


def test_the_speeds_of_partition_splits_are_shown_as_they_were_recorded(tmp_path: Path) -> None:
    assert "Partition splits" not in page(tmp_path)
    add(RUN, "split_speed", as_point(HashSpeed("17 bytes", 1_000_000, 50.0, 150.0)), tmp_path)
    add(RUN, "split_speed", as_point(VerifySpeed(10_000_000, 2, 20.0, 90.0)), tmp_path)
    add(RUN, "split_logs_and_run", as_point(DecodeSpeed("large", 64 << 20, 300_000, 0.5, 1.0)), tmp_path)
    add(RUN, "split_logs_and_run", as_point(SplitSpeed(1_000_000, 0.5, 1.25)), tmp_path)
    shown = page(tmp_path)
    assert "1,000,000 of each; the goal is 15 M keys/s a core" in shown
    assert "| 17 bytes | 20.0 | 50 | 150 | 3.0 |" in shown
    assert "| equal | 10,000,000 | 2 | 20.0 | 90.0 | 4.5 |" in shown
    assert "| large | 64 | 300,000 | 134 | 67 | 300,000 |" in shown
    assert "| 1,000,000 | 2,000,000 | 800,000 | 0.40 |" in shown


def test_the_questions_stand_in_a_table_with_a_column_for_each_place(tmp_path: Path) -> None:
    size = {"files": 1_000_000, "nights": 30}
    for place, question, seconds in (("disk", "state", 1.25), ("HA HDFS", "state", 2.0), ("disk", "file", 3.0)):
        add(RUN, "explain", {"place": place, "question": question, "seconds": seconds, **size}, tmp_path)
    shown = page(tmp_path)
    assert "30 nights of 1,000,000 files in the lake." in shown
    assert "| `explain` | disk | HA HDFS |" in shown
    assert "| state | 1.2 s | 2.0 s |" in shown
    assert "| file | 3.0 s |  |" in shown


def test_a_command_has_no_directory_of_the_machine_in_it() -> None:
    words = ["sizes", "--files", "1", "2", "--work", "/big", "--out=/there", "--heap", "4g"]
    assert command_line("/home/me/x/scaling.py", words) == (
        ".venv/bin/python benchmarks/scaling.py sizes --files 1 2 --heap 4g"
    )


def test_the_marginal_speed_leaves_the_start_out() -> None:
    assert marginal(job(1_000_000, 40.0), job(3_000_000, 50.0)) == pytest.approx(200_000)
    shown = sizes(replace(RUN, points=(asdict(job(1_000_000, 40.0)), asdict(job(3_000_000, 50.0)))))
    assert "| 40.0 | 25,000 |" in shown
    assert "| 60,000 | heap in use 100 MiB;" in shown.replace("50.0 | ", "")
    assert "| 200,000 |" in shown
    assert "the goal is" not in shown


@pytest.mark.parametrize(
    ("seconds", "told"),
    # 200,000 files/s were added before; two million more in these seconds
    [(12.5, "In its last step 20.0% fewer files/s"), (8.0, "In its last step 25.0% more files/s"), (0.0, None)],
)
def test_how_flat_it_is_stands_beside_the_goal(seconds: float, told: str | None) -> None:
    jobs = (job(1_000_000, 40.0), job(3_000_000, 50.0), job(5_000_000, 50.0 + seconds))
    shown = sizes(replace(RUN, points=tuple(asdict(one) for one in jobs)))
    assert told is None or told in shown
    assert shown.endswith("the goal is at most 20% fewer.") == (told is not None)


def test_history_is_told_without_the_night_that_makes_the_tables() -> None:
    seconds = [90.0, 10.0, 11.0, 12.0, 13.0, 14.0]
    points: list[dict[str, Any]] = [
        {"night": number, "files": 1000, "seconds": took, "lake_bytes": 1 << 20}
        for number, took in enumerate(seconds, 1)
    ]
    points.append({"night": 6, "files": 1000, "seconds": 10.5, "lake_bytes": None})
    shown = nights(replace(RUN, points=tuple(points)))
    assert "| median of nights 2 to 4 | 11.0 |" in shown
    assert "| median of the last 3 nights | 13.0, 1.18 times |" in shown
    assert "| the files of night 6 in a lake with one night before | 10.5 |" in shown


def test_the_newest_capture_of_each_source_is_shown() -> None:
    point = {"source": "ls", "files": 1000, "seconds": 2.0, "listing_seconds": 1.5}
    point |= {"jvm_peak_bytes": 1 << 30, "python_peak_bytes": MIB, "heap_live_bytes": 10 * MIB, "heap": "4g"}
    other = point | {"source": "hadoop", "seconds": 4.0}
    shown = capture([replace(RUN, points=(point, other)), replace(RUN, points=(point | {"seconds": 5.0},))])
    assert [line.split(" | ")[:3] for line in shown.splitlines()[2:]] == [
        ["| hadoop", "1,000", "4.0"],
        ["| ls", "1,000", "5.0"],
    ]


def test_a_year_counts_the_nights_that_are_kept() -> None:
    assert in_a_year([(10.0, 90), (1.0, 365)]) == (4015.0, 1265.0)
    kinds = [
        {"name": "wal_verdicts", "bytes_a_night": 1024.0, "nights_kept": 90, "is_table": True},
        {"name": "lists", "bytes_a_night": 1024.0, "nights_kept": 30, "is_table": False},
    ]
    point = {"files": 1_000_000, "nights": 5, "kinds": kinds, "log_bytes": 2048, "maintain_seconds": 9.6}
    shown = year(replace(RUN, points=(point,)))
    assert "| `wal_verdicts` | 1.0 KiB | 0.0 | 365.0 KiB | 90.0 KiB (90 nights) |" in shown
    assert "| **all** | 2.0 KiB | 0.0 | 730.0 KiB | 120.0 KiB |" in shown
    assert "**10,000,000 files a night**, with the same bytes for each file: 7.1 MiB a year without" in shown


def test_the_collectors_log() -> None:
    log = (
        "[0.5s][info][gc] Using Parallel\n"
        "[2.1s][info][gc] GC(0) Pause Young (Allocation Failure) 1024M->100M(3925M) 8.500ms\n"
        "[9.9s][info][gc] GC(1) Pause Full (Ergonomics) 900M->300M(3925M) 91.500ms\n"
    )
    found = collections(log)
    assert (found.live_bytes, found.seconds) == (300 * MIB, pytest.approx(0.1))


EVENTS: list[dict[str, Any]] = [
    {"Event": "SparkListenerApplicationStart", "Timestamp": 4_000},
    {"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": 11_000},
    {"Event": "SparkListenerJobStart", "Job ID": 1, "Submission Time": 12_000},
    {"Event": "SparkListenerJobEnd", "Job ID": 1, "Completion Time": 13_000},
    {"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": 14_000},
    {
        "Event": "x.SparkListenerSQLExecutionStart",
        "executionId": 5,
        "rootExecutionId": 5,
        "description": "a",
        "time": 1000,
    },
    {
        "Event": "x.SparkListenerSQLExecutionStart",
        "executionId": 6,
        "rootExecutionId": 5,
        "description": "b",
        "time": 1500,
    },
    {"Event": "x.SparkListenerSQLExecutionEnd", "executionId": 6, "time": 9_000},
    {
        "Event": "x.SparkListenerSQLExecutionStart",
        "executionId": 7,
        "rootExecutionId": 7,
        "description": "collect at /x/walsafe-1.zip/pipelines/y.py:3",
        "time": 2_000,
    },
    {"Event": "x.SparkListenerSQLExecutionEnd", "executionId": 7, "time": 4_000},
    {"Event": "x.SparkListenerSQLExecutionEnd", "executionId": 5, "time": 6_000},
    {"Event": "SparkListenerApplicationEnd", "Timestamp": 15_000},
]


def test_a_night_is_cut_at_log_lines_and_spark_events() -> None:
    cut = pieces(1.0, [(10.0, "deciding"), (13.5, "writing")], 16.0, EVENTS)
    assert [(one.name, one.seconds, one.jobs, one.job_seconds) for one in cut] == [
        ("shell, arguments, JVM", 3.0, 0, 0.0),
        ("Spark's context", 6.0, 0, 0.0),
        ("deciding", 3.5, 2, 2.5),
        ("writing", 1.5, 0, 0.5),
        ("end of the processes", 1.0, 0, 0.0),
    ]
    assert sum(one.seconds for one in cut) == 15.0


@pytest.mark.parametrize(
    ("logged", "piece"),
    [
        ("INFO    pipelines.reconcile.night_run: deciding", "deciding"),
        ("INFO    jobs.reconcile.wiring: checking 1 snapshot(s)", "checking 1 snapshot(s)"),
        ("INFO    pipelines.common.progress: Spark stage 16: 1 of 2 tasks", None),
        ("WARN    SparkConf: Note that", None),
    ],
)
def test_a_line_of_progress_begins_no_piece(logged: str, piece: str | None) -> None:
    line = LOG_LINE.match(f"2026-11-29T12:16:53Z {logged}")
    assert (line and line[1]) == piece


def test_a_query_within_another_counts_with_it() -> None:
    assert slowest(EVENTS, 8) == [("a", 5.0), ("collect at pipelines/y.py:3", 2.0)]
    assert slowest(EVENTS, 1) == [("a", 5.0)]


def test_overlapping_spans_count_once() -> None:
    assert covered([(0.0, 4.0), (1.0, 2.0), (3.0, 6.0), (8.0, 9.0)]) == 7.0
    assert covered([]) == 0.0


def test_lines_are_json(tmp_path: Path) -> None:
    add(RUN, "floor", {"seconds": 1.0}, tmp_path)
    (line,) = (tmp_path / "floor.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {
        "run": RUN.began,
        "command": RUN.command,
        "cores": 2,
        "load": 0.1,
        "loop_seconds": None,
        "point": {"seconds": 1.0},
    }
    assert recorded("floor", tmp_path) == [replace(RUN, points=({"seconds": 1.0},))]


def test_the_clean_up_is_compared_with_a_client_that_only_renames() -> None:
    points = [
        {"step": "plain client, first", "files": 1000, "seconds": 4.0, "moving_seconds": None},
        {"step": "clean, rehearsal", "files": 1000, "seconds": 4.0, "moving_seconds": None},
        {"step": "clean --execute", "files": 1000, "seconds": 9.0, "moving_seconds": 4.0},
        {"step": "plain client, last", "files": 1000, "seconds": 2.0, "moving_seconds": None},
    ]
    text = clean(Run("2026-11-25T00:00:00Z", "clean_speed.py", 2, 0.1, points))
    assert "| plain client, first | 1,000 | 4.0 | 4.0 | 250 | 0.50 |" in text
    assert "| plain client, last | 1,000 | 2.0 | 2.0 | 500 | 1.00 |" in text
    assert "| clean, rehearsal | 1,000 | 4.0 |  |  |  |" in text
    assert "| clean --execute | 1,000 | 9.0 | 4.0 | 250 | 0.50 |" in text
