"""purge deletes the very file that was moved, and what is odd beside it stops no other run."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.cleanup.audit_ports import CleanupAttempt
from pipelines.cleanup.clean_plan import purge_plan
from pipelines.cleanup.deletions import CleanupAction, CleanupFile, FileOutcome, FileResult
from tests.labs.cleanup.on_disk import CLUSTER, RUN, Lab, NightOver
from tests.labs.small_cluster import D1, H1, H2, archived

pytestmark = pytest.mark.long

FIRST, SECOND, THIRD = archived(H1, 1, 1).path, archived(H2, 1, 16).path, archived(D1, 1, 64).path


@pytest.fixture
def lab(night_over: NightOver) -> Lab:
    """A list was cleaned: its files rest."""
    return night_over.cleaned(Lab)


def resting(lab: Lab, path: str) -> Path:
    return lab.quarantine / RUN / path


def stat(file: Path) -> tuple[int, int]:
    """Length and time of modification in ms."""
    found = file.stat()
    return found.st_size, found.st_mtime_ns // 1_000_000


@pytest.mark.promise("purge-deletes-what-was-moved", "restore-gives-back-what-was-taken")
def test_a_file_that_is_not_the_one_that_was_moved_is_left_and_the_rest_goes(lab: Lab) -> None:
    replaced, longer = resting(lab, SECOND), resting(lab, THIRD)
    (length, modified), (_, longer_modified) = stat(replaced), stat(longer)
    replaced.write_bytes(b"x" * length)
    os.utime(replaced, ns=(0, (modified + 1) * 1_000_000))
    longer.write_bytes(longer.read_bytes() + b"!")
    os.utime(longer, ns=(0, longer_modified * 1_000_000))

    for execute in (False, True):
        done = lab.purge(execute=execute, before_grace="disk full")
        (run,) = done.result["runs"]  # type: ignore[misc]
        assert (run["done_files"], run["left_files"]) == (2, 2)
        left = {one["path"]: (one["outcome"], one["why"]) for one in run["left"]}
        assert {path: outcome for path, (outcome, _) in left.items()} == {SECOND: "CHANGED", THIRD: "CHANGED"}
        assert f"it has {length} bytes" in left[SECOND][1]
        assert f"walsafe moved a file of {length} bytes" in left[SECOND][1]
        assert SECOND in done.text
    assert set(lab.resting()) == {SECOND, THIRD}
    assert replaced.read_bytes() == b"x" * length
    recorded = {one["path"]: one["outcome"] for one in lab.rows("deletions", "action = 'PURGE' AND phase = 'OUTCOME'")}
    assert (recorded[SECOND], recorded[THIRD], recorded[FIRST]) == ("CHANGED", "CHANGED", "PURGED")

    stranger = resting(lab, "oldWALs/h9%2C16020%2C1.1789000000000")
    stranger.write_bytes(b"")
    back = lab.restore()
    left = {one["path"]: one["outcome"] for one in back.result["left"]}  # type: ignore[attr-defined, union-attr]
    assert left == {SECOND: "CHANGED", THIRD: "CHANGED", f"oldWALs/{stranger.name}": "REFUSED"}
    assert set(lab.resting()) == set(left)
    assert "somebody replaced it" in back.text


@pytest.mark.promise("null-is-held")
def test_what_is_not_known_of_a_file_is_no_proof_that_it_is_the_same(spark: SparkSession) -> None:
    columns = "path STRING, length LONG, modification_time TIMESTAMP"
    now = datetime(2026, 11, 21, tzinfo=UTC)
    names = ("whole", "no length", "no time", "no verdict")
    looked = spark.createDataFrame(
        [(name, 1, now, None if name == "no verdict" else "DELETABLE", "PROVEN") for name in names],
        f"{columns}, verdict STRING, reason STRING",
    )
    moved = spark.createDataFrame(
        [(name, None if name == "no length" else 1, None if name == "no time" else now, "MOVED") for name in names],
        f"{columns}, outcome STRING",
    )
    assert {one["path"]: one["outcome"] for one in purge_plan(looked, moved).collect()} == {
        "whole": None, "no length": "CHANGED", "no time": "CHANGED", "no verdict": "REFUSED",
    }  # fmt: skip


def test_only_a_file_whose_last_outcome_is_that_it_was_moved_is_walsafes_to_delete(spark: SparkSession) -> None:
    """What was put back, purged or gone since is not what lies there now, even if it looks the same."""
    columns = "path STRING, length LONG, modification_time TIMESTAMP"
    now = datetime(2026, 11, 21, tzinfo=UTC)
    outcomes = [one.value for one in FileOutcome]
    looked = spark.createDataFrame(
        [(one, 1, now, "DELETABLE", "PROVEN") for one in outcomes], f"{columns}, verdict STRING, reason STRING"
    )
    audited = spark.createDataFrame([(one, 1, now, one) for one in outcomes], f"{columns}, outcome STRING")
    ready = [row["path"] for row in purge_plan(looked, audited).collect() if row["outcome"] != "REFUSED"]
    assert ready == ["MOVED"]


@pytest.mark.promise("purge-deletes-what-was-moved")
def test_the_newest_row_says_which_file_was_moved(lab: Lab) -> None:
    """A path may have been moved more than once; what an earlier move took is another file."""
    length, modified = stat(resting(lab, FIRST))
    with lab.edges("purge") as (_, ports):
        decided = ports.audit.decided(CLUSTER, RUN)
        assert decided is not None

        def moved(lease: int, size: int, outcome: FileOutcome = FileOutcome.MOVED) -> None:
            lab.clock.instant += 1_000
            attempt = CleanupAttempt(decided.run, CleanupAction.CLEAN, "by hand", lease)
            ports.audit.record(attempt, 1, [FileResult(CleanupFile(FIRST, size, modified), outcome)])

        moved(9_000_000_090, length, FileOutcome.RESTORED)
        moved(9_000_000_092, length + 1)
        moved(9_000_000_091, length)  # written later, under an earlier lease
    left = lab.purge(before_grace="disk full").result["runs"][0]["left"]  # type: ignore[index]
    assert [(one["path"], one["outcome"]) for one in left] == [(FIRST, "CHANGED")]
    with lab.edges("purge") as (_, ports):
        moved(9_000_000_093, length)
    assert lab.purge(execute=True, before_grace="disk full").result["runs"][0]["left"] == []  # type: ignore[index]
    assert lab.resting() == {}
