"""What readers and writers see while maintain drops, merges and removes files."""

import json
import os
import threading
import time
from dataclasses import replace

import pytest
from deltalake import DeltaTable as DeltaRs

from pipelines.common.instants import DAY_MS
from pipelines.lake.lake_queries import SparkTables
from schemas.runs import RUNS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.maintained_lake import CONFIG, MANY_FILES, Place, edited_log, errors_of, key, table_of, verdict

pytestmark = pytest.mark.long


def test_readers_that_began_before_keep_their_rows(place: Place) -> None:
    version = DeltaRs(place.lake / "wal_verdicts").version()
    everything = len(place.stored())
    reading = place.rows().toLocalIterator()  # its files are planned now, and read one after the other below
    read = [next(reading)]
    pinned = DeltaRs(place.lake / "wal_verdicts")
    for file in (place.lake / "wal_verdicts").rglob("*.parquet"):
        os.utime(file, (1, 1))  # as old as files can be: what counts is when the log let go of them
    assert place.maintain().exit_code == 0
    place.keeper.vacuum(WAL_VERDICTS)
    assert len(place.stored()) < everything
    assert len([*read, *reading]) == everything
    assert pinned.to_pyarrow_table().num_rows == everything
    earlier = place.spark.read.format("delta").option("versionAsOf", version).load(f"file:{place.lake}/wal_verdicts")
    assert earlier.count() == everything


def test_vacuum_removes_what_was_let_go_of_a_week_ago(place: Place) -> None:
    assert place.maintain().exit_code == 0
    files = place.lake / "wal_verdicts"
    let_go = {file.name for file in files.rglob("*.parquet")}
    week_ago = (time.time() - 8 * 86_400) * 1000

    def aged(commit: str) -> str:
        lines = [json.loads(line) for line in commit.splitlines()]
        for line in lines:
            if "remove" in line:
                line["remove"]["deletionTimestamp"] = int(week_ago)
        return "".join(json.dumps(line) + "\n" for line in lines)

    edited_log(place, WAL_VERDICTS, aged)
    stray = files / f"run_date={key('a', 1).run_date}" / "stray.parquet"
    stray.write_bytes(b"x" * 1000)
    (files / f"run_date={key('a', 1).run_date}" / "_hidden").write_bytes(b"x")
    for file in files.glob("run_date=*/*"):
        os.utime(file, (week_ago / 1000, week_ago / 1000))
    count, before = len(place.stored()), place.tree()
    by_delta_rs, by_spark = (sorted(engine.unneeded(WAL_VERDICTS)) for engine in place.engines)
    assert by_delta_rs == by_spark
    rehearsal = table_of(place.maintain(execute=False))["removed"]
    assert place.tree() == before
    outcome = place.maintain()
    assert table_of(outcome)["removed"] == rehearsal
    assert outcome.result["freed_bytes"] == rehearsal["bytes"] > 1000
    left = {file.name for file in files.rglob("*.parquet")}
    assert left < let_go
    assert rehearsal["files"] == 2 + 4 + 1, "two nights dropped, four files merged, one of no commit"
    assert not stray.exists()
    assert len(place.stored()) == count


def test_a_grace_below_a_week_is_refused_and_a_longer_one_is_set(place: Place) -> None:
    short = "ALTER TABLE delta.`{}` SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 1 hours')"
    place.spark.sql(short.format(f"file:{place.lake}/wal_verdicts"))
    stray = place.lake / "wal_verdicts" / "stray.parquet"
    stray.write_bytes(b"x")
    os.utime(stray, (time.time() - 86_400, time.time() - 86_400))
    outcome = place.maintain()
    assert outcome.exit_code == 2
    assert "is 1 h, and readers need 168 h at least" in errors_of(outcome)["wal_verdicts"]
    assert stray.exists()
    assert "removed" in table_of(outcome, "runs")
    longer = CONFIG.replace("}", ", vacuum_grace: 14d}")
    assert table_of(place.maintain(execute=False, config=longer))["new_grace_ms"] == 14 * DAY_MS
    assert place.maintain(config=longer).exit_code == 0
    assert {place.keeper.grace_ms(table) for table in (RUNS, WAL_VERDICTS)} == {14 * DAY_MS}
    for name in ("delta.deletedFileRetentionDuration", "delta.nobody.sets.it"):
        by_delta_rs, by_spark = (engine.table_property(RUNS, name) for engine in place.engines)
        assert by_delta_rs == by_spark
    assert stray.exists()


def test_the_lake_may_be_written_in_any_way(place: Place) -> None:
    stray = place.lake / "wal_verdicts" / "stray.parquet"
    for lake in (os.path.relpath(place.lake), f"file://{place.lake}"):
        stray.write_bytes(b"x")
        os.utime(stray, (time.time() - 15 * 86_400, time.time() - 15 * 86_400))
        assert SparkTables(place.spark, lake).unneeded(WAL_VERDICTS) == ["stray.parquet"]
        outcome = place.maintain(config=CONFIG.replace("}", ", vacuum_grace: 14d}"), lake=lake)
        assert (outcome.exit_code, errors_of(outcome)) == (0, {})
        assert not stray.exists()


def test_runs_that_write_while_nights_are_merged_and_dropped_lose_nothing(place: Place) -> None:
    night, tables, done = key("a", MANY_FILES), place.tables, threading.Event()
    tables.ensure((WAL_VERDICTS,))
    twin = replace(night, run_id="twin")
    appended: list[str] = []
    failures: list[BaseException] = []

    def write() -> None:
        try:
            # with a pause: maintain gives up after some conflicts with what it merges
            while not done.wait(0.5) or not appended:
                path = f"oldWALs/late-{len(appended)}"
                tables.append_rows(WAL_VERDICTS, [verdict(night, path)])
                rows = place.spark.createDataFrame(
                    tables.rows(WAL_VERDICTS, [verdict(twin, path)]), WAL_VERDICTS.schema
                )
                tables.replace({WAL_VERDICTS.name: rows}, [twin])
                appended.append(path)
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        outcome = place.maintain()
    finally:
        done.set()
        writer.join()
    assert failures == []
    assert outcome.exit_code == 0
    assert appended
    paths = {row["path"] for row in place.stored(condition=f"run_id = '{night.run_id}'")}
    assert paths == {f"oldWALs/w{number}" for number in range(6)} | set(appended)
    assert [row["path"] for row in place.stored(condition="run_id = 'twin'")] == appended[-1:]
    assert ("a", "run-100") not in place.nights()
