"""The lake's tables on real Delta: comments, idempotence, two runs at once, other readers, older and newer lakes."""

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable as DeltaRs
from deltalake import Schema
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructType

from pipelines.common.errors import UnavailableError, UsageError
from pipelines.lake import driver_commits
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.run_summary import RunKey, VerdictTotal, table_row
from schemas.registry import TABLES
from schemas.runs import RUNS
from schemas.table import Table, column
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.lake_rows import lake_rows

pytestmark = pytest.mark.slow("commits to real tables, a second of CPU each")

DAY = date(2026, 11, 21)
A = RunKey("prod-a", "night-1", DAY)
B = RunKey("prod-b", "night-1", DAY)
ONLY = (VERDICT_TOTALS,)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[DeltaTables]:
    yield DeltaTables(spark, str(tmp_path / "lake"))
    shutil.rmtree(tmp_path / "lake", ignore_errors=True)


def totals(lake: DeltaTables, *keys: RunKey, files: int = 1, rows: int = 2) -> dict[str, DataFrame | pa.Table]:
    """Rows of the driver, which deltalake commits where it can."""
    values = [table_row(key, VerdictTotal("HELD", f"R{n}", "KEEP", files, 10, 5)) for key in keys for n in range(rows)]
    return {VERDICT_TOTALS.name: lake.rows(VERDICT_TOTALS, values)}


def frames(lake: DeltaTables, *keys: RunKey, files: int = 1, rows: int = 2) -> dict[str, DataFrame | pa.Table]:
    """The same as a frame, which Spark commits."""
    known = totals(lake, *keys, files=files, rows=rows)[VERDICT_TOTALS.name]
    return {VERDICT_TOTALS.name: lake._spark.createDataFrame(known, VERDICT_TOTALS.schema)}


BOTH_WAYS = pytest.mark.parametrize("rows_of", [totals, frames])


def contents(lake: DeltaTables, table: Table = VERDICT_TOTALS) -> list[tuple[str, str, int]]:
    return sorted((row["cluster"], row["run_id"], row["files"]) for row in lake_rows(lake.location(table)))


@pytest.mark.long
@pytest.mark.promise("delta-without-a-metastore")
def test_every_table_is_there_with_comments_before_the_first_row(lake: DeltaTables, spark: SparkSession) -> None:
    lake.ensure(TABLES)
    for table in TABLES:
        made = DeltaRs(lake.location(table))
        assert made.metadata().description == table.comment
        assert made.metadata().partition_columns == ["run_date"]
        assert made.protocol().min_reader_version == 1
        assert [field.name for field in made.schema().fields] == table.schema.names
        assert all(field.metadata.get("comment") for field in made.schema().fields), table.name
        assert spark.read.format("delta").load(lake.location(table)).schema == table.schema
    lake.ensure(TABLES)
    assert DeltaRs(lake.location(RUNS)).version() == 0, "a lake that is complete gets no commit"


@BOTH_WAYS
def test_rerun_replaces_its_own_rows_whole_and_no_others(lake: DeltaTables, rows_of: Callable[..., Any]) -> None:
    lake.ensure(ONLY)
    lake.replace(rows_of(lake, A, B), [A, B])
    lake.replace(rows_of(lake, RunKey("prod-a", "night-2", DAY)), [RunKey("prod-a", "night-2", DAY)])
    lake.replace(rows_of(lake, A, files=7, rows=1), [A])
    assert contents(lake) == [
        ("prod-a", "night-1", 7),
        ("prod-a", "night-2", 1),
        ("prod-a", "night-2", 1),
        ("prod-b", "night-1", 1),
        ("prod-b", "night-1", 1),
    ]


