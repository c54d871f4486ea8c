"""A lake whose files were harmed: readers say which table and what to do; what no commit names is as if not there."""

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.common.errors import UsageError
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import RunKey
from schemas.runs import RUNS

KEY = RunKey("prod-a", "night-1", date(2026, 11, 21))
COMMITS = 3
DATA = "run_date=*/*.parquet"
CHECKPOINT = "_delta_log/*.checkpoint.parquet"


def row(number: int) -> dict[str, object]:
    identity = {"cluster": KEY.cluster, "run_id": f"night-{number}", "run_date": KEY.run_date}
    return identity | {"status": "DONE", "at": number, "files_started_at": number}


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of `runs` with a checkpoint and without the commits before it, as Delta leaves it; never touched."""
    lake = tmp_path_factory.mktemp("whole") / "lake"
    tables = DeltaTables(spark, f"file:{lake}")
    tables.ensure((RUNS,))
    for number in range(COMMITS):
        tables.append_rows(RUNS, [row(number)])
    log = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    log.forTable(spark._jsparkSession, tables.location(RUNS)).checkpoint()
    for number in range(COMMITS):
        (lake / RUNS.name / "_delta_log" / f"{number:020}.json").unlink()
    return lake


@pytest.fixture
def lake(made: Path, tmp_path: Path) -> Path:
    """A copy to harm. Nothing of it is in any cache: its path is new."""
    shutil.copytree(made, tmp_path / "lake")
    for checksum in (tmp_path / "lake").rglob(".*.crc"):
        checksum.unlink()  # Hadoop's own, which would notice first; object stores and HDFS have none here
    return tmp_path / "lake"


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def garbled(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:4] + b"\xff" * (len(content) - 12) + content[-8:])


def pages_garbled(file: Path) -> None:
    content = file.read_bytes()
    end = len(content) // 2
    file.write_bytes(content[:4] + b"\xff" * (end - 4) + content[end:])


def another(file: Path) -> None:
    file.write_text("no parquet at all, yet long enough to have a footer")


@pytest.mark.parametrize(
    ("pattern", "harm", "words"),
    [
        (DATA, cut, "a data file"),
        (DATA, emptied, "a data file"),
        (DATA, garbled, "a data file"),
        (DATA, pages_garbled, "a data file"),
        (DATA, another, "a data file"),
        (DATA, Path.unlink, "a data file"),
        (CHECKPOINT, cut, "transaction log is damaged"),
        (CHECKPOINT, garbled, "transaction log is damaged"),
    ],
)
def test_a_harmed_file_is_said_with_its_table_and_the_way_out(
    spark: SparkSession, lake: Path, pattern: str, harm: Callable[[Path], object], words: str
) -> None:
    harm(min((lake / RUNS.name).glob(pattern)))
    with pytest.raises(UsageError, match=f"(?s)Delta table .*{RUNS.name}: .*{words}.*restore it from a backup"):
        LakeReader.of(spark, f"file:{lake}").newest_runs("prod-a")


def test_the_note_about_the_last_checkpoint_may_be_garbage(spark: SparkSession, lake: Path) -> None:
    (lake / RUNS.name / "_delta_log" / "_last_checkpoint").write_text('{"version":')
    assert len(LakeReader.of(spark, f"file:{lake}").newest_runs("prod-a")) == COMMITS


def test_files_that_a_killed_writer_left_are_not_rows(spark: SparkSession, lake: Path) -> None:
    """It dies between its data files and its commit, or in the middle of writing the commit under another name."""
    whole = min((lake / RUNS.name).glob(DATA))
    shutil.copy(whole, whole.with_name("part-00000-of-the-killed.snappy.parquet"))
    cut(Path(shutil.copy(whole, whole.with_name("part-00001-of-the-killed.snappy.parquet"))))
    log = lake / RUNS.name / "_delta_log"
    (log / f".{COMMITS + 1:020}.json.4f0d.tmp").write_text('{"add":{"pa')
    assert len(LakeReader.of(spark, f"file:{lake}").newest_runs("prod-a")) == COMMITS
    DeltaTables(spark, f"file:{lake}").append_rows(RUNS, [row(COMMITS)])
    assert len(LakeReader.of(spark, f"file:{lake}").newest_runs("prod-a")) == COMMITS + 1
