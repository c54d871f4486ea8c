"""The views for analysts, in the SQL of DuckDB, Spark and Trino, from one source.

The source is SQL that all three read, with a table's alias before each column, so that no column is a word of SQL. Only
the functions in `_FUNCTION` differ; each dialect says what it calls them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.lake.view_texts import VIEWS, View

_FUNCTION = re.compile(r"\b(INSTANT|UTC_DAY|PEER_IDS)\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """What differs from one engine to the next.

    Attributes:
        functions: the engine's SQL for the functions of the source, with `{0}` for the argument.
        table: the statement that gives a table's folder (`{path}`) its name (`{name}`).
        create: how the statement of a view begins.
        hint: how to use the script.
    """

    functions: Mapping[str, str]
    table: str
    create: str
    hint: str

    def translated(self, view: View) -> str:
        """Returns the SELECT of a view."""
        return _FUNCTION.sub(lambda found: self.functions[found[1]].format(found[2]), view.sql.strip())


# a timestamp of a WAL's name may be any number of 64 bits, and no engine has dates for all of them
_YEARS = "CASE WHEN {{0}} BETWEEN 0 AND 253402300799999 THEN {} END"

DIALECTS: Mapping[str, SqlDialect] = {
    "duckdb": SqlDialect(
        functions={
            "INSTANT": _YEARS.format("to_timestamp({0} / 1000.0)"),
            "UTC_DAY": "CAST(make_timestamp_ms(epoch_ms({0})) AS DATE)",
            "PEER_IDS": "list_distinct(list_transform({0}, lambda b: b.peer_id))",
        },
        table="CREATE OR REPLACE VIEW {name} AS SELECT * FROM delta_scan('{path}')",
        create="CREATE OR REPLACE VIEW",
        hint="The first statements need DuckDB's extension delta (--only-views leaves them out).",
    ),
    "spark": SqlDialect(
        functions={
            "INSTANT": _YEARS.format("timestamp_millis({0})"),
            "UTC_DAY": "date_from_unix_date(CAST(unix_millis({0}) DIV 86400000 AS INT))",
            "PEER_IDS": "array_distinct(transform({0}, b -> b.peer_id))",
        },
        table="CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM delta.`{path}`",
        create="CREATE OR REPLACE TEMPORARY VIEW",
        hint="For spark-sql -i, in a session that has Delta's jars and settings.",
    ),
    "trino": SqlDialect(
        functions={
            "INSTANT": _YEARS.format("from_unixtime({0} / 1000e0)"),
            "UTC_DAY": "CAST({0} AT TIME ZONE 'UTC' AS DATE)",
            "PEER_IDS": "array_distinct(transform({0}, b -> b.peer_id))",
        },
        table="-- {name}: {path}",
        create="CREATE OR REPLACE VIEW",
        hint="Run it in the catalog and schema of Trino's Delta Lake connector in which these folders are registered:",
    ),
}
"""The dialects by name."""
NAMED = tuple(
    sorted({table for view in VIEWS for table in view.tables} | {"findings", "quality_results", "verdict_changes"})
)
"""The tables that a script names: those of the views, and those that questions of docs/queries.md read themselves."""


def views_script(lake: str, dialect: str, *, only_views: bool = False) -> str:
    """Returns the SQL that creates all views, one statement a view, each of which uses only views before it.

    Args:
        lake: the folder of the tables.
        dialect: a name of `DIALECTS`.
        only_views: leave out the statements that name the tables, because the session knows them already.
    """
    engine = DIALECTS[dialect]
    tables = [] if only_views else [_table(engine, lake, name) for name in NAMED]
    views = [f"-- {view.comment}\n{engine.create} {view.name} AS\n{engine.translated(view)};\n" for view in VIEWS]
    return "\n".join([f"-- walsafe's views for {dialect}. {engine.hint}", *tables, "", *views])


def _table(engine: SqlDialect, lake: str, name: str) -> str:
    path = f"{lake.rstrip('/')}/{name}"
    statement = engine.table.format(name=name, path=path.replace("'", "''").replace("`", "``"))
    return statement if statement.startswith("--") else f"{statement};"