def test_a_rerun_of_rows_in_the_driver_needs_no_spark(lake: DeltaTables, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.ensure(ONLY)
    lake.replace(totals(lake, A, B, rows=1), [A, B])
    monkeypatch.delattr(DeltaTables, "_retrying")
    lake.replace(totals(lake, A, files=7, rows=1), [A])
    assert contents(lake) == [("prod-a", "night-1", 7), ("prod-b", "night-1", 1)]


def test_rerun_without_rows_leaves_none(lake: DeltaTables) -> None:
    lake.ensure(ONLY)
    lake.replace(totals(lake, A, B, rows=1), [A, B])
    lake.replace(totals(lake, A, rows=0), [A])
    assert contents(lake) == [("prod-b", "night-1", 1)]


def test_run_ids_of_a_fleet_differ_between_its_clusters(lake: DeltaTables) -> None:
    crossed = RunKey("prod-a", "other", DAY), RunKey("prod-b", "other", date(2026, 11, 22))
    lake.ensure(ONLY)
    lake.replace(totals(lake, *crossed, rows=1), crossed)
    mine = [A, RunKey("prod-b", "other", date(2026, 11, 22))]
    lake.replace(totals(lake, *mine, files=3, rows=1), mine)
    assert contents(lake) == [("prod-a", "night-1", 3), ("prod-a", "other", 1), ("prod-b", "other", 3)]


def together(work: Sequence[threading.Thread]) -> None:
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()


@pytest.mark.long
def test_runs_of_many_clusters_at_once_lose_nothing(lake: DeltaTables) -> None:
    lake.ensure(ONLY)
    keys = [RunKey(f"prod-{number}", "night-1", DAY) for number in range(6)]
    together([threading.Thread(target=lake.replace, args=(totals(lake, key), [key])) for key in keys])
    assert contents(lake) == sorted((key.cluster, key.run_id, 1) for key in keys for _ in range(2))


@pytest.mark.long
def test_one_run_started_several_times_at_once_stands_once(lake: DeltaTables) -> None:
    lake.ensure(ONLY)
    ways = enumerate((totals, frames, totals), start=1)
    attempts = [rows_of(lake, A, files=number) for number, rows_of in ways]
    together([threading.Thread(target=lake.replace, args=(rows, [A])) for rows in attempts])
    found = contents(lake)
    assert len(found) == 2, found
    assert found[0] == found[1], "the rows of one attempt, not of two"


@pytest.mark.long
def test_a_twin_that_commits_between_the_look_and_the_append_is_replaced(
    lake: DeltaTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.ensure(ONLY)
    append = lake._append
    twin = DeltaTables(lake._spark, lake.lake_uri)

    def late(table: Table, frame: DataFrame, token: str) -> None:
        twin.replace(totals(twin, A, files=1), [A])
        append(table, frame, token)

    monkeypatch.setattr(lake, "_append", late)
    lake.replace(frames(lake, A, files=2), [A])
    assert contents(lake) == [("prod-a", "night-1", 2)] * 2


@pytest.mark.long
@pytest.mark.parametrize("fresh", [False, True])
def test_a_twin_that_commits_while_rows_are_replaced_is_replaced_by_spark(
    lake: DeltaTables, monkeypatch: pytest.MonkeyPatch, fresh: bool
) -> None:
    lake.ensure(ONLY)
    lake.replace(totals(lake, A, files=1), [A])
    write, (twin,) = driver_commits.write_deltalake, totals(lake, A, files=3).values()

    def late(*args: object, **options: object) -> None:
        if options["mode"] == "overwrite":
            write(DeltaRs(lake.location(VERDICT_TOTALS)), twin, mode="append")
        write(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(driver_commits, "write_deltalake", late)
    lake.ensure(ONLY)
    lake.replace(totals(lake, A, files=2), [A], fresh=fresh)
    assert contents(lake) == [("prod-a", "night-1", 2)] * 2


@pytest.mark.long
@BOTH_WAYS
def test_a_fresh_run_finds_the_twin_that_began_after_it(lake: DeltaTables, rows_of: Callable[..., Any]) -> None:
    lake.ensure(ONLY)
    twin = DeltaTables(lake._spark, lake.lake_uri)
    twin.ensure(ONLY)
    twin.replace(rows_of(twin, A, files=1), [A], fresh=True)
    lake.replace(rows_of(lake, A, files=2), [A], fresh=True)
    assert contents(lake) == [("prod-a", "night-1", 2)] * 2
    lake.replace(rows_of(lake, B, files=3, rows=1), [B], fresh=True)
    assert contents(lake) == [("prod-a", "night-1", 2)] * 2 + [("prod-b", "night-1", 3)]


def test_append_rows_takes_ms_and_leaves_the_rest_null(lake: DeltaTables) -> None:
    lake.ensure((RUNS,))
    row = {"cluster": "prod-a", "run_id": "night-1", "run_date": DAY, "status": "STARTED", "at": 1_795_000_000_123}
    lake.append_rows(RUNS, [row])
    lake.append_rows(RUNS, [row | {"accepted": [("deletable_share_below_limit", "why")]}])
    found = duckdb_rows(lake, RUNS, 'select epoch_ms("at"), exit_code, accepted[1].reason from t')
    assert sorted(found, key=str) == [(1_795_000_000_123, None, "why"), (1_795_000_000_123, None, None)]


def test_unknown_columns_and_wrong_types_never_reach_a_table(lake: DeltaTables) -> None:
    with pytest.raises(ValueError, match="no column statsu"):
        lake.append_rows(RUNS, [{"statsu": "DONE"}])
    frame = frames(lake, A)[VERDICT_TOTALS.name].withColumn("files", F.lit("many"))
    with pytest.raises(ValueError, match="verdict_totals"):
        lake.replace({VERDICT_TOTALS.name: frame}, [A])
    rows = totals(lake, A)[VERDICT_TOTALS.name].rename_columns({"files": "many"})
    with pytest.raises(ValueError, match="many"):
        lake.replace({VERDICT_TOTALS.name: rows}, [A])


def duckdb_rows(lake: DeltaTables, table: Table, query: str) -> list[tuple[object, ...]]:
    t = DeltaRs(lake.location(table)).to_pyarrow_dataset()  # noqa: F841 - DuckDB finds it by its name
    return duckdb.sql(query).fetchall()


@pytest.mark.promise("delta-without-a-metastore")
def test_duckdb_reads_verdicts_with_their_holders(lake: DeltaTables) -> None:
    lake.ensure((WAL_VERDICTS,))
    row = {
        "cluster": "prod-a", "run_id": "night-1", "run_date": DAY, "path": "oldWALs/a%2C1%2C2.3", "length": 5,
        "verdict": "HELD", "reason": "PENDING", "modification_time": 1_795_000_000_123,
        "blocking": [("1", "a,1,2", "a,1,2", "a%2C1%2C2.3", 17)],
    }  # fmt: skip
    lake.replace({WAL_VERDICTS.name: lake.rows(WAL_VERDICTS, [row])}, [A])
    found = duckdb_rows(lake, WAL_VERDICTS, 'select path, blocking[1].peer_id, blocking[1]."offset" from t')
    assert found == [("oldWALs/a%2C1%2C2.3", "1", 17)]


def table_with(names: Sequence[str], extra: StructType | None = None) -> Table:
    kept = [field for field in VERDICT_TOTALS.schema if field.name in names]
    return Table(VERDICT_TOTALS.name, VERDICT_TOTALS.comment, StructType(kept + list(extra or [])))


def test_older_lake_gets_the_new_columns(lake: DeltaTables) -> None:
    names = [name for name in VERDICT_TOTALS.schema.names if name != "oldest_modification_age_ms"]
    lake.ensure((table_with(names),))
    lake.ensure(ONLY)
    lake.replace(totals(lake, A, rows=1), [A])
    made = {field.name: field for field in DeltaRs(lake.location(VERDICT_TOTALS)).schema().fields}
    assert made["oldest_modification_age_ms"].metadata["comment"]
    assert contents(lake) == [("prod-a", "night-1", 1)]


def test_newer_lake_keeps_its_columns(lake: DeltaTables) -> None:
    newer = StructType([column("owner_team", StringType(), "Of a later version."), column("n", LongType(), "Same.")])
    lake.ensure((table_with(VERDICT_TOTALS.schema.names, newer),))
    lake.ensure(ONLY)
    lake.replace(totals(lake, A, rows=1), [A])
    lake.replace(totals(lake, A, files=2, rows=1), [A])
    assert duckdb_rows(lake, VERDICT_TOTALS, "select files, owner_team from t") == [(2, None)]


def test_column_of_another_type_is_said(lake: DeltaTables) -> None:
    names = [name for name in VERDICT_TOTALS.schema.names if name != "files"]
    lake.ensure((table_with(names, StructType([column("files", StringType(), "Not a number.")])),))
    with pytest.raises(UsageError, match=r"verdict_totals: column files is string, this walsafe writes bigint"):
        lake.ensure(ONLY)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("other files", "holds other files and no Delta table"),
        ("torn commit", "transaction log is damaged"),
        ("lost commit", "transaction log is damaged"),
        ("a file in the way", "cannot be made"),
    ],
)
def test_unusable_lake_names_the_path_and_the_way_out(
    spark: SparkSession, tmp_path: Path, harm: str, words: str
) -> None:
    lake = DeltaTables(spark, str(tmp_path / "lake"))
    folder = Path(lake.location(VERDICT_TOTALS))
    if harm == "other files":
        folder.mkdir(parents=True)
        (folder / "notes.txt").write_text("mine")
    elif harm == "a file in the way":
        Path(lake.lake_uri).write_text("mine")
    else:
        lake.ensure(ONLY)
        for files in (1, 2):
            lake.replace(totals(lake, A, files=files), [A])
        log = folder / "_delta_log"
        for checksum in log.glob("*.crc"):
            checksum.unlink()
        for checksum in log.glob(".*.crc"):
            checksum.unlink()
        if harm == "torn commit":
            (log / f"{2:020}.json").write_text('{"add":{"pa')
        else:
            (log / f"{1:020}.json").unlink()
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    with pytest.raises(UsageError, match=f"verdict_totals.*{words}"):
        lake.ensure(ONLY)


def test_lake_out_of_reach_is_worth_another_try(spark: SparkSession) -> None:
    with pytest.raises(UnavailableError, match="verdict_totals"):
        DeltaTables(spark, "hdfs://127.0.0.1:1/lake").ensure(ONLY)


@pytest.mark.long
def test_spark_writes_the_checkpoint_at_the_end_of_an_interval_whoever_wrote_the_rest(lake: DeltaTables) -> None:
    """As in a lake whose tables Spark created, with Delta's interval."""
    DeltaRs.create(
        lake.location(VERDICT_TOTALS),
        Schema.from_json(VERDICT_TOTALS.schema.json()),
        partition_by=list(VERDICT_TOTALS.partitioned_by),
        description=VERDICT_TOTALS.comment,
        configuration=VERDICT_TOTALS.properties(),
    )
    lake.ensure(ONLY)
    keys = [RunKey("prod-a", f"night-{number}", DAY) for number in range(12)]
    for key in keys:
        lake.replace(totals(lake, key, rows=1), [key], fresh=True)
    log = Path(lake.location(VERDICT_TOTALS), "_delta_log")
    assert [path.name for path in log.glob("*.checkpoint.parquet")] == [f"{10:020}.checkpoint.parquet"]
    lake._spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    read = lake._spark.read.format("delta").load(lake.location(VERDICT_TOTALS)).collect()
    assert sorted((row.cluster, row.run_id, row.files) for row in read) == sorted(
        (key.cluster, key.run_id, 1) for key in keys
    )
