"""What `--run-id latest` takes, and when it refuses: with real tables, without a JVM."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.cleanup.run_id import check_run, latest_cleaned, latest_list, on_run, refuse_latest
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.job_result import JobResult
from pipelines.lake.delta_rs import DeltaRs
from pipelines.lake.lake_queries import LakeQueries
from pipelines.lake.lake_records import RunRecord
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import RunKey

AT = datetime(2026, 11, 21, 2, tzinfo=UTC)
DAY = AT.date()
DONE = RunRecord("prod", "n2", DAY, "DONE", "NIGHTLY", 2, None, 2, "s", 0, "file:/lists/prod/n2")
OLDER = replace(DONE, run_id="n1", at=1, list_uri="file:/lists/prod/n1")


class Runs:
    """Answers with these runs, newest first."""

    def __init__(self, *runs: RunRecord) -> None:
        self._runs = runs

    def newest_runs(self, cluster: str | None) -> tuple[RunRecord, ...]:
        assert cluster == "prod"
        return self._runs

    def findings(self, runs: object) -> dict[str, tuple[()]]:
        raise AssertionError(runs)


def test_the_newest_run_that_wrote_a_list() -> None:
    assert latest_list("prod", Runs(DONE, OLDER)) == "n2"


@pytest.mark.promise("latest-is-never-an-older-list")
@pytest.mark.parametrize(
    ("newest", "words"),
    [
        (
            replace(DONE, status="REFUSED", reason="the master moved", list_uri=None),
            r"was REFUSED \(the master moved\)",
        ),
        (replace(DONE, status="FAILED", reason="HDFS is away"), r"was FAILED \(HDFS is away\)"),
        (replace(DONE, mode="REPLAY", list_uri=None), "was a replay and wrote no list"),
    ],
)
def test_an_older_list_is_never_taken_instead(newest: RunRecord, words: str) -> None:
    with pytest.raises(UsageError, match=f"n2, the newest run of cluster prod, {words}.*give --run-id n1"):
        latest_list("prod", Runs(newest, OLDER))
    with pytest.raises(UsageError, match=r"Capture and reconcile again$"):
        latest_list("prod", Runs(newest))


def test_a_cluster_without_a_run() -> None:
    with pytest.raises(UsageError, match="cluster prod has no finished run"):
        latest_list("prod", Runs())


def lake(path: Path, *begun: tuple[str, str, str, int, int]) -> LakeReader:
    """A lake with a run, and with INTENT rows: cluster, run, action, lease, and the hour at which it was written."""
    run = {
        "cluster": ["prod"], "run_id": ["n2"], "run_date": pa.array([DAY]), "status": ["DONE"], "at": [AT],
        "files_started_at": [AT],
    }  # fmt: skip
    write_deltalake(str(path / "runs"), pa.table(run))
    if begun:
        clusters, runs, actions, leases, hours = zip(*begun, strict=True)
        columns = {"cluster": clusters, "run_id": runs, "action": actions, "lease": leases}
        columns |= {"at": [AT + timedelta(hours=hour) for hour in hours], "run_date": [DAY] * len(hours)}
        columns |= {"phase": ["INTENT"] * len(hours)}
        write_deltalake(str(path / "deletions"), pa.table({name: list(values) for name, values in columns.items()}))
    return LakeReader(LakeQueries(str(path), DeltaRs.of(f"file:{path}", {}), None))


def test_restore_takes_the_run_that_was_cleaned_last(tmp_path: Path) -> None:
    reader = lake(
        tmp_path, ("prod", "n2", "CLEAN", 1, 3), ("prod", "n1", "CLEAN", 2, 5), ("prod", "n2", "PURGE", 3, 7),
        ("other", "n3", "CLEAN", 4, 9),
    )  # fmt: skip
    assert latest_cleaned("prod", reader) == "n1"


def test_the_lease_says_which_clean_was_later_whatever_the_clocks_of_two_hosts_say(tmp_path: Path) -> None:
    assert latest_cleaned("prod", lake(tmp_path, ("prod", "n1", "CLEAN", 2, 3), ("prod", "n2", "CLEAN", 1, 5))) == "n1"


@pytest.mark.parametrize("ended", ["STARTED", "FAILED", "REFUSED", "STOPPED", "DONE"])
def test_a_run_of_which_clean_touched_no_file_was_not_cleaned(tmp_path: Path, ended: str) -> None:
    """However its attempt ended: a source was away at the second look, or its list had no file that was left."""
    reader = lake(tmp_path, ("prod", "n1", "CLEAN", 1, 3))
    attempt = {"cluster": ["prod"], "run_id": ["n2"], "run_date": pa.array([DAY]), "action": ["CLEAN"]}
    attempt |= {"attempt": ["x"], "status": [ended], "at": [AT + timedelta(hours=5)]}
    write_deltalake(str(tmp_path / "cleanups"), pa.table(attempt))
    assert latest_cleaned("prod", reader) == "n1"


def test_a_clean_that_died_is_as_old_as_its_own_rows(tmp_path: Path) -> None:
    """The purge of the next night looked up its files, under the same lease and at a time of its own."""
    reader = lake(tmp_path, ("prod", "n1", "CLEAN", 1, 3), ("prod", "n2", "CLEAN", 2, 5))
    settled = {"cluster": ["prod"], "run_id": ["n1"], "run_date": pa.array([DAY]), "action": ["CLEAN"], "lease": [1]}
    settled |= {"phase": ["OUTCOME"], "at": [AT + timedelta(hours=7)]}
    write_deltalake(str(tmp_path / "deletions"), pa.table(settled), mode="append")
    assert latest_cleaned("prod", reader) == "n2"


@pytest.mark.parametrize("cleaned", [(), (("prod", "n2", "PURGE", 1, 3), ("other", "n3", "CLEAN", 2, 9))])
def test_nothing_was_cleaned(tmp_path: Path, cleaned: tuple[tuple[str, str, str, int, int], ...]) -> None:
    with pytest.raises(UsageError, match="no run of cluster prod was cleaned"):
        latest_cleaned("prod", lake(tmp_path, *cleaned))


def test_the_answer_says_which_run_it_took() -> None:
    asked: list[str] = []

    def job(run_id: str) -> JobResult:
        asked.append(run_id)
        return JobResult(0, {}, "moved")

    assert on_run("latest", lambda: "n2", job).text == "--run-id latest is run n2.\nmoved"
    assert on_run("n1", lambda: "n2", job).text == "moved"
    assert asked == ["n2", "n1"]


def test_where_latest_could_mean_another_run_it_is_refused() -> None:
    refuse_latest(None, "purge", "x")
    refuse_latest("n1", "purge", "x")
    with pytest.raises(UsageError, match="--run-id latest does not go with purge: give the id"):
        refuse_latest("latest", "purge", "give the id")


def test_no_run_has_this_name() -> None:
    with pytest.raises(UsageError, match="no run can have the id 'latest'"):
        RunKey.of("prod", "latest", 0)
    assert RunKey("prod", "latest", date(2026, 11, 21)).run_id == "latest", "an old lake may have one"


def test_a_run_that_the_lake_does_not_know_has_one_name_wherever_it_is_refused(tmp_path: Path) -> None:
    reader = lake(tmp_path)
    check_run("n2", "prod", reader)
    check_run("latest", "prod", reader)
    for run_id, cluster in (("n1", "prod"), ("n2", "other")):
        with pytest.raises(RefusedError, match=f"knows no run {run_id} of cluster {cluster}") as refused:
            check_run(run_id, cluster, reader)
        assert refused.value.condition is Condition.RUN_UNKNOWN
