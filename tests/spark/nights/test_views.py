"""The analysts' views and the twenty questions of docs/queries.md, on DuckDB, Spark and, by translation, as Trino's."""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from pyspark.sql import SparkSession

from pipelines.common.job_result import JobResult
from pipelines.lake.views import views_script
from schemas.verdict_totals import VERDICT_TOTALS
from tests.labs.analyst_lake import NAMES, analyst_lake, duckdb_of, plain, rows_of
from tests.labs.fleet_nights import NIGHTS
from tests.labs.places import DOCS
from tests.labs.small_cluster import Desk

pytestmark = pytest.mark.slow("four nights of a fleet are decided once, and every test reads them")

QUESTIONS = {
    part.partition("\n")[0]: re.findall(r"^```sql\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)[0]
    for part in (DOCS / "queries.md").read_text(encoding="utf-8").split("\n### ")[1:]
}


@pytest.fixture(scope="module")
def lake(nights: list[JobResult], desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert len(nights) == NIGHTS
    return analyst_lake(desk.lake, tmp_path_factory.mktemp("analyst") / "lake", "healthy", "night-3")


@pytest.fixture(scope="module")
def database(lake: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb_of(lake) as opened:
        yield opened


@pytest.fixture(scope="module")
def session(lake: Path, spark: SparkSession) -> SparkSession:
    """A session of its own, which has the views of the whole script."""
    own = spark.newSession()
    script = re.sub(r"^--.*$", "", views_script(f"file:{lake}", "spark"), flags=re.MULTILINE)
    for statement in script.split(";\n"):
        if statement.strip():
            own.sql(statement)
    for table in ("findings", "quality_results", "verdict_changes"):
        own.read.format("delta").load(f"file:{lake / table}").createTempView(table)
    return own


def answer(database: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = database.sql(query).to_arrow_table().to_pylist()
    return rows


@pytest.mark.promise("views-count-a-date-once")
def test_duckdb_sums_up_what_the_table_has_although_a_date_has_two_runs(
    lake: Path, database: duckdb.DuckDBPyConnection
) -> None:
    """The mended query, and for comparison what a plain sum over the table gives."""
    query = "SELECT run_date, CAST(sum(bytes) AS BIGINT) AS bytes FROM {} WHERE cluster = 'healthy' {} GROUP BY ALL"
    last = date(2026, 9, 24)
    runs = {
        run: sum(row["bytes"] for row in rows_of(lake, VERDICT_TOTALS) if (row["cluster"], row["run_id"]) == run)
        for run in (("healthy", "night-3"), ("healthy", "night-3-again"))
    }
    by_date = {row["run_date"]: row["bytes"] for row in answer(database, query.format("night_diff", ""))}
    assert len(by_date) == NIGHTS
    assert by_date[last] == runs["healthy", "night-3-again"] == runs["healthy", "night-3"] + 10, "the later one"
    plainly = {row["run_date"]: row["bytes"] for row in answer(database, query.format("verdict_totals", ""))}
    assert plainly[last] == sum(runs.values()), "the mistake that the views avoid"


def test_the_views_agree_with_verdict_totals_of_every_cluster(lake: Path, database: duckdb.DuckDBPyConnection) -> None:
    last = {("healthy", "night-3-again")} | {
        (row["cluster"], row["run_id"]) for row in rows_of(lake, VERDICT_TOTALS) if row["cluster"] != "healthy"
    }
    done = {(row["cluster"], row["run_id"]) for row in answer(database, "SELECT cluster, run_id FROM latest_runs")}
    totals: dict[tuple[str, ...], tuple[int, int]] = {}
    for row in rows_of(lake, VERDICT_TOTALS):
        if (row["cluster"], row["run_id"]) in done:
            key = (row["cluster"], row["run_id"], row["verdict"], row["reason"])
            files, size = totals.get(key, (0, 0))
            totals[key] = (files + row["files"], size + row["bytes"])
    by_night = answer(database, "SELECT cluster, run_id, verdict, reason, files, bytes FROM night_diff WHERE files > 0")
    assert {tuple(row.values())[:4]: tuple(row.values())[4:] for row in by_night} == totals
    by_file = answer(
        database,
        "SELECT cluster, run_id, verdict, reason, count(*), CAST(sum(length) AS BIGINT) "
        "FROM latest_verdicts GROUP BY ALL",
    )
    newest = {key: one for key, one in totals.items() if key[:2] in last and key[1].startswith("night-3")}
    assert {tuple(row.values())[:4]: tuple(row.values())[4:] for row in by_file} == newest


@pytest.mark.parametrize("view", NAMES)
def test_every_engine_gives_the_same_rows(
    lake: Path, database: duckdb.DuckDBPyConnection, session: SparkSession, view: str
) -> None:
    rows = answer(database, f"SELECT * FROM {view}")  # noqa: S608 - names of ours
    assert rows
    assert plain(session.table(view).toArrow().to_pylist()) == plain(rows)
    translated = ";".join(sqlglot.transpile(views_script(str(lake), "trino"), read="trino", write="duckdb"))
    with duckdb_of(lake, translated) as as_trino:
        assert plain(answer(as_trino, f"SELECT * FROM {view}")) == plain(rows)  # noqa: S608


def test_there_are_twenty_questions() -> None:
    assert len(QUESTIONS) == 20


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_an_answer(database: duckdb.DuckDBPyConnection, session: SparkSession, question: str) -> None:
    rows = answer(database, QUESTIONS[question])
    print(question, len(rows), *rows[:4], sep="\n  ")
    assert plain(session.sql(QUESTIONS[question]).toArrow().to_pylist()) == plain(rows)
