"""Commits of the driver by deltalake: what they write, and what they leave to Spark."""

import json
import logging
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError
from pyspark.sql.types import LongType, StructType

from pipelines.common.spark.local_frames import arrow_rows
from pipelines.lake import driver_commits
from pipelines.lake.delta_rs import DeltaRs
from pipelines.lake.driver_commits import DriverCommits
from pipelines.lake.query import rows_of
from pipelines.lake.run_summary import RunKey
from schemas.registry import TABLES
from schemas.table import CHECKPOINT_INTERVAL, Table, column
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS

DAY = date(2026, 11, 21)
RUN, OTHER, NEXT = ALL = (
    RunKey("prod-a", "night-1", DAY),
    RunKey("prod-b", "night-1", DAY),
    RunKey("prod-b", "night-2", DAY),
)


@pytest.fixture
def commits(tmp_path: Path) -> DriverCommits:
    return DriverCommits(DeltaRs(str(tmp_path), {}))


def totals(run: RunKey = RUN, count: int = 2) -> pa.Table:
    known = {"cluster": run.cluster, "run_id": run.run_id, "run_date": run.run_date, "files": 7}
    names = VERDICT_TOTALS.schema.names
    return arrow_rows([tuple(known.get(name) for name in names) for _ in range(count)], VERDICT_TOTALS.schema)


def test_every_table_is_made_with_its_comments_and_plain_protocol(commits: DriverCommits, tmp_path: Path) -> None:
    for table in TABLES:
        assert commits.ensured(table) == 0
        made = DeltaTable(tmp_path / table.name)
        assert made.metadata().description == table.comment
        assert made.metadata().partition_columns == list(table.partitioned_by)
        assert made.metadata().configuration == table.properties() | {CHECKPOINT_INTERVAL: "50"}
        assert (made.protocol().min_reader_version, made.protocol().min_writer_version) == (1, 2)
        assert StructType.fromJson(json.loads(made.schema().to_json())) == table.schema
        assert commits.ensured(table) == 0, "a table that is complete gets no commit"


def test_rows_are_appended_in_one_commit_with_its_token(commits: DriverCommits, tmp_path: Path) -> None:
    commits.ensured(VERDICT_TOTALS)
    assert commits.rows(VERDICT_TOTALS, [RUN]) == 0
    assert commits.appended(VERDICT_TOTALS, totals(), "token-1") == 1
    assert commits.rows(VERDICT_TOTALS, [RUN]) == 2
    assert commits.rows(VERDICT_TOTALS, [RunKey("prod-b", "night-1", DAY)]) == 0
    there = DeltaTable(tmp_path / VERDICT_TOTALS.name)
    assert there.history(1)[0]["userMetadata"] == "token-1"
    (file,) = there.file_uris()
    columns = pq.ParquetFile(file).metadata.row_group(0)
    assert {columns.column(number).compression for number in range(columns.num_columns)} == {"ZSTD"}
    assert not list((tmp_path / VERDICT_TOTALS.name / "_delta_log").glob("*checkpoint*"))


def with_all(commits: DriverCommits) -> None:
    """Each run has two rows, in a file of its own."""
    commits.ensured(VERDICT_TOTALS)
    for run in ALL:
        commits.appended(VERDICT_TOTALS, totals(run), "token-1")


def counts(commits: DriverCommits) -> list[int | None]:
    return [commits.rows(VERDICT_TOTALS, [run]) for run in ALL]


def test_rows_of_runs_are_replaced_in_one_commit_and_those_of_others_stay(
    commits: DriverCommits, tmp_path: Path
) -> None:
    """Even where a file holds rows of several runs, and where two runs have one cluster or one id in common."""
    commits.ensured(VERDICT_TOTALS)
    commits.appended(VERDICT_TOTALS, pa.concat_tables(totals(run) for run in ALL), "token-1")
    rows = pa.concat_tables([totals(RUN, 3), totals(NEXT, 5)])
    assert commits.replaced(VERDICT_TOTALS, rows, [RUN, NEXT], "token-2") == 2
    assert counts(commits) == [3, 2, 5]
    assert DeltaTable(tmp_path / VERDICT_TOTALS.name).history(1)[0]["userMetadata"] == "token-2"
    assert commits.replaced(VERDICT_TOTALS, totals(RUN, 0), [RUN], "token-3") == 3
    assert counts(commits) == [0, 2, 5]


