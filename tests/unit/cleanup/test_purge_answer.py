"""The exit code of a purge of several runs, and what its answer names."""

from collections.abc import Sequence

import pytest

from pipelines.cleanup.deletions import CleanupFile, CleanupTally, FileOutcome, FileResult
from pipelines.cleanup.purge_answer import NOT_BEGUN, RunPurge, purge_outcome
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError, WalsafeError
from pipelines.common.job_result import JobResult
from pipelines.lake.run_summary import DONE
from tests.labs.cleanup.memory import Process
from tests.labs.cleanup.world import World

FAILED_FILE = FileResult(CleanupFile("oldWALs/a", 5, 1), FileOutcome.FAILED, why="no", error="x")
LEFT_FILE = FileResult(CleanupFile("oldWALs/b", 5, 1), FileOutcome.REFUSED)


def done(*left: FileResult) -> RunPurge:
    return RunPurge("good", DONE, CleanupTally(1, 1), list(left))


def ended(error: WalsafeError, run_id: str = "bad") -> RunPurge:
    report = RunPurge(run_id)
    report.ended(error)
    return report


def answer(*runs: RunPurge) -> JobResult:
    return purge_outcome(World().edges(Process())[0], runs)


REFUSED, UNAVAILABLE, USAGE = (
    RefusedError(Condition.CLUSTER_NOT_QUIET, "no"),
    UnavailableError("no answer"),
    UsageError("a bad name"),
)
NOT_YET = RunPurge("later", NOT_BEGUN, reason="a person asked for an end")
NO_LEASE = RunPurge("later", NOT_BEGUN, reason="no answer", error=UNAVAILABLE)


@pytest.mark.promise("exit-5")
@pytest.mark.parametrize(
    ("runs", "code"),
    [
        ([], 0),
        ([done()], 0),
        ([done(LEFT_FILE)], 0),
        ([done(FAILED_FILE)], 4),
        ([RunPurge("waits")], 0),
        ([done(), ended(REFUSED)], 5),
        ([ended(USAGE), done()], 5),
        ([done(), ended(REFUSED), ended(USAGE)], 5),
        ([ended(REFUSED)], 3),
        ([ended(USAGE)], 2),
        ([ended(REFUSED), ended(USAGE)], 3),
        ([ended(USAGE), ended(REFUSED)], 3),
        ([ended(REFUSED), ended(REFUSED)], 3),
        ([done(), ended(UNAVAILABLE)], 4),
        ([ended(UNAVAILABLE), ended(REFUSED)], 4),
        ([done(), done(FAILED_FILE), ended(REFUSED)], 4),
        ([ended(REFUSED), NOT_YET], 3),
        ([ended(REFUSED), NO_LEASE], 4),
        ([done(), NOT_YET], 0),
    ],
)
def test_the_exit_code_of_several_runs(runs: Sequence[RunPurge], code: int) -> None:
    assert answer(*runs).exit_code == code


def test_a_run_that_failed_has_the_status_and_the_words_of_its_error() -> None:
    assert [(one.status, one.reason, one.exit_code) for one in (ended(REFUSED), ended(UNAVAILABLE), ended(USAGE))] == [
        ("REFUSED", "no", 3), ("FAILED", "no answer", 4), ("FAILED", "a bad name", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("runs", "kind", "condition", "message"),
    [
        (
            [done(), ended(REFUSED)],
            "RefusedError",
            "CLUSTER_NOT_QUIET",
            "1 of 2 runs in quarantine need a look; bad: no",
        ),
        (
            [ended(REFUSED), ended(UNAVAILABLE, "worst"), done()],
            "UnavailableError",
            "UNAVAILABLE",
            "2 of 3 runs in quarantine need a look; worst: no answer",
        ),
    ],
)
def test_the_error_that_decides_the_exit_code_is_told(
    runs: Sequence[RunPurge], kind: str, condition: str, message: str
) -> None:
    outcome = answer(*runs)
    assert outcome.result["error"] == {"kind": kind, "condition": condition, "message": message}
    names = ", ".join(one.run_id for one in runs if one.error)
    assert outcome.text.splitlines()[-1] == f"{message.partition(';')[0]}: {names}"


def test_without_trouble_there_is_no_error() -> None:
    outcome = answer(done(LEFT_FILE), NOT_YET)
    assert "error" not in outcome.result
    assert answer().text == "Nothing of prod is in quarantine."


def test_a_run_is_told_with_its_sums_and_the_first_hundred_files_that_were_left() -> None:
    many = [FileResult(CleanupFile(f"oldWALs/{number}", 1, 1), FileOutcome.REFUSED) for number in range(101)]
    report = RunPurge("n1", DONE, CleanupTally(1, 2, 3, 4, 5), many, waits_ms=7, reason="why")
    (run,) = answer(report).result["runs"]  # type: ignore[misc]
    left = run.pop("left")
    assert run == {
        "run_id": "n1", "status": DONE, "reason": "why", "condition": None, "waits_ms": 7,
        "done_files": 1, "done_bytes": 2, "left_files": 3, "left_bytes": 4, "gone_files": 5,
    }  # fmt: skip
    assert [one["path"] for one in left] == [f"oldWALs/{number}" for number in range(100)]
    assert answer().result == {"cluster": "prod", "runs": []}
