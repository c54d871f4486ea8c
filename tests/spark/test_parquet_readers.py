"""Who reads a lake whose files are of both versions of Parquet."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as DeltaRs
from pyspark.sql import SparkSession

from pipelines.common.spark.local_frames import local_frame
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.run_summary import RunKey
from pipelines.lake.views import VIEWS, views_script
from schemas.registry import TABLES
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.cluster.jvm import MODULE_OPTIONS
from tests.labs.installed import pip_folder
from tests.labs.lake_rows import lake_rows
from tests.labs.places import DOCS, PROJECT
from tests.labs.spark.other_sparks import DELTA, READERS, fetched_jars, spark_home
from tests.labs.spark.submitter import clean_environment

NIGHTS = {"v1": date(2026, 11, 21), "v2": date(2026, 11, 22)}
"""The night that is written in each version."""
ROWS = [(f"oldWALs/rs1%2C16020%2C1.{n}", n, 1_795_000_000_000_000 + n) for n in range(1000)]
"""Path, length and time (µs) of each file of a night."""
COLUMNS = ("path", "length", "modification_time")
NO_VECTORS = "spark.sql.parquet.enableVectorizedReader=false"
QUESTION = "SELECT count(DISTINCT path), max(path), sum(length), count(DISTINCT modification_time) FROM {} WHERE {}"
ANSWER = ("1000", "oldWALs/rs1%2C16020%2C1.999", "499500", "1000")


def of_night(night: date) -> str:
    return f"run_date = DATE '{night}'"


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DeltaTables:
    """Two nights in one table; Delta has to be told the version by a name of its own (docs/adr/0024)."""
    made = DeltaTables(spark, str(tmp_path_factory.mktemp("lake")))
    made.ensure((WAL_VERDICTS,))
    default = spark.conf.get("parquet.writer.version")
    assert default == "v2"
    for version, night in NIGHTS.items():
        key = RunKey("prod-a", "night", night)
        known = {"cluster": key.cluster, "run_id": key.run_id, "run_date": key.run_date}
        rows = (known | dict(zip(COLUMNS, row, strict=True)) for row in ROWS)
        values = [tuple(row.get(field) for field in WAL_VERDICTS.schema.names) for row in rows]
        try:
            spark.conf.set("parquet.writer.version", version)
            # not the lake's own frames, which are for the few rows of small tables
            made.replace({WAL_VERDICTS.name: local_frame(spark, values, WAL_VERDICTS.schema).coalesce(1)}, [key])
        finally:
            spark.conf.set("parquet.writer.version", default)
    return made


def file_of(lake: DeltaTables, version: str) -> Path:
    (file,) = Path(lake.location(WAL_VERDICTS)).glob(f"run_date={NIGHTS[version]}/*.parquet")
    return file


@pytest.mark.slow("commits to real tables, a second of CPU each")
def test_version_2_writes_paths_as_differences(lake: DeltaTables) -> None:
    sizes = {}
    for version in NIGHTS:
        group = pq.ParquetFile(file_of(lake, version)).metadata.row_group(0)
        columns = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
        assert (columns["path"].encodings == ("DELTA_BYTE_ARRAY",)) == (version == "v2")
        assert ("DELTA_BINARY_PACKED" in columns["length"].encodings) == (version == "v2")
        sizes[version] = columns["path"].total_uncompressed_size
    assert sizes["v2"] < sizes["v1"] / 2


def by_deltalake(lake: DeltaTables, _: SparkSession) -> Iterable[Mapping[str, object]]:
    return lake_rows(lake.location(WAL_VERDICTS))


def by_pyarrow(lake: DeltaTables, _: SparkSession) -> Iterable[Mapping[str, object]]:
    return DeltaRs(lake.location(WAL_VERDICTS)).to_pyarrow_table().to_pylist()


def by_polars(lake: DeltaTables, _: SparkSession) -> Iterable[Mapping[str, object]]:
    return pl.read_delta(lake.location(WAL_VERDICTS)).to_dicts()


def by_duckdb(lake: DeltaTables, _: SparkSession) -> Iterable[Mapping[str, object]]:
    """Its own reading of Parquet, not that of pyarrow."""
    files = [str(file_of(lake, version)) for version in NIGHTS]
    answer = duckdb.sql("SELECT * FROM read_parquet(?, hive_partitioning = true)", params=[files])
    return answer.to_arrow_table().to_pylist()


def by_spark(lake: DeltaTables, spark: SparkSession) -> Iterable[Mapping[str, object]]:
    return [row.asDict() for row in spark.read.format("delta").load(lake.location(WAL_VERDICTS)).collect()]


def in_us(at: object) -> int:
    assert isinstance(at, datetime)
    return round(at.timestamp() * 1_000_000)


@pytest.mark.slow("commits to real tables, a second of CPU each")
@pytest.mark.promise("parquet-version-1")
@pytest.mark.parametrize("read", [by_deltalake, by_pyarrow, by_polars, by_duckdb, by_spark])
def test_a_reader_of_both_versions(
    read: Callable[[DeltaTables, SparkSession], Iterable[Mapping[str, object]]], lake: DeltaTables, spark: SparkSession
) -> None:
    found = [
        (row["run_date"], row["path"], row["length"], in_us(row["modification_time"])) for row in read(lake, spark)
    ]
    assert sorted(found, key=str) == sorted(((night, *row) for night in NIGHTS.values() for row in ROWS), key=str)


WITH_DUCKDB = """
import sys
from pathlib import Path