def test_what_a_file_holds_of_other_runs_is_written_as_it_was(commits: DriverCommits, tmp_path: Path) -> None:
    commits.ensured(WAL_VERDICTS)
    names = WAL_VERDICTS.schema.names
    other = {
        "cluster": OTHER.cluster, "run_id": OTHER.run_id, "run_date": DAY, "path": "oldWALs/a%2C1%2C2.3",
        "modification_time": datetime(2026, 11, 20, 1, 2, 3, 456_000, UTC),
        "blocking": [("1", "a,1,2", "a,1,2", "a%2C1%2C2.3", 17), ("2", None, None, None, None)],
    }  # fmt: skip
    mine = {"cluster": RUN.cluster, "run_id": RUN.run_id, "run_date": DAY, "path": "oldWALs/mine"}
    rows = [arrow_rows([tuple(row.get(name) for name in names)], WAL_VERDICTS.schema) for row in (other, mine)]

    def row_of_other() -> dict[str, object]:
        found = DeltaTable(tmp_path / WAL_VERDICTS.name).to_pyarrow_table().to_pylist()
        return next(row for row in found if row["cluster"] == OTHER.cluster)

    commits.appended(WAL_VERDICTS, pa.concat_tables(rows), "token-1")
    before = row_of_other()
    assert commits.replaced(WAL_VERDICTS, rows[1], [RUN], "token-2") == 2
    assert row_of_other() == before


