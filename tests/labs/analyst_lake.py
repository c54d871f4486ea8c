"""Makes a lake for analysts of a lake of nights: a date with two runs, and a clean-up, without another night."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from sqlglot.dialects.trino import Trino

from pipelines.common.spark.local_frames import arrow_schema
from pipelines.lake.views import VIEWS, views_script
from schemas.deletions import DELETIONS
from schemas.findings import FINDINGS
from schemas.registry import DECISION_TABLES, TABLES
from schemas.runs import RUNS
from schemas.table import Table
from schemas.wal_verdicts import WAL_VERDICTS

Rows = Sequence[Mapping[str, Any]]


def analyst_lake(lake: Path, out: Path, cluster: str, run_id: str) -> Path:
    """Returns a copy of a lake in which the run of one cluster was repeated an hour later under another run id.

    The repetition found the same files, each a byte longer, so that the two runs can be told apart by their sums. The
    day after, a clean-up moved one file and left one, and a run died. On the night before, a file of cluster `orphan`
    had another reason, and the cluster had one more finding.
    """
    shutil.copytree(lake, out)
    for table in DECISION_TABLES:
        rows = [row for row in rows_of(out, table) if (row["cluster"], row["run_id"]) == (cluster, run_id)]
        append(out, table, [again(row) for row in rows])
    at = datetime(2026, 9, 24, 22, 30, tzinfo=timezone(timedelta(hours=-3)))  # the next day in UTC
    common = {"cluster": cluster, "run_id": run_id, "run_date": at.date(), "action": "CLEAN", "attempt": "a", "at": at}
    files = [{"path": "oldWALs/x", "length": 5}, {"path": "oldWALs/y", "length": 7}]
    intents = [{**common, **file, "phase": "INTENT"} for file in files]
    outcomes = [
        {**row, "phase": "OUTCOME", "outcome": told} for row, told in zip(intents, ("MOVED", "CHANGED"), strict=True)
    ]
    append(out, DELETIONS, [*intents, *outcomes])
    started = {name: common[name] for name in ("cluster", "run_date", "attempt", "at")}
    append(out, RUNS, [{**started, "run_id": "died", "status": "STARTED", "seq": 1}])
    before = {"cluster": "orphan", "run_id": "night-2", "run_date": date(2026, 9, 23)}
    append(out, FINDINGS, [{**before, "key": "GROWTH:2", "code": "GROWTH", "subject": "2", "nights": 3}])
    DeltaTable(str(out / WAL_VERDICTS.name)).update(
        predicate="cluster = 'orphan' AND run_id = 'night-2' AND length = 2", updates={"reason": "'QUEUE_MISSING'"}
    )
    return out


def again(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a row as the repetition wrote it."""
    changed = {**row, "run_id": f"{row['run_id']}-again"}
    if "at" in row:
        changed["at"] = row["at"] + timedelta(hours=1)
    if row.get("files") and row.get("bytes"):
        changed["bytes"] = row["bytes"] + row["files"]
    if row.get("length") is not None:
        changed["length"] = row["length"] + 1
    return changed


def rows_of(lake: Path, table: Table) -> list[dict[str, Any]]:
    """Returns the rows of a table."""
    rows: list[dict[str, Any]] = DeltaTable(str(lake / table.name)).to_pyarrow_table().to_pylist()
    return rows


def append(lake: Path, table: Table, rows: Rows) -> None:
    """Appends rows to a table."""
    schema = arrow_schema(table.schema)
    if rows:
        write_deltalake(str(lake / table.name), pa.Table.from_pylist(list(rows), schema=schema), mode="append")


def with_tables(tables: Callable[[Table], object]) -> duckdb.DuckDBPyConnection:
    """Returns a database that knows all tables of a lake under their names.

    Args:
        tables: gives a table as DuckDB takes it.
    """
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        given = tables(table)
        if given is not None:
            database.register(table.name, given)
    return database


def sql_words() -> set[str]:
    """Returns the words that an engine may refuse as the name of a column without quotes, in lower case."""
    reserved = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    words = {word for (word,) in duckdb.connect().execute(reserved).fetchall()} | {"at", "offset", "table"}
    return words | {word.lower() for word in Trino.Generator.RESERVED_KEYWORDS}


def duckdb_of(lake: Path, script: str | None = None) -> duckdb.DuckDBPyConnection:
    """Returns a database with the tables of a lake, and with the views, by default those of DuckDB's own dialect."""

    def given(table: Table) -> object:
        folder = lake / table.name
        return DeltaTable(str(folder)).to_pyarrow_table() if folder.is_dir() else None

    database = with_tables(given)
    database.execute(script or views_script(str(lake), "duckdb", only_views=True))
    return database


def plain(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns rows as texts that compare alike whichever engine has read them, sorted."""
    return sorted(repr({name: _plain(value) for name, value in row.items()}) for row in rows)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, Decimal):  # DuckDB's sum of integers has 128 bits
        return int(value)
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return sorted(map(_plain, value), key=repr) if isinstance(value, list) else value


NAMES = [view.name for view in VIEWS]
