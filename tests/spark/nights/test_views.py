"""The analysts' views and the twenty questions of docs/queries.md, on DuckDB, Spark and, by translation, as Trino's."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from pyspark.sql import SparkSession

from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from pipelines.lake.views import views_script
from schemas.verdict_totals import VERDICT_TOTALS
from tests.labs.analyst_lake import NAMES, analyst_lake, duckdb_of, plain, rows_of
from tests.labs.fleet_nights import NIGHTS
from tests.labs.places import DOCS
from tests.labs.small_cluster import D1, GIB, H1, NOW, Desk, timestamp, wal

pytestmark = pytest.mark.slow("four nights of a fleet are decided once, and every test reads them")

QUESTIONS = {
    part.partition("\n")[0]: re.findall(r"^```sql\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)[0]
    for part in (DOCS / "queries.md").read_text(encoding="utf-8").split("\n### ")[1:]
}


LAST = date(2026, 9, 24)
HEALTHY = {"cluster": "healthy"}
ANSWERS: dict[str, dict[str, Any]] = {
    "Who holds the most?": {"cluster": "growth", "peer_id": "2", "peer_state": "DISABLED", "held_bytes": 3 * GIB + 46},
    "Since when is a peer disabled?": {
        **HEALTHY, "peer_id": "2", "state_since": datetime.fromtimestamp(NOW / 1000, UTC),
        "nights_in_state": NIGHTS, "held_bytes": 46,
    },
    "How have the held bytes developed?": {
        **HEALTHY, "run_date": LAST, "reason": "PENDING", "files": 6, "bytes": 430 + 6,
    },
    "What did last night change?": {
        **HEALTHY, "from_verdict": None, "to_verdict": "DELETABLE", "to_reason": "META_WAL", "files": 1, "bytes": 513,
    },
    "Which reason has grown most since the night before?": {
        "cluster": "growth", "reason": "PENDING", "files_more": 0, "bytes_more": GIB,
    },
    "Which files does a peer still need?": {
        **HEALTHY, "path": f"oldWALs/{wal(H1, 2)}", "length": 3,
        "wal_at": datetime.fromtimestamp(timestamp(2) / 1000, UTC),
    },
    "Whose WALs take the most space?": {"cluster": "growth", "host": "h1.example.org", "files": 5},
    "What becomes deletable, and when?": {
        "cluster": "nothing", "files": 4, "bytes": 1 + 16 + 64 + 512,
        "first_at": datetime.fromtimestamp((timestamp(2) + 365 * DAY_MS + 1) / 1000, UTC),
    },
    "How old is the oldest WAL that a peer waits for?": {
        **HEALTHY, "peer_id": "1", "run_date": LAST,
        "oldest_wal_at": datetime.fromtimestamp(timestamp(2) / 1000, UTC),
    },
    "Where is each queue that holds files?": {
        **HEALTHY, "peer_id": "1", "source": str(D1), "offset_wal": wal(D1, 2), "offset_bytes": 10, "held_bytes": 384,
    },
    "Which queue has not moved since the night before?": {
        "cluster": "stalled", "peer_id": "1", "wal": wal(H1, 4), "offset_bytes": 3, "pending_files": 1,
    },
    "Which findings are open, and for how long?": {
        "cluster": "poison", "code": "POISON_FILE", "nights": NIGHTS, "acknowledged": False,
    },
    "Which findings are gone since the night before?": {"cluster": "orphan", "code": "GROWTH", "nights": 3},
    "Which nights were refused or failed?": {
        "cluster": "mutant-rule", "run_date": LAST, "status": "REFUSED", "exit_code": 3,
    },
    "Which runs died on the way?": {**HEALTHY, "run_id": "died"},
    "How much has each night listed?": {**HEALTHY, "run_date": LAST, "deletable_files": 4, "files": 10},
    "What does walsafe hold that HBase's own cleaner would delete?": {
        "cluster": "moved", "reason": "CLUSTER_MOVED", "files": 1, "bytes": 64,
    },
    "Which files have another verdict than the night before?": {
        "cluster": "orphan", "path": f"oldWALs/{wal(H1, 2)}", "old_reason": "QUEUE_MISSING", "reason": "PENDING",
    },
    "What has the clean-up done on each day?": {
        **HEALTHY, "day": date(2026, 9, 25), "action": "CLEAN", "outcome": "MOVED", "files": 1, "bytes": 5,
    },
    "Which expectation of the gate failed?": {
        "cluster": "mutant-cleaner", "run_date": LAST, "expectation": "deletable_within_hbase_delete",
    },
}  # fmt: skip
"""A row of each answer, computed by hand from tests/labs/small_cluster.py, fleet_nights.py and analyst_lake.py."""
FIRST = (
    "Who holds the most?",
    "Which reason has grown most since the night before?",
    "Whose WALs take the most space?",
)


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
    own.conf.set("spark.sql.adaptive.enabled", "false")  # it would make a job of every exchange
    script = re.sub(r"^--.*$", "", views_script(f"file:{lake}", "spark"), flags=re.MULTILINE)
    for statement in script.split(";\n"):
        if statement.strip():
            own.sql(statement)
    return own


@pytest.fixture(scope="module")
def computed(session: SparkSession) -> Iterator[SparkSession]:
    """The session, whose views are computed once for all questions; the test of each view computes it for itself."""
    for view in NAMES:
        session.catalog.cacheTable(view)
    yield session
    for view in NAMES:
        session.catalog.uncacheTable(view)


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


@pytest.mark.long
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


def test_there_are_twenty_questions_each_with_an_answer() -> None:
    assert len(QUESTIONS) == 20
    assert list(QUESTIONS) == list(ANSWERS)
    assert set(FIRST) <= set(ANSWERS)


@pytest.mark.long
@pytest.mark.promise("twenty-questions-have-answers")
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_its_answer(database: duckdb.DuckDBPyConnection, computed: SparkSession, question: str) -> None:
    rows = answer(database, QUESTIONS[question])
    expected = ANSWERS[question]
    assert [row for row in rows if expected.items() <= utc(row).items()], rows[:3]
    if question in FIRST:
        assert expected.items() <= utc(rows[0]).items()
    assert plain(computed.sql(QUESTIONS[question]).toArrow().to_pylist()) == plain(rows)
    in_trino = sqlglot.parse_one(QUESTIONS[question].replace("array_contains(", "contains("), read="trino")
    assert not list(in_trino.find_all(sqlglot.exp.Anonymous)), "a function that no engine has"
    assert plain(answer(database, in_trino.sql("duckdb"))) == plain(rows)


def utc(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value.astimezone(UTC) if isinstance(value, datetime) else value for name, value in row.items()}
