"""Every row that the audit writes, and what it finds again of one run among others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from pipelines.cleanup.audit import LakeAudit
from pipelines.cleanup.audit_ports import AttemptEnd, CleanupAttempt, DecidedRun, OpenIntent
from pipelines.cleanup.deletions import CleanupAction, CleanupFile, CleanupTally, FileOutcome, FileResult
from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS
from pipelines.common.spark import few_rows
from pipelines.common.version import VERSION
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.run_summary import RunKey
from schemas.cleanups import CLEANUPS
from schemas.deletions import DELETIONS
from schemas.registry import CLEANUP_TABLES
from schemas.runs import RUNS
from schemas.table import Table
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.small_cluster import NOW, At

RUN = RunKey.of("prod", "night", NOW)
OTHERS = (RunKey.of("other", "night", NOW), RunKey.of("prod", "other", NOW), RunKey.of("prod", "night", NOW - DAY_MS))
A, B = CleanupFile("oldWALs/a.1", 10, NOW - 1, "PROVEN"), CleanupFile("oldWALs/b.2", 20, NOW - 2)
CLEAN = CleanupAttempt(RUN, CleanupAction.CLEAN, "first", 3, words="in words")
SHA = "5" * 64


class Lake:
    """An audit, and the tables below it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.clock = At(NOW)
        self.tables = DeltaTables(spark, f"file:{folder}")
        self.audit = LakeAudit(spark, f"file:{folder}", self.clock, "me", "edge1")
        self._spark = spark

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Without what is NULL, and without `written_at`, which is always `at`; times in ms."""
        order = "path" if table is DELETIONS else "status"
        frame = self._spark.read.format("delta").load(self.tables.location(table)).orderBy("at", order)
        rows = [plain(frame, row.asDict()) for row in frame.collect()]
        assert [row.pop("written_at") for row in rows] == [row["at"] for row in rows]
        return rows


def plain(frame: DataFrame, row: dict[str, Any]) -> dict[str, Any]:
    times = {name for name, kind in frame.dtypes if kind == "timestamp"}
    return {
        name: round(value.timestamp() * 1_000) if name in times else value
        for name, value in row.items()
        if value is not None
    }


@pytest.fixture(params=["few files", pytest.param("many files", marks=pytest.mark.long)])
def engines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """deltalake answers about few files, and Spark about many."""
    if request.param == "many files":
        monkeypatch.setattr(few_rows, "FEW", 0)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, tmp_path)


def who(attempt: CleanupAttempt, at: int) -> dict[str, object]:
    run = attempt.run
    return {
        "cluster": run.cluster,
        "run_id": run.run_id,
        "run_date": run.run_date,
        "done_by": "me",
        "host": "edge1",
        "action": attempt.action.value,
        "attempt": attempt.identity,
        "lease": attempt.lease,
        "at": at,
    }


def test_both_rows_of_an_attempt(lake: Lake) -> None:
    lake.audit.ensure()
    resumed = replace(CLEAN, resumed=True)
    lake.audit.started(CLEAN, 5, 60)
    lake.clock.instant += 1
    lake.audit.ended(CLEAN, AttemptEnd("DONE", 0, CleanupTally(1, 2, 3, 4, 5), None, SHA))
    lake.clock.instant += 1
    lake.audit.ended(resumed, AttemptEnd("FAILED", 4, CleanupTally(), "no answer"))
    common = {"walsafe_version": VERSION, "resumed": False, "reason": "in words"}
    nothing = {"done_files": 0, "done_bytes": 0, "left_files": 0, "gone_files": 0}
    assert lake.rows(CLEANUPS) == [
        {**who(CLEAN, NOW), **common, "status": "STARTED", "list_files": 5, "list_bytes": 60},
        {
            **who(CLEAN, NOW + 1), **common, "status": "DONE", "exit_code": 0, "recheck_sha256": SHA,
            "done_files": 1, "done_bytes": 2, "left_files": 3, "gone_files": 5,
        },
        {
            **who(CLEAN, NOW + 2), **common, **nothing, "resumed": True, "status": "FAILED", "exit_code": 4,
            "reason": "no answer",
        },
    ]  # fmt: skip


def subject(file: CleanupFile) -> dict[str, object]:
    return {"path": file.path, "length": file.length, "modification_time": file.modification_time}


def test_every_row_of_a_file(lake: Lake) -> None:
    lake.audit.ensure()
    lake.audit.intend(CLEAN, 1, [A, B])
    lake.clock.instant += 1
    lake.audit.intend(CLEAN, 2, [A, B], ["cold/a", "cold/b"])
    lake.clock.instant += 1
    held = FileResult(A, FileOutcome.FAILED, "here", "why it stays", "its error")
    lake.audit.record(CLEAN, 2, [held, FileResult(B, FileOutcome.MOVED)])
    lake.clock.instant += 1
    lake.audit.record(CLEAN, 3, [FileResult(A, FileOutcome.MOVED)], lease=0)
    first, second, third = ({**who(CLEAN, NOW + past), "batch": past + 1} for past in (0, 1, 1))
    third["at"] = NOW + 2
    assert lake.rows(DELETIONS) == [
        {**first, **subject(A), "phase": "INTENT", "reason": "PROVEN"},
        {**first, **subject(B), "phase": "INTENT"},
        {**second, **subject(A), "phase": "INTENT", "reason": "PROVEN", "place": "cold/a"},
        {**second, **subject(B), "phase": "INTENT", "place": "cold/b"},
        {
            **third, **subject(A), "phase": "OUTCOME", "outcome": "FAILED", "place": "here", "reason": "why it stays",
            "error": "its error",
        },
        {**third, **subject(B), "phase": "OUTCOME", "outcome": "MOVED"},
        {
            **who(CLEAN, NOW + 3), **subject(A), "lease": 0, "batch": 3, "phase": "OUTCOME", "outcome": "MOVED",
            "reason": "PROVEN",
        },
    ]  # fmt: skip


def without_written_at(folder: Path, into: Path) -> None:
    """Copies the tables as an older walsafe left them."""
    for table in CLEANUP_TABLES:
        rows = DeltaTable(str(folder / table.name)).to_pyarrow_table().drop_columns(["written_at"])
        write_deltalake(str(into / table.name), rows, partition_by=["run_date"])


@pytest.mark.long
def test_a_clean_up_goes_on_in_the_tables_of_an_older_walsafe(lake: Lake, spark: SparkSession, tmp_path: Path) -> None:
    lake.audit.ensure()
    lake.audit.started(CLEAN, 2, 30)
    lake.audit.intend(CLEAN, 1, [A, B])
    lake.audit.record(CLEAN, 1, [FileResult(A, FileOutcome.MOVED)])
    without_written_at(tmp_path, tmp_path / "old")
    lake = Lake(spark, tmp_path / "old")
    assert lake.audit.unsettled(RUN) == [OpenIntent(CleanupAction.CLEAN, 3, 1, B)], "before ensure, as in a rehearsal"
    assert lake.audit.moved_at(RUN) == NOW
    lake.audit.ensure()
    again = replace(CLEAN, identity="again", lease=4, resumed=True)
    lake.clock.instant += 1
    lake.audit.started(again, 2, 30)
    lake.audit.intend(again, 1, [B])
    lake.audit.record(CLEAN, 1, [FileResult(B, FileOutcome.FAILED)])
    lake.audit.record(again, 1, [FileResult(B, FileOutcome.MOVED)])
    lake.audit.ended(again, AttemptEnd("DONE", 0, CleanupTally(2, 30)))
    assert lake.audit.unsettled(RUN) == []
    assert {row["path"]: row["outcome"] for row in lake.audit.outcomes(RUN).collect()} == {
        A.path: "MOVED", B.path: "MOVED",
    }  # fmt: skip
    assert (lake.audit.moved_at(RUN), lake.audit.taken(RUN)) == (NOW + 1, {A.path: replace(A, reason=None), B.path: B})
    for table, before, after in ((CLEANUPS, 1, 2), (DELETIONS, 3, 3)):
        frame = spark.read.format("delta").load(lake.tables.location(table))
        rows = [plain(frame, row.asDict()) for row in frame.collect()]
        times = sorted((row["at"], row.get("written_at", 0)) for row in rows)
        assert times == [(NOW, 0)] * before + [(NOW + 1, NOW + 1)] * after, "rows that were there stay as they are"


def test_where_nothing_was_ever_cleaned_nothing_is_known(lake: Lake) -> None:
    """A rehearsal makes no table."""
    assert lake.audit.actions(RUN) == frozenset()
    assert lake.audit.unsettled(RUN) == []
    assert lake.audit.moved_at(RUN) is None
    assert lake.audit.outcomes(RUN).columns == ["path", "outcome", "length", "modification_time", "at"]
    assert lake.audit.outcomes(RUN).collect() == []


def test_of_the_deletions_only_those_of_the_run_are_seen(lake: Lake) -> None:
    lake.audit.ensure()
    for number, run in enumerate(OTHERS):
        attempt = CleanupAttempt(run, CleanupAction.PURGE, "elsewhere", 9)
        lake.audit.intend(attempt, number, [A])
        lake.audit.record(attempt, number + 10, [FileResult(A, FileOutcome.MOVED)])
    assert (lake.audit.actions(RUN), lake.audit.unsettled(RUN), lake.audit.moved_at(RUN)) == (frozenset(), [], None)
    assert lake.audit.taken(RUN) == {}
    assert lake.audit.outcomes(RUN).collect() == []


@pytest.mark.usefixtures("engines")
def test_the_intents_without_an_outcome_are_in_the_order_of_their_jobs(lake: Lake) -> None:
    lake.audit.ensure()
    purge = CleanupAttempt(RUN, CleanupAction.PURGE, "second", 2)
    lake.audit.intend(CLEAN, 2, [A])
    lake.audit.intend(CLEAN, 1, [B, A])
    lake.audit.intend(purge, 7, [B], ["cold/b"])
    lake.audit.record(replace(CLEAN, action=CleanupAction.RESTORE), 2, [FileResult(A, FileOutcome.RESTORED)])
    assert lake.audit.unsettled(RUN) == [
        OpenIntent(CleanupAction.PURGE, 2, 7, B, "cold/b"),
        OpenIntent(CleanupAction.CLEAN, 3, 1, A),
        OpenIntent(CleanupAction.CLEAN, 3, 1, B),
        OpenIntent(CleanupAction.CLEAN, 3, 2, A),
    ]
    lake.audit.record(CLEAN, 1, [FileResult(one, FileOutcome.FAILED) for one in (A, B)])
    lake.audit.record(purge, 7, [FileResult(B, FileOutcome.PURGED)])
    assert [(one.lease, one.batch) for one in lake.audit.unsettled(RUN)] == [(3, 2)]
    # an outcome without an intent is that of a file that was left before anything was tried
    assert lake.audit.actions(RUN) == {CleanupAction.CLEAN, CleanupAction.PURGE}


@pytest.mark.usefixtures("engines")
def test_only_what_clean_has_begun_was_taken(lake: Lake) -> None:
    lake.audit.ensure()
    purge = CleanupAttempt(RUN, CleanupAction.PURGE, "second", 2)
    lake.audit.intend(purge, 1, [B])
    lake.audit.record(purge, 1, [FileResult(B, FileOutcome.MOVED)])
    assert lake.audit.taken(RUN) == {}
    lake.audit.record(CLEAN, 0, [FileResult(A, FileOutcome.MOVED)])
    assert lake.audit.taken(RUN) == {}
    for batch in (1, 2):
        lake.audit.intend(CLEAN, batch, [A])
    assert lake.audit.taken(RUN) == {A.path: replace(A, reason=None)}


@pytest.mark.usefixtures("engines")
def test_the_last_outcome_is_that_of_the_newest_lease_batch_and_time(lake: Lake) -> None:
    lake.audit.ensure()
    order = [(1, 9, 9), (2, 1, 8), (2, 2, 1), (2, 2, 3), (2, 2, 2)]
    for lease, batch, past in order:
        lake.clock.instant = NOW + past
        file = replace(A, length=100 * lease + 10 * batch + past)
        lake.audit.record(replace(CLEAN, lease=lease), batch, [FileResult(file, FileOutcome.MOVED)])
    (row,) = lake.audit.outcomes(RUN).collect()
    assert (row["path"], row["outcome"], row["length"]) == (A.path, "MOVED", 223)
    assert lake.audit.moved_at(RUN) == NOW + 3


@pytest.mark.usefixtures("engines")
@pytest.mark.parametrize("column", ["lease", "batch", "at"])
def test_a_row_without_a_lease_a_batch_or_a_time_is_older_than_every_other(lake: Lake, column: str) -> None:
    """walsafe writes none, but the table allows it."""
    lake.audit.ensure()
    row = {**who(CLEAN, NOW), **subject(A), "batch": 1, "phase": "OUTCOME"}
    intent = {**row, "phase": "INTENT"}
    lake.tables.append_rows(
        DELETIONS, [intent, {**row, "outcome": "MOVED"}, {**row, "outcome": "RESTORED", column: None}]
    )
    (found,) = lake.audit.outcomes(RUN).collect()
    assert found["outcome"] == "MOVED"
    assert (lake.audit.moved_at(RUN), lake.audit.taken(RUN)) == (NOW, {A.path: replace(A, reason=None)})


# what the night decided


def test_the_run_that_a_list_is_based_on(lake: Lake) -> None:
    lake.tables.ensure((RUNS,))
    assert lake.audit.decided("prod", "night") is None
    identity = {"cluster": "prod", "run_id": "night", "run_date": RUN.run_date, "files_started_at": NOW}
    more = {"snapshot_sha256": SHA, "peer_ids": ["1", "2"], "cluster_id": "an id"}
    lake.tables.append_rows(
        RUNS,
        [
            {**identity, **more, "status": "DONE", "at": NOW + 2},
            {**identity, "status": "DONE", "at": NOW + 1, "snapshot_sha256": "6" * 64},
            {**identity, "status": "DONE", "at": None, "snapshot_sha256": "7" * 64},
            {**identity, "status": "STARTED", "at": NOW + 3},
            {**identity, "status": "REFUSED", "at": NOW + 4},
            {**identity, "cluster": "other", "status": "DONE", "at": NOW + 5},
            {**identity, "run_id": "other", "status": "DONE", "at": NOW + 6},
        ],
    )
    assert lake.audit.decided("prod", "night") == DecidedRun(RUN, SHA, ("1", "2"), "an id")
    lake.tables.append_rows(RUNS, [{**identity, "status": "DONE", "at": NOW + 9, "snapshot_sha256": SHA}])
    assert lake.audit.decided("prod", "night") == DecidedRun(RUN, SHA, None, None)


def test_a_table_of_an_older_walsafe_has_neither_peers_nor_an_id(lake: Lake, spark: SparkSession) -> None:
    lake.tables.ensure((RUNS,))
    identity = {"cluster": "prod", "run_id": "night", "run_date": RUN.run_date, "files_started_at": NOW}
    row = {**identity, "status": "DONE", "at": NOW, "snapshot_sha256": SHA}
    old = spark.createDataFrame(lake.tables.rows(RUNS, [row]), RUNS.schema).drop("peer_ids", "cluster_id")
    old.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(lake.tables.location(RUNS))
    assert lake.audit.decided("prod", "night") == DecidedRun(RUN, SHA, None, None)


@pytest.mark.usefixtures("engines")
def test_the_files_that_the_run_found_deletable(lake: Lake) -> None:
    lake.tables.ensure((WAL_VERDICTS,))
    of = {"length": 10, "modification_time": NOW, "reason": "PROVEN"}
    rows = [
        {**run_of(RUN), **of, "path": "mine", "verdict": "DELETABLE"},
        {**run_of(RUN), **of, "path": "held", "verdict": "HELD"},
        *({**run_of(run), **of, "path": "theirs", "verdict": "DELETABLE"} for run in OTHERS),
    ]
    lake.tables.append_rows(WAL_VERDICTS, rows)
    listed = lake.audit.listed(RUN, 3)
    assert [plain(listed, row.asDict()) for row in listed.collect()] == [
        {"path": "mine", "length": 10, "modification_time": NOW}
    ]


def run_of(run: RunKey) -> dict[str, object]:
    return {"cluster": run.cluster, "run_id": run.run_id, "run_date": run.run_date}


def test_a_table_that_cannot_be_read_is_named(lake: Lake, tmp_path: Path) -> None:
    lake.audit.ensure()
    lake.audit.intend(CLEAN, 1, [A])
    lake.audit.record(CLEAN, 1, [FileResult(A, FileOutcome.MOVED)])
    for file in (tmp_path / "deletions").rglob("*.parquet"):
        file.unlink()
    for read in (lake.audit.actions, lake.audit.unsettled, lake.audit.taken, lake.audit.moved_at):
        with pytest.raises(UsageError, match=r"/deletions: "):
            read(RUN)
    with pytest.raises(UsageError, match=r"/runs: "):
        lake.audit.decided("prod", "night")
