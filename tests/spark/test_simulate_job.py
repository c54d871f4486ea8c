"""The job `simulate`: it plays on executors, goes on where it was, and says 3 when data is lost."""

import json
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from jobs.simulate import wiring
from jobs.simulate.wiring import Request, play_seeds, replay, write_history
from pipelines.common.errors import EXIT_DONE, EXIT_PARTIAL, EXIT_USAGE, UsageError
from pipelines.decide.rule.verdict import decide
from pipelines.simulate.adversary.batch import code_sha256, play_range
from pipelines.simulate.adversary.captured import captured
from pipelines.simulate.adversary.walk import walk
from pipelines.snapshot.model import parse_snapshot
from tests.labs.small_cluster import NOW, Desk
from tests.strategies import view_of
from tests.strategies.generated import case_of

HISTORY = 776
"""A row moves behind the scanner; what is REPLICATED may go all the same."""
RANGE = 200
"""Smaller than the job's own, so that a test takes seconds."""


def context(spark: SparkSession) -> JobContext:
    return JobContext("simulate", spark=spark)


@pytest.mark.promise("simulate-plays-seeds")
def test_seeds_are_played_once(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "RANGE", RANGE)
    lake = f"file:{tmp_path}/lake"
    first, _ = play_seeds(context(spark), Request(0, 2 * RANGE - 50, "design", lake))
    again, text = play_seeds(context(spark), Request(RANGE // 2, 2 * RANGE + 50, "design", lake))
    assert (first["histories"], first["played_before"], first["violations"]) == (2 * RANGE, 0, 0)
    assert (again["histories"], again["played_before"], again["first_seed"]) == (3 * RANGE, 2 * RANGE, 0)
    rows = spark.read.format("delta").load(f"{lake}/simulations").orderBy("first_seed").collect()
    assert [row.first_seed for row in rows] == [0, RANGE, 2 * RANGE]
    here = play_range(RANGE, RANGE, "design")
    assert (rows[1].contested, rows[1].moves) == (here.contested, here.moves), "executors play the same histories"
    assert "0 lost data" in text


@dataclass
class Stopping:
    """A clock that ends the run when it is asked once too often."""

    answers: int

    def now_ms(self) -> int:
        self.answers -= 1
        if self.answers < 0:
            raise KeyboardInterrupt
        return 1_790_000_000_000


@pytest.mark.long
def test_a_run_that_is_stopped_goes_on_with_the_rest_and_believes_no_other_code(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "RANGE", 50)
    monkeypatch.setattr(wiring, "RANGES_OF_A_TASK", 1)
    wave, lake = spark.sparkContext.defaultParallelism * 50, f"file:{tmp_path}/lake"
    request = Request(0, 3 * wave, "design", lake)
    with monkeypatch.context() as earlier:
        earlier.setattr(wiring, "code_sha256", lambda: "0" * 64)
        play_seeds(context(spark), Request(0, 50, "design", lake))
    with pytest.raises(KeyboardInterrupt):
        play_seeds(JobContext("simulate", spark=spark, clock=Stopping(1)), request)
    rest, _ = play_seeds(context(spark), request)
    assert (rest["histories"], rest["played_before"]) == (3 * wave, wave)
    again, _ = play_seeds(JobContext("simulate", spark=spark, clock=Stopping(0)), request)
    assert again == {**rest, "played_before": 3 * wave}, "nothing is left to play, and the answer is the same"
    played = spark.read.format("delta").load(f"{lake}/simulations").where(f"code_sha256 = '{code_sha256()}'")
    firsts = [row.first_seed for row in played.collect()]
    assert sorted(firsts) == list(range(0, 3 * wave, 50)), "each range once"


def test_violations_are_written_with_their_shortest_history(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = f"file:{tmp_path}/lake"
    arguments = ["simulate", "--seeds", "1000", "--lake", lake, "--mutant", "no-directories"]
    assert main(arguments, context=context(spark)) == 3
    (row,) = spark.read.format("delta").load(f"{lake}/simulations").collect()
    assert row.mutant == "no-directories"
    one = row.violations[0]
    assert one.reason == "DEAD_NO_QUEUE"
    assert "crashes: off the online list, no crash procedure yet" in one.replay
    assert one.replay in capsys.readouterr().out


@pytest.mark.long
def test_queues_in_zookeeper_are_played_too(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "RANGE", RANGE)
    lake = f"file:{tmp_path}/lake"
    arguments = ["simulate", "--seeds", str(RANGE), "--lake", lake, "--queue-storage", "zookeeper"]
    assert main([*arguments, "--mutant", "zk-own-queues-only"], context=context(spark)) == 3
    (row,) = spark.read.format("delta").load(f"{lake}/simulations").collect()
    assert row.contested > 20
    assert "claims queue" in row.violations[0].replay
    assert row.violations[0].replay in capsys.readouterr().out


def test_one_history_is_shown(capsys: pytest.CaptureFixture[str], spark: SparkSession) -> None:
    assert main(["simulate", "--replay", "7"], context=context(spark)) == 0
    out = capsys.readouterr().out
    assert "Seed 7, mutant design" in out
    assert "capture: files" in out
    assert main(["simulate", "--replay", "7", "--queue-storage", "zookeeper"], context=context(spark)) == 0
    out = capsys.readouterr().out
    assert "Seed 7, mutant zk-design" in out
    assert "capture: queues-1, servers" in out


def test_the_capture_of_a_history_is_written_once(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "history"
    arguments = ["simulate", "--replay", str(HISTORY), "--out", str(out)]
    assert main(arguments, context=context(spark)) == 0
    assert f"reconcile --snapshot {out}" in capsys.readouterr().out
    snapshot = parse_snapshot(json.loads((out / "snapshot.json").read_text()))
    made = captured(walk(HISTORY), snapshot.steps[-1].finished_at)
    assert replace(snapshot, contents={}) == made.snapshot
    assert snapshot.contents["files/part-00000.parquet"].rows == len(made.files)
    assert main(arguments, context=context(spark)) == EXIT_USAGE, "a snapshot is never written over"


def test_the_history_has_what_a_reader_wants_to_see() -> None:
    """Another model has other histories: then take another seed."""
    case = case_of(captured(walk(HISTORY), NOW))
    assert case.snapshot.peers
    assert {decide(file, view_of(case)).reason.value for file in case.files} == {
        "REPLICATED",
        "PENDING",
        "CLUSTER_MOVED",
    }


@pytest.mark.deep
def test_the_capture_of_a_history_is_a_snapshot_that_reconcile_decides_on(spark: SparkSession, tmp_path: Path) -> None:
    write_history(HISTORY, "design", tmp_path / "history", context(spark).clock)
    outcome = Desk(spark, tmp_path).reconcile(tmp_path / "history", now=time.time_ns() // 1_000_000)
    case = case_of(captured(walk(HISTORY), NOW))
    expected = Counter(decide(file, view_of(case)).reason.value for file in case.files)
    assert outcome.exit_code in (EXIT_DONE, EXIT_PARTIAL)
    assert Counter(row["reason"] for row in Desk(spark, tmp_path).rows("wal_verdicts")) == expected


def test_a_mutant_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match=r"docs/proof\.md"):
        replay(1, "no-such-mutant")


@pytest.mark.parametrize(
    "wrong",
    [
        ["--seeds", "5"],
        ["--seeds", "0", "--lake", "x"],
        [],
        ["--seeds", "1", "--replay", "2"],
        ["--seeds", "1", "--lake", "x", "--out", "y"],
        ["--replay", "1", "--out", "y", "--mutant", "one-pass"],
        ["--replay", "1", "--out", "y", "--queue-storage", "zookeeper"],
        ["--replay", "1", "--mutant", "one-pass", "--queue-storage", "zookeeper"],
    ],
)
def test_wrong_usage_is_refused(wrong: list[str], spark: SparkSession) -> None:
    assert main(["simulate", *wrong], context=context(spark)) == 2
