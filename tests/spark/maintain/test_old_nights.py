"""maintain on real Delta: which nights go, and which stay."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable as DeltaRs
from pyspark.sql import SparkSession

from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.lake.run_summary import RunKey
from pipelines.maintain.kept_runs import KeptRuns
from schemas.cleanups import CLEANUPS
from schemas.deletions import DELETIONS
from schemas.findings import FINDINGS
from schemas.runs import RUNS
from schemas.split_verify import SPLIT_VERIFY
from schemas.table import Table
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.maintained_lake import MANY_FILES, Place, add_list, errors_of, identity, key, run_row, table_of, verdict
from tests.labs.small_cluster import NOW


def told(
    one: RunKey, path: str, outcome: str | None, lease: int, action: str = "CLEAN", **others: object
) -> Mapping[str, object]:
    """A row of `deletions`; without an outcome, that of an intent."""
    phase = "INTENT" if outcome is None else "OUTCOME"
    row = {"path": path, "action": action, "phase": phase, "outcome": outcome, "lease": lease}
    return identity(one) | row | {"at": NOW - 90 * DAY_MS} | others


@pytest.mark.slow("old nights of every table, looked through as maintain does")
@pytest.mark.promise("maintain-rehearses")
def test_a_rehearsal_says_all_and_writes_nothing(place: Place) -> None:
    before = place.tree()
    outcome = place.maintain(execute=False)
    assert place.tree() == before
    assert (outcome.exit_code, outcome.result["executed"]) == (0, False)
    verdicts = table_of(outcome)
    assert (verdicts["now"]["rows"], verdicts["now"]["partitions"]) == (3 * 8 + 3, 7)
    dropped = verdicts["dropped"]
    assert (dropped["partitions"], dropped["rows"], dropped["files"]) == (2, 6, 2)
    assert [dropped["first"], dropped["last"]] == [str(key("a", 150).run_date), str(key("a", 100).run_date)]
    assert verdicts["kept_old_nights"] == 2, "200 days for cluster b, 95 for the comparisons of a"
    assert (verdicts["compacted"]["partitions"], verdicts["compacted"]["files"]) == (1, 4)
    assert outcome.result["later_bytes"] == dropped["bytes"] + verdicts["compacted"]["bytes"]
    assert table_of(outcome, "runs")["dropped"]["partitions"] == 0
    assert outcome.text.startswith("Rehearsal: nothing was changed.")
    assert "retention: drops 2 nights older than 90 d 0 h" in outcome.text
    assert "compaction: merges 4 small files" in outcome.text


@pytest.mark.long
@pytest.mark.promise("maintain-keeps-in-bounds")
def test_old_nights_go_and_the_rest_stays_as_it_was(place: Place) -> None:
    gone = {("a", "run-150"), ("a", "run-100")}
    kept = place.nights() - gone
    runs = len(place.stored(RUNS))
    stay = f"run_id NOT IN {tuple(sorted(run for _, run in gone))}"
    rows = sorted(DeltaRs(place.lake / "wal_verdicts").to_pyarrow_table().to_pylist(), key=str)
    rows = [row for row in rows if (row["cluster"], row["run_id"]) not in gone]
    outcome = place.maintain()
    assert outcome.exit_code == 0
    assert place.nights() == kept
    assert place.rows().where(stay).count() == place.rows().count() == len(rows) == 21
    assert sorted(DeltaRs(place.lake / "wal_verdicts").to_pyarrow_table().to_pylist(), key=str) == rows
    assert len(place.stored(RUNS)) == runs
    many = key("a", MANY_FILES).run_date
    assert [(one.small.files, one.rows) for one in place.keeper.partitions(WAL_VERDICTS) if one.run_date == many] == [
        (1, 6)
    ]
    by_delta_rs, by_spark = (sorted(engine.files(WAL_VERDICTS).to_pylist(), key=str) for engine in place.engines)
    assert by_delta_rs == by_spark
    versions = place.versions()
    again = place.maintain()
    assert (again.exit_code, again.result["later_bytes"], again.result["freed_bytes"]) == (0, 0, 0)
    assert place.versions() == versions, "idle when there is nothing to gain: no commit"


@pytest.mark.long
@pytest.mark.promise("maintain-keeps-open-runs")
def test_runs_with_files_in_quarantine_keep_their_rows(place: Place) -> None:
    in_quarantine, settled = key("a", 150), key("a", 100)
    place.tables.ensure((DELETIONS,))

    place.tables.append_rows(
        DELETIONS,
        [
            *(told(settled, path, outcome, 1) for path in ("w0", "w1", "w2") for outcome in (None, "MOVED")),
            told(settled, "w0", "PURGED", 2, "PURGE"),
            told(settled, "w1", "RESTORED", 2, "RESTORE"),
            told(settled, "w2", "ARCHIVED", 2, "PURGE"),
            told(settled, "w3", None, 1),
            told(settled, "w3", "ALREADY_GONE", 1),
            told(settled, "w4", "MOVED", 1),
            told(settled, "w4", "ALREADY_GONE", 2, "PURGE"),
            *(told(in_quarantine, "w0", outcome, 1) for outcome in (None, "MOVED")),
            told(in_quarantine, "w0", "ALREADY_GONE", 2),
            told(in_quarantine, "w0", "FAILED", 2, "PURGE"),
        ],
    )
    needed = {run.run_id: run for run in KeptRuns(place.spark, f"file:{place.lake}").needed(1).runs}
    assert (needed["run-150"].quarantined, needed["run-150"].snapshots) == (True, ("sha-150",))
    assert place.maintain().exit_code == 0
    assert {run for _, run in place.nights()} == {"run-200", "run-150", "run-95", "run-2", "run-1", "run-0"}
    # a clean-up that died between intent and outcome: the file may have been moved
    place.tables.append_rows(
        DELETIONS, [told(in_quarantine, "w0", "PURGED", 3, "PURGE"), told(key("a", 95), "w", None, 4)]
    )
    later = NOW + 300 * DAY_MS
    place.tables.append_rows(RUNS, [run_row(key("a", -ago), -ago) for ago in (290, 291, 292, 293)])
    assert place.maintain(now=later).exit_code == 0
    assert {run for _, run in place.nights()} == {"run-200", "run-95"}


@pytest.mark.promise("maintain-keeps-open-runs")
def test_a_file_that_came_to_the_quarantine_in_place_of_another_keeps_its_run(place: Place) -> None:
    resting, left = key("a", 150), key("a", 100)
    swapped = {"place": "hdfs://ns1/walsafe/quarantine/a/run/w0"}
    place.tables.ensure((DELETIONS,))
    place.tables.append_rows(
        DELETIONS,
        [
            *(told(one, "w0", None, 1) for one in (resting, left)),
            *(told(one, "w0", "FAILED", 1, **swapped) for one in (resting, left)),
            told(left, "w0", "RESTORED", 2, "RESTORE"),
            told(left, "w1", None, 1),
            told(left, "w1", "FAILED", 1),
            told(left, "w2", "MOVED", 1),
            told(left, "w2", "PURGED", 2, "PURGE"),
        ],
    )
    assert set(KeptRuns(place.spark, f"file:{place.lake}").quarantined()) == {("a", "run-150")}


@pytest.mark.promise("maintain-keeps-open-runs")
def test_an_outcome_belongs_to_the_intent_of_its_batch_whatever_their_times_are(place: Place) -> None:
    """A clock was set back between them, or between two batches."""
    settled, died = key("a", 150), key("a", 100)
    place.tables.ensure((DELETIONS,))
    place.tables.append_rows(
        DELETIONS,
        [
            told(settled, "w0", None, 1, batch=1, at=NOW),
            told(settled, "w0", "ALREADY_GONE", 1, batch=1, at=NOW - 1),
            told(died, "w0", "REFUSED", 1, batch=0, at=NOW),
            told(died, "w0", None, 1, batch=1, at=NOW - 1),
        ],
    )
    assert set(KeptRuns(place.spark, f"file:{place.lake}").quarantined()) == {("a", "run-100")}


def test_the_newest_done_nights_and_the_newest_run_of_each_cluster_are_kept(place: Place) -> None:
    late, second = NOW + DAY_MS, {"snapshot_sha256": "second"}
    rows = [
        run_row(key("a", -1), -1, "STARTED"),
        *(run_row(key("a", 1), 1) | more for more in (second, {"snapshot_sha256": None, "at": late})),
        run_row(RunKey.of("a", "as-late", NOW - DAY_MS), 1),
        # a refused or failed run pauses the clean-up for as long as it is the newest
        run_row(key("b", 150), 150, "FAILED"),
        run_row(key("b", 100), 100, "REFUSED"),
        run_row(key("c", 50), 50, "FAILED"),  # without a list, there is no clean-up to pause
    ]
    place.tables.append_rows(RUNS, rows)
    found = KeptRuns(place.spark, f"file:{place.lake}").needed(2)
    assert {(run.cluster, run.run_id, run.snapshots) for run in found.runs} == {
        ("a", "run-0", ("sha-0",)),
        ("a", "run-1", ("second", "sha-1")),
        ("a", "as-late", ("sha-1",)),
        ("b", "run-200", ("sha-200",)),
        ("b", "run-100", ("sha-100",)),
    }
    assert found.written[key("a", 1).run_date] == late
    assert found.written[key("a", -1).run_date] == late + 1


def test_a_date_with_several_runs_is_one_night(place: Place) -> None:
    """As in the findings, which compare tonight with earlier dates."""
    hours = (1, 2, 3)
    captures = [RunKey.of("a", f"capture-{hour}", NOW - hour * HOUR_MS) for hour in hours]
    rows = [run_row(one, 0) | {"files_started_at": NOW - h * HOUR_MS} for one, h in zip(captures, hours, strict=True)]
    undated = {"cluster": "a", "run_id": "undated", "run_date": None, "status": "DONE", "at": NOW}
    assert {one.run_date for one in captures} == {key("a", 0).run_date}
    place.tables.append_rows(RUNS, [*rows, undated])
    found = KeptRuns(place.spark, f"file:{place.lake}").needed(2)
    of_a = {run.run_id for run in found.runs if run.cluster == "a"}
    assert of_a == {"capture-1", "capture-2", "capture-3", "run-0", "run-1", "undated"}


@pytest.mark.long
def test_a_replay_of_an_old_night_counts_from_when_it_was_written(place: Place) -> None:
    replayed = RunKey.of("a", "replay", NOW - 150 * DAY_MS)
    place.tables.append_rows(RUNS, [run_row(replayed, 150, "STARTED", NOW - DAY_MS)])
    place.tables.append_rows(WAL_VERDICTS, [verdict(replayed, "oldWALs/w0")])
    assert place.maintain().exit_code == 0
    assert ("a", "replay") in place.nights()
    assert ("a", "run-100") not in place.nights()


@pytest.mark.parametrize("others", [(), (VERDICT_TOTALS,), (CLEANUPS,)], ids=["none", "of_reconcile", "of_a_clean_up"])
def test_a_lake_that_only_other_jobs_wrote_to_has_no_runs_to_keep(
    spark: SparkSession, tmp_path: Path, others: tuple[Table, ...]
) -> None:
    other_jobs = Place(spark, tmp_path)
    other_jobs.tables.ensure((SPLIT_VERIFY, FINDINGS, *others))
    old, new = key("p", 20), key("p", 1)
    other_jobs.tables.append_rows(SPLIT_VERIFY, [identity(old), identity(new)])
    keep = "maintain: {keep: {other_tables: 10d}"
    expired = add_list(other_jobs, "a", "run-300", 300)
    refused = other_jobs.maintain(config=f"{keep}, lists: 'file:{tmp_path}/lists'}}")
    assert list(errors_of(refused)) == ["runs to keep"], "the runs of lists must be known"
    assert expired.exists()
    assert other_jobs.nights(SPLIT_VERIFY) == {("p", "run-20"), ("p", "run-1")}
    outcome = other_jobs.maintain(config=f"{keep}}}")
    assert list(errors_of(outcome)) == (["runs to keep"] if others else [])
    assert (("p", "run-20") in other_jobs.nights(SPLIT_VERIFY)) == bool(others)
    assert ("p", "run-1") in other_jobs.nights(SPLIT_VERIFY)
