"""The script of the analysts' views: for every engine, with the lake's paths, without a JVM."""

import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlglot

from pipelines.common.spark.local_frames import arrow_schema
from pipelines.lake.views import DIALECTS, NAMED, VIEWS, views_script
from schemas.registry import TABLES
from schemas.runs import RUNS
from schemas.table import Table
from schemas.verdict_totals import VERDICT_TOTALS
from tests.labs.analyst_lake import sql_words, with_tables
from tests.labs.places import DOCS, PROJECT


def empty(table: Table) -> object:
    return arrow_schema(table.schema).empty_table()


def columns(database: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    return {
        view.name: [column[0] for column in database.execute(f"SELECT * FROM {view.name}").description or ()]  # noqa: S608
        for view in VIEWS
    }


def test_the_whole_script_of_duckdb_finds_the_tables_in_their_folders() -> None:
    """The extension `delta` is another program; a macro with the name of its function takes its place."""
    with with_tables(empty) as database:
        database.execute("CREATE SCHEMA disk")
        for table in NAMED:
            database.execute(f"CREATE TABLE disk.{table} AS SELECT * FROM {table}")  # noqa: S608 - names of ours
            database.unregister(table)
        name = "replace(path, '/o''er/', 'disk.')"
        database.execute(f"CREATE MACRO delta_scan(path) AS TABLE SELECT * FROM query_table({name})")  # noqa: S608
        database.execute(views_script("/o'er", "duckdb"))
        assert all(columns(database).values())


def test_no_column_of_a_view_is_a_word_of_sql() -> None:
    with with_tables(empty) as database:
        database.execute(views_script("/lake", "duckdb", only_views=True))
        found = columns(database)
    assert {name for names in found.values() for name in names} & sql_words() == set()


def test_trino_and_duckdb_give_their_views_the_same_columns() -> None:
    translated = sqlglot.transpile(views_script("/lake", "trino"), read="trino", write="duckdb")
    with with_tables(empty) as theirs, with_tables(empty) as ours:
        ours.execute(views_script("/lake", "duckdb", only_views=True))
        for statement in translated:
            theirs.execute(statement)
        assert columns(theirs) == columns(ours)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_script_names_every_table_of_its_views_and_of_the_questions(dialect: str) -> None:
    script = views_script("hdfs://ns1/walsafe/lake/", dialect)
    named = set(re.findall(r"hdfs://ns1/walsafe/lake/(\w+)", script))
    assert named == set(NAMED) >= {table for view in VIEWS for table in view.tables}
    assert named <= {table.name for table in TABLES}
    assert "hdfs:" not in views_script("hdfs://ns1/walsafe/lake/", dialect, only_views=True)
    assert not re.search(r"\b(INSTANT|UTC_DAY|PEER_IDS)\(", script)


def test_a_view_reads_the_tables_that_it_declares() -> None:
    for view in VIEWS:
        own = set(re.findall(r"\bWITH (\w+) AS", view.sql))
        read = set(re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", view.sql)) - own
        assert read - {other.name for other in VIEWS} <= set(view.tables), view.name


def test_a_run_without_a_list_has_listed_nothing_and_hides_no_other_run_of_its_date() -> None:
    runs = [
        {"cluster": "prod-a", "run_id": run_id, "run_date": date(2026, 11, day), "status": "DONE", "seq": 2}
        | {"at": datetime(2026, 12, 1, hour, tzinfo=UTC), "list_uri": uri, "deletable_files": 7, "files": 9}
        for hour, (run_id, day, uri) in enumerate((("r1", 1, "/lists/r1"), ("r1-replayed", 1, None), ("r2", 2, None)))
    ]
    page = (DOCS / "queries.md").read_text(encoding="utf-8")
    query = page.partition("### How much has each night listed?")[2].partition("```sql")[2].partition("```")[0]
    schema = arrow_schema(RUNS.schema)
    with with_tables(lambda table: pa.Table.from_pylist(runs, schema) if table is RUNS else empty(table)) as database:
        database.execute(views_script("/lake", "duckdb", only_views=True))
        assert database.sql(query).fetchall() == [("prod-a", date(2026, 11, 1), "r1", 7, None, 9, None)]


def test_a_night_that_has_lost_its_totals_is_left_out_and_the_next_has_no_difference() -> None:
    """Of an empty night there never were any."""
    days = [date(2026, 11, day) for day in (1, 2, 3, 4, 5)]
    runs = [
        {"cluster": "prod-a", "run_id": f"r{day}", "run_date": day, "status": "DONE", "files": files}
        for day, files in zip(days, (9, 9, 0, 9, 9), strict=True)
    ]
    totals = [
        {"cluster": "prod-a", "run_id": f"r{day}", "run_date": day, "verdict": "HELD", "reason": "PENDING"}
        | {"files": 9, "bytes": 90}
        for day in (days[1], days[3])
    ]
    rows = {RUNS: runs, VERDICT_TOTALS: totals}
    with with_tables(lambda of: pa.Table.from_pylist(rows.get(of, []), arrow_schema(of.schema))) as database:
        database.execute(views_script("/lake", "duckdb", only_views=True))
        found = database.sql("SELECT run_date, files, files_more, bytes_more FROM night_diff ORDER BY ALL").fetchall()
    assert found == [(days[1], 9, None, None), (days[2], 0, -9, -90), (days[3], 9, 9, 90)]


def test_the_page_tells_of_every_view() -> None:
    page = (DOCS / "queries.md").read_text(encoding="utf-8")
    for view in VIEWS:
        assert f"| `{view.name}` |" in page


def test_the_job_starts_no_jvm_and_loads_no_spark() -> None:
    code = (
        "import sys; from jobs.cli.launch.launcher import main\n"
        "code = main(sys.argv[1:]); assert 'pyspark' not in sys.modules; sys.exit(code)"
    )
    command = [sys.executable, "-c", code, "views", "--lake", "file:/walsafe/lake", "--dialect", "duckdb"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, env={"PATH": "/nowhere"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "delta_scan('/walsafe/lake/runs')" in done.stdout
    assert done.stdout.strip() == views_script("/walsafe/lake", "duckdb").strip()


def test_the_lake_of_the_configuration_is_taken(tmp_path: Path) -> None:
    config = tmp_path / "prod-a.yaml"
    config.write_text("cluster: prod-a\nlake: s3://bucket/lake\n", encoding="utf-8")
    command = [sys.executable, "-m", "jobs.main", "views", "--config", str(config), "--dialect", "trino"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert "-- runs: s3://bucket/lake/runs" in done.stdout, done.stderr