import duckdb

database = duckdb.connect("walsafe.duckdb", config={"extension_directory": sys.argv[1]})
database.execute("SET enable_progress_bar = false")
database.execute("INSTALL '" + sys.argv[2] + "'")
database.execute(Path("views.sql").read_text())
for question in sys.stdin:
    print(*database.execute(question).fetchone(), sep="\\t")
"""


@pytest.mark.deep
@pytest.mark.promise("parquet-version-1", "duckdb-with-its-extension")
def test_duckdb_with_its_extension_delta(lake: DeltaTables, tmp_path: Path) -> None:
    """The extension as DuckDB signed it, which fits one DuckDB only; the script of the views is run as it is."""
    lake.ensure(TABLES)
    folder = pip_folder("duckdb-delta", (PROJECT / "requirements-duckdb.txt").read_text(encoding="utf-8"))
    (extension,) = folder.rglob("delta.duckdb_extension")
    (tmp_path / "views.sql").write_text(views_script(lake.lake_uri, "duckdb"), encoding="utf-8")
    questions = [QUESTION.format(WAL_VERDICTS.name, of_night(night)) for night in NIGHTS.values()]
    questions += [f"SELECT count(*) FROM {view.name}" for view in VIEWS]  # noqa: S608
    done = subprocess.run(
        [sys.executable, "-c", WITH_DUCKDB, str(tmp_path / "extensions"), str(extension)],
        env={**os.environ, "PYTHONPATH": str(folder)},
        input="\n".join(questions),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = [tuple(line.split("\t")) for line in done.stdout.splitlines()]
    assert answers[:2] == [ANSWER] * 2
    assert len(answers) == len(questions)


def spark_sql(
    home: Path, jars: Iterable[Path], work: Path, statements: Iterable[str], *settings: str
) -> tuple[int, list[tuple[str, ...]], str]:
    """Asks the `spark-sql` of another version with Delta's jars: its exit code, its answers and its log."""
    told = (
        *("spark.ui.enabled=false", "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1"),
        *("spark.sql.shuffle.partitions=1", "spark.databricks.delta.snapshotPartitions=1"),
        "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
        f"spark.sql.warehouse.dir={work}/warehouse",
        *settings,
    )
    environment = clean_environment() | {"SPARK_HOME": str(home)}
    environment.pop("LOG4J_CONFIGURATION_FILE", None)  # of this process's Spark
    done = subprocess.run(
        [
            *(str(home / "bin" / "spark-sql"), "--master", "local[1]", "--jars", ",".join(map(str, jars))),
            # Java 17 is newer than Spark 3.2
            *("--driver-java-options", " ".join(MODULE_OPTIONS)),
            *(word for setting in told for word in ("--conf", setting)),
            *("-e", ";".join(statements)),
        ],
        env=environment,
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, [tuple(line.split("\t")) for line in done.stdout.splitlines()], done.stderr


@pytest.mark.deep
@pytest.mark.promise("parquet-version-1")
@pytest.mark.parametrize("version", READERS)
def test_spark_3(version: str, lake: DeltaTables, tmp_path: Path) -> None:
    """Spark 3.2 takes version 2 only with the setting of the page, which also names what it says without."""
    table = f"delta.`{lake.location(WAL_VERDICTS)}`"
    questions = [QUESTION.format(table, of_night(night)) for night in NIGHTS.values()]
    spark = spark_home(version), fetched_jars(DELTA[version], tmp_path / "jars"), tmp_path
    code, answers, log = spark_sql(*spark, questions)
    if version == "3.2":
        page, problem = (DOCS / "catalogs.md").read_text(encoding="utf-8"), "Unsupported encoding: DELTA_BYTE_ARRAY"
        assert NO_VECTORS in page
        assert problem in page
        assert (code, answers, problem in log) == (1, [ANSWER], True), log
        code, answers, log = spark_sql(*spark, questions, NO_VECTORS)
    assert (code, answers) == (0, [ANSWER] * 2), log
