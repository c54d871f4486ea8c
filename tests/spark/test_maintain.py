"""maintain on real Delta and real directories: what goes, what stays, and what readers and writers see meanwhile."""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable as DeltaRs
from pyspark.sql import DataFrame, SparkSession

from jobs.cli.config import parse_config
from jobs.cli.context import JobContext
from jobs.cli.entry import main
from jobs.demo.generated_snapshot import write_snapshot
from jobs.maintain.wiring import run_maintain
from pipelines.common.instants import DAY_MS
from pipelines.common.outcome import Outcome
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.maintenance import LakeMaintenance
from pipelines.lake.run_summary import RunKey
from pipelines.maintain.expiry import HadoopDirectories
from pipelines.reconcile.delete_list import Manifest, manifest_json
from schemas.deletions import DELETIONS
from schemas.runs import RUNS
from schemas.table import Table
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.small_cluster import NOW, At, small

A_NIGHTS = (200, 150, 100, 95, 2, 1, 0)
"""Days before NOW. The newest four are needed for comparisons, the one of 95 days among them."""
MANY_FILES = 2
CONFIG = "maintain: {compact_from: 3}\n"
Tree = dict[str, bytes]


def key(cluster: str, ago: int) -> RunKey:
    return RunKey.of(cluster, f"run-{ago}", NOW - ago * DAY_MS)


def identity(one: RunKey) -> dict[str, object]:
    return {"cluster": one.cluster, "run_id": one.run_id, "run_date": one.run_date}


def verdict(one: RunKey, path: str) -> dict[str, object]:
    held = [("1", "h1,1,1", "h1,1,1", None, -1)]
    row = {"path": path, "length": 1 << 20, "verdict": "HELD", "reason": "PENDING", "blocking": held}
    return identity(one) | row | {"modification_time": NOW - 500 * DAY_MS + 123}


def run_row(one: RunKey, ago: int, status: str = "DONE", written: int | None = None) -> dict[str, object]:
    night = NOW - ago * DAY_MS
    row = {"status": status, "at": written or night + 1, "files_started_at": night, "snapshot_sha256": f"sha-{ago}"}
    return identity(one) | row