def committing_first(monkeypatch: pytest.MonkeyPatch, path: Path, meanwhile: str) -> None:
    """Lets another process commit after the table was opened and before the rows are written."""
    write = driver_commits.write_deltalake

    def late(*args: object, **options: object) -> None:
        if meanwhile == "a compaction":
            DeltaTable(path).optimize.compact()
        elif meanwhile == "a replacement":
            write(DeltaTable(path), totals(RUN, 7), mode="overwrite", predicate=rows_of([RUN]))
        else:
            write(DeltaTable(path), totals(RUN if meanwhile == "a twin" else OTHER, 7), mode="append")
        write(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(driver_commits, "write_deltalake", late)


@pytest.mark.parametrize(("meanwhile", "left"), [("a twin", 9), ("a replacement", 7), ("a compaction", 2)])
def test_nothing_is_replaced_if_another_process_meanwhile_touches_these_rows_or_their_files(
    commits: DriverCommits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    meanwhile: str, left: int,
) -> None:  # fmt: skip
    with_all(commits)
    committing_first(monkeypatch, tmp_path / VERDICT_TOTALS.name, meanwhile)
    with caplog.at_level(logging.DEBUG, driver_commits.__name__):
        assert commits.replaced(VERDICT_TOTALS, totals(RUN, 4), [RUN], "token-2") is None
    (refused,) = caplog.records
    assert refused.exc_info is not None
    assert refused.exc_info[0] is CommitFailedError
    assert counts(commits) == [left, 2, 2]


def test_rows_that_another_run_appends_meanwhile_are_no_obstacle(
    commits: DriverCommits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_all(commits)
    committing_first(monkeypatch, tmp_path / VERDICT_TOTALS.name, "another run")
    assert commits.replaced(VERDICT_TOTALS, totals(RUN, 4), [RUN], "token-2") == 5
    assert counts(commits) == [4, 9, 2]


def test_the_commit_that_ends_an_interval_is_left_to_spark(commits: DriverCommits) -> None:
    commits.ensured(VERDICT_TOTALS)
    versions = [commits.appended(VERDICT_TOTALS, totals(), f"token-{number}") for number in range(51)]
    assert versions == [*range(1, 50), None, None]
    assert commits.replaced(VERDICT_TOTALS, totals(), [RUN], "token-51") is None


def test_a_table_that_spark_created_keeps_its_interval(commits: DriverCommits, tmp_path: Path) -> None:
    schema = Schema.from_json(VERDICT_TOTALS.schema.json())
    DeltaTable.create(tmp_path / VERDICT_TOTALS.name, schema, configuration={CHECKPOINT_INTERVAL: "4"})
    versions = [commits.appended(VERDICT_TOTALS, totals(), f"token-{number}") for number in range(5)]
    assert versions == [1, 2, 3, None, None]


def test_a_table_that_names_no_interval_has_that_of_delta(commits: DriverCommits, tmp_path: Path) -> None:
    DeltaTable.create(tmp_path / VERDICT_TOTALS.name, Schema.from_json(VERDICT_TOTALS.schema.json()))
    versions = [commits.appended(VERDICT_TOTALS, totals(), f"token-{number}") for number in range(10)]
    assert versions == [*range(1, 10), None]


def test_an_error_after_the_commit_is_no_reason_to_commit_again(
    commits: DriverCommits, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits.ensured(VERDICT_TOTALS)
    write = driver_commits.write_deltalake

    def failing(*args: object, **options: object) -> None:
        write(*args, **options)  # type: ignore[arg-type]
        raise OSError("no answer")

    monkeypatch.setattr(driver_commits, "write_deltalake", failing)
    assert commits.appended(VERDICT_TOTALS, totals(), "token-1") == 1
    assert commits.rows(VERDICT_TOTALS, [RUN]) == 2
    assert commits.replaced(VERDICT_TOTALS, totals(count=3), [RUN], "token-2") == 2
    assert commits.rows(VERDICT_TOTALS, [RUN]) == 3


def test_an_error_before_the_commit_is_left_to_spark(commits: DriverCommits, monkeypatch: pytest.MonkeyPatch) -> None:
    commits.ensured(VERDICT_TOTALS)

    def failing(*_args: object, **_options: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(driver_commits, "write_deltalake", failing)
    assert commits.appended(VERDICT_TOTALS, totals(), "token-1") is None
    assert commits.rows(VERDICT_TOTALS, [RUN]) == 0


def test_a_folder_with_other_files_is_left_to_spark(commits: DriverCommits, tmp_path: Path) -> None:
    (tmp_path / VERDICT_TOTALS.name).mkdir()
    (tmp_path / VERDICT_TOTALS.name / "notes.txt").write_text("mine")
    assert commits.ensured(VERDICT_TOTALS) is None
    assert commits.appended(VERDICT_TOTALS, totals(), "token-1") is None
    assert sorted(path.name for path in (tmp_path / VERDICT_TOTALS.name).iterdir()) == ["notes.txt"]


def test_an_older_table_is_left_to_spark_to_widen(commits: DriverCommits) -> None:
    older = Table(VERDICT_TOTALS.name, "of old", StructType(list(VERDICT_TOTALS.schema)[:-1]))
    commits.ensured(older)
    assert commits.ensured(VERDICT_TOTALS) is None


def test_columns_of_a_newer_walsafe_stay_and_are_null(commits: DriverCommits, tmp_path: Path) -> None:
    newer = StructType([*VERDICT_TOTALS.schema, column("later", LongType(), "Of a later version.")])
    commits.ensured(Table(VERDICT_TOTALS.name, VERDICT_TOTALS.comment, newer))
    assert commits.ensured(VERDICT_TOTALS) == 0
    assert commits.appended(VERDICT_TOTALS, totals(), "token-1") == 1
    read = DeltaTable(tmp_path / VERDICT_TOTALS.name).to_pyarrow_table()
    assert read["later"].to_pylist() == [None, None]
    assert read["files"].to_pylist() == [7, 7]
    theirs = totals(OTHER).append_column("later", pa.array([8, 9], pa.int64()))
    driver_commits.write_deltalake(tmp_path / VERDICT_TOTALS.name, theirs, mode="append")
    DeltaTable(tmp_path / VERDICT_TOTALS.name).optimize.compact()
    assert commits.replaced(VERDICT_TOTALS, totals(count=1), [RUN], "token-2") == 4
    read = DeltaTable(tmp_path / VERDICT_TOTALS.name).to_pyarrow_table()
    assert sorted(read["later"].to_pylist(), key=str) == [8, 9, None]


def test_where_deltalake_serves_no_lake_spark_does_all() -> None:
    commits = DriverCommits(None)
    assert commits.ensured(VERDICT_TOTALS) is None
    assert commits.appended(VERDICT_TOTALS, totals(), "token-1") is None
    assert commits.replaced(VERDICT_TOTALS, totals(), [RUN], "token-1") is None
    assert commits.rows(VERDICT_TOTALS, [RUN]) is None