@dataclass(frozen=True)
class Place:
    """A lake with its folders of lists and snapshots."""

    spark: SparkSession
    root: Path

    @property
    def lake(self) -> Path:
        return self.root / "lake"

    @property
    def tables(self) -> DeltaTables:
        return DeltaTables(self.spark, f"file:{self.lake}")

    @property
    def keeper(self) -> LakeMaintenance:
        return LakeMaintenance(self.spark, f"file:{self.lake}")

    def log(self, table: Table) -> Path:
        return self.lake / table.name / "_delta_log"

    def maintain(self, *, execute: bool = True, config: str = CONFIG, now: int = NOW) -> Outcome:
        context = JobContext("maintain", At(now), self.spark)
        return run_maintain(context, parse_config(config, "test.yaml"), f"file:{self.lake}", execute=execute)

    def rows(self, table: Table = WAL_VERDICTS) -> DataFrame:
        return self.spark.read.format("delta").load(f"file:{self.lake / table.name}")

    def nights(self, table: Table = WAL_VERDICTS) -> set[tuple[str, str]]:
        return {(row["cluster"], row["run_id"]) for row in self.rows(table).collect()}

    def versions(self) -> dict[str, int]:
        return {folder.name: DeltaRs(folder).version() for folder in sorted(self.lake.iterdir())}

    def tree(self) -> Tree:
        return {str(file.relative_to(self.root)): file.read_bytes() for file in self.root.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake that every test gets a copy of; two tables of it are there, as in a lake of an older walsafe."""
    place = Place(spark, tmp_path_factory.mktemp("maintain"))
    tables, of_a, of_b = place.tables, [key("a", ago) for ago in A_NIGHTS], key("b", 200)
    tables.ensure((RUNS, WAL_VERDICTS))
    rows = [run_row(one, ago) for one, ago in zip(of_a, A_NIGHTS, strict=True)]
    tables.append_rows(RUNS, [*rows, run_row(of_b, 200), run_row(key("a", 100), 100, "STARTED")])
    tables.append_rows(WAL_VERDICTS, [verdict(one, f"oldWALs/w{n}") for one in (*of_a, of_b) for n in range(3)])
    for number in range(3, 6):
        tables.append_rows(WAL_VERDICTS, [verdict(key("a", MANY_FILES), f"oldWALs/w{number}")])
    return place.root


@pytest.fixture
def place(spark: SparkSession, made: Path, tmp_path: Path) -> Place:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Place(spark, tmp_path)


def table_of(outcome: Outcome, name: str = "wal_verdicts") -> dict[str, Any]:
    tables: Any = outcome.result["tables"]
    return next(one for one in tables if one["table"] == name)


def errors_of(outcome: Outcome) -> dict[str, str]:
    errors: Any = outcome.result["errors"]
    return {one["of"]: one["message"] for one in errors}


def forget(spark: SparkSession) -> None:
    """A log that was changed by hand is read anew."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def edited_log(place: Place, table: Table, change: Callable[[str], str]) -> None:
    for commit in place.log(table).glob("*.json"):
        commit.write_text(change(commit.read_text()))
    for checksum in place.log(table).glob("*.crc"):
        checksum.unlink()
    forget(place.spark)


# tables


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
    runs = place.rows(RUNS).count()
    stay = f"run_id NOT IN {tuple(sorted(run for _, run in gone))}"
    rows = sorted(DeltaRs(place.lake / "wal_verdicts").to_pyarrow_table().to_pylist(), key=str)
    rows = [row for row in rows if (row["cluster"], row["run_id"]) not in gone]
    outcome = place.maintain()
    assert outcome.exit_code == 0
    assert place.nights() == kept
    assert place.rows().where(stay).count() == place.rows().count() == len(rows) == 21
    assert sorted(DeltaRs(place.lake / "wal_verdicts").to_pyarrow_table().to_pylist(), key=str) == rows
    assert place.rows(RUNS).count() == runs
    many = key("a", MANY_FILES).run_date
    assert [(one.small.files, one.rows) for one in place.keeper.partitions(WAL_VERDICTS) if one.run_date == many] == [
        (1, 6)
    ]
    versions = place.versions()
    again = place.maintain()
    assert (again.exit_code, again.result["later_bytes"], again.result["freed_bytes"]) == (0, 0, 0)
    assert place.versions() == versions, "idle when there is nothing to gain: no commit"


@pytest.mark.long
def test_readers_that_began_before_keep_their_rows(place: Place) -> None:
    version = DeltaRs(place.lake / "wal_verdicts").version()
    everything = place.rows().count()
    reading = place.rows().toLocalIterator()  # its files are planned now, and read one after the other below
    read = [next(reading)]
    pinned = DeltaRs(place.lake / "wal_verdicts")
    for file in (place.lake / "wal_verdicts").rglob("*.parquet"):
        os.utime(file, (1, 1))  # as old as files can be: what counts is when the log let go of them
    assert place.maintain().exit_code == 0
    place.keeper.vacuum(WAL_VERDICTS)
    assert place.rows().count() < everything
    assert len([*read, *reading]) == everything
    assert pinned.to_pyarrow_table().num_rows == everything
    earlier = place.spark.read.format("delta").option("versionAsOf", version).load(f"file:{place.lake}/wal_verdicts")
    assert earlier.count() == everything


@pytest.mark.long
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
    for file in files.rglob("*.parquet"):
        os.utime(file, (week_ago / 1000, week_ago / 1000))
    count, before = place.rows().count(), place.tree()
    rehearsal = table_of(place.maintain(execute=False))["removed"]
    assert place.tree() == before
    outcome = place.maintain()
    assert table_of(outcome)["removed"] == rehearsal
    assert outcome.result["freed_bytes"] == rehearsal["bytes"] > 1000
    left = {file.name for file in files.rglob("*.parquet")}
    assert left < let_go
    assert rehearsal["files"] == 2 + 4 + 1, "two nights dropped, four files merged, one of no commit"
    assert not stray.exists()
    assert place.rows().count() == count


@pytest.mark.long
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
    assert stray.exists()


@pytest.mark.long
@pytest.mark.promise("maintain-keeps-open-runs")
def test_runs_with_files_in_quarantine_keep_their_rows(place: Place) -> None:
    in_quarantine, settled = key("a", 150), key("a", 100)
    place.tables.ensure((DELETIONS,))

    def told(one: RunKey, path: str, outcome: str | None, lease: int, action: str = "CLEAN") -> Mapping[str, object]:
        phase = "INTENT" if outcome is None else "OUTCOME"
        row = {"path": path, "action": action, "phase": phase, "outcome": outcome, "lease": lease}
        return identity(one) | row | {"at": NOW - 90 * DAY_MS}

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


@pytest.mark.long
def test_a_replay_of_an_old_night_counts_from_when_it_was_written(place: Place) -> None:
    replayed = RunKey.of("a", "replay", NOW - 150 * DAY_MS)
    place.tables.append_rows(RUNS, [run_row(replayed, 150, "STARTED", NOW - DAY_MS)])
    place.tables.append_rows(WAL_VERDICTS, [verdict(replayed, "oldWALs/w0")])
    assert place.maintain().exit_code == 0
    assert ("a", "replay") in place.nights()
    assert ("a", "run-100") not in place.nights()


@pytest.mark.long
def test_runs_that_write_while_nights_are_merged_and_dropped_lose_nothing(place: Place) -> None:
    night, tables, done = key("a", MANY_FILES), place.tables, threading.Event()
    tables.ensure((WAL_VERDICTS,))
    twin = replace(night, run_id="twin")
    appended: list[str] = []
    failures: list[BaseException] = []

    def write() -> None:
        try:
            while not done.is_set() or not appended:
                path = f"oldWALs/late-{len(appended)}"
                tables.append_rows(WAL_VERDICTS, [verdict(night, path)])
                tables.replace({WAL_VERDICTS.name: tables.frame(WAL_VERDICTS, [verdict(twin, path)])}, [twin])
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
    paths = {row["path"] for row in place.rows().where(f"run_id = '{night.run_id}'").collect()}
    assert paths == {f"oldWALs/w{number}" for number in range(6)} | set(appended)
    assert [row["path"] for row in place.rows().where("run_id = 'twin'").collect()] == appended[-1:]
    assert ("a", "run-100") not in place.nights()


@pytest.mark.long
def test_a_damaged_table_is_told_and_the_others_have_their_turn(place: Place) -> None:
    (place.log(WAL_VERDICTS) / f"{1:020}.json").write_text('{"add":{"pa')
    edited_log(place, WAL_VERDICTS, str)
    outcome = place.maintain(config="maintain: {keep: {other_tables: 90d}}")
    assert outcome.exit_code == 2
    assert list(errors_of(outcome)) == ["wal_verdicts"]
    assert "transaction log is damaged: restore it from a backup" in errors_of(outcome)["wal_verdicts"]
    assert "! wal_verdicts: Delta table" in outcome.text
    assert ("a", "run-100") not in place.nights(RUNS)


@pytest.mark.long
def test_nothing_is_dropped_where_it_is_not_known_what_is_needed(place: Place) -> None:
    (place.log(RUNS) / f"{1:020}.json").write_text('{"add":{"pa')
    edited_log(place, RUNS, str)
    before = place.nights()
    add_list(place, "a", "run-300", 300)
    outcome = place.maintain(config=with_folders(place))
    assert outcome.exit_code == 2
    assert set(errors_of(outcome)) == {"runs to keep", "runs"}
    assert place.nights() == before
    assert table_of(outcome)["compacted"]["partitions"] == 1
    assert outcome.result["expired"] == []


def test_no_lake_is_said(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("cluster: a\n")
    context = JobContext("maintain", spark=spark)
    assert main(["maintain", "--lake", str(tmp_path / "no"), "--config", str(config)], context=context) == 2
    assert "check --lake" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [config]


# lists and snapshots


def with_folders(place: Place) -> str:
    for folder in ("lists", "snapshots"):
        (place.root / folder).mkdir(exist_ok=True)
    return CONFIG.replace("}", f", lists: 'file:{place.root}/lists', snapshots: 'file:{place.root}/snapshots'}}")


def add_list(place: Place, cluster: str, run_id: str, ago: int, folder: str | None = None) -> Path:
    """A list whose `not_after` was so many days ago; its files are from now."""
    there = place.root / "lists" / cluster / (folder or run_id)
    there.mkdir(parents=True)
    instant = NOW - ago * DAY_MS
    manifest = Manifest(cluster, None, run_id, "0" * 64, instant, instant, 0, 0, ())
    (there / "manifest.json").write_text(manifest_json(manifest))
    return there


def add_snapshot(place: Place, name: str, cluster: str, ago: int) -> Path:
    there = place.root / "snapshots" / name
    there.parent.mkdir(parents=True, exist_ok=True)
    write_snapshot(small(cluster, -ago), there)
    return there


def aged(folder: Path, days: float) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part-00000.txt").write_text("x")
    then = (NOW - days * DAY_MS) / 1000
    for path in (folder / "part-00000.txt", folder):
        os.utime(path, (then, then))
    return folder


@pytest.mark.long
@pytest.mark.promise("maintain-keeps-in-bounds")
def test_directories_expire_by_the_time_written_in_them(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    hexes = "0123456789abcdef" * 2
    lists, snapshots = place.root / "lists", place.root / "snapshots"
    goes = [
        add_list(place, "a", "run-150", 31),
        add_snapshot(place, "a/2026-01-01", "a", 31),
        add_snapshot(place, "2026-01-01", "a", 31),
        add_snapshot(place, "fleet-1/a", "a", 40),
        aged(lists / f".staging-{hexes}", 8),
        aged(lists / "a" / f".staging-{hexes}", 8),
        aged(lists / "a" / f".unfinished-run-9-{hexes}", 8),
        aged(snapshots / "a" / f".2026-11-20.{hexes}.making", 8),
        aged(snapshots / f".expired-{hexes}", 8),
        aged(place.lake / ".second-looks" / hexes, 8),  # a killed clean-up's
    ]
    stays = [
        add_list(place, "a", "run-100", 29),
        add_list(place, "a", "run-0", 31),  # among the newest nights of the cluster
        add_list(place, "a", "run-1", 31, folder="copy"),
        add_snapshot(place, "a/young", "a", 29),
        aged(lists / "a" / f".staging-{hexes[::-1]}", 6),
        aged(lists / "a" / "no-manifest", 99),
        aged(lists / "a" / ".mine", 99),
        aged(snapshots / "a" / "other" / "deeper", 99),
        aged(place.root / "elsewhere", 99),
        aged(place.lake / ".second-looks" / hexes[::-1], 6),
        aged(place.lake / ".second-looks" / "mine", 99),
    ]
    broken = add_list(place, "a", "run-95", 99)
    (broken / "manifest.json").write_text('{"format": 1}')
    crowded = add_snapshot(place, "a/crowded", "a", 99)
    (crowded / "files" / "notes.txt").write_text("mine")
    target = add_snapshot(place, "../real/old", "a", 99)
    link, link_above = snapshots / "a" / "link", snapshots / "b"
    link.symlink_to(target)
    link_above.symlink_to(target.parent)
    config = place.root / "c.yaml"
    config.write_text(with_folders(place))

    def job(*more: str) -> dict[str, Any]:
        context = JobContext("maintain", At(NOW), place.spark)
        arguments = ["maintain", "--lake", str(place.lake), "--config", str(config), "--output", "json", *more]
        assert main(arguments, context=context) == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    before = place.tree()
    rehearsal = job()
    assert place.tree() == before
    result = job("--execute")
    assert {one["uri"] for one in result["expired"]} == {f"file:{path}" for path in goes}
    assert rehearsal["expired"] == result["expired"]
    assert result["freed_bytes"] == sum(one["bytes"] for one in result["expired"]) > 0
    assert [path for path in goes if path.exists()] == []
    assert [path for path in (*stays, broken, crowded, target, link, link_above) if not path.exists()] == []
    assert not (snapshots / "fleet-1").exists(), "the folder of a fleet's night goes with its last snapshot"
    why = {one["uri"].removeprefix(f"file:{place.root}/"): one["why"] for one in result["left_alone"]}
    assert why["snapshots/a/link"] == why["snapshots/b"] == "a symbolic link"
    assert why["lists/a/no-manifest"] == "it has no manifest.json"
    assert why["lake/.second-looks/mine"] == "no name that walsafe gives"
    assert why["lists/a/copy"] == "its manifest.json is of a/run-1"
    assert "files/notes.txt" in why["snapshots/a/crowded"]
    assert "lists/a/run-95" in why
    assert not list(place.root.rglob(".expired-*"))


def test_a_directory_elsewhere_is_never_removed(place: Place) -> None:
    with_folders(place)
    outside = aged(place.root / "elsewhere" / "x", 99)
    hadoop = HadoopJvm.of(place.spark)
    directories = HadoopDirectories(hadoop, f"file:{place.root}/lists", "list")
    add_list(place, "a", "run-1", 99)
    (stored,) = directories.find().stored
    for uri in (outside, place.root / "lists", place.root / "lists" / ".." / "elsewhere" / "x"):
        with pytest.raises(Exception, match="is not below"):
            directories.remove(replace(stored, uri=f"file:{uri}"))
    assert outside.exists()
    directories.remove(stored)
    assert list((place.root / "lists" / "a").iterdir()) == []
