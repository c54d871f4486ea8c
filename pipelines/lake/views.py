"""The views for analysts, in the SQL of DuckDB, Spark and Trino, from one source.

The source is SQL that all three read, with a table's alias before each column, so that no column is a word of SQL. Only
the functions in `_FUNCTION` differ; each dialect says what it calls them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.common.instants import LAST_MS

_FUNCTION = re.compile(r"\b(INSTANT|UTC_DAY|PEER_IDS)\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class View:
    """A view over the tables of the lake.

    Attributes:
        name: its name.
        comment: one sentence for docs/queries.md and the script.
        tables: the tables that it reads.
        sql: its SELECT, in the SQL that all engines share and the functions INSTANT (ms since the epoch to a
            timestamp), UTC_DAY (timestamp to a date) and PEER_IDS (of `blocking`).
    """

    name: str
    comment: str
    tables: tuple[str, ...]
    sql: str


LATEST_RUNS = View(
    "latest_runs",
    "One row for each cluster and date: its last run that is DONE, with nights_ago = 0 for the newest date.",
    ("runs",),
    """
SELECT n.cluster, n.run_id, n.run_date, n.started_at, n.written_at, n.mode, n.exit_code, n.files, n.bytes,
    n.deletable_files, n.deletable_bytes, n.list_uri, n.walsafe_version,
    ROW_NUMBER() OVER (PARTITION BY n.cluster ORDER BY n.run_date DESC) - 1 AS nights_ago,
    LAG(n.run_id) OVER (PARTITION BY n.cluster ORDER BY n.run_date) AS previous_run_id,
    LAG(n.run_date) OVER (PARTITION BY n.cluster ORDER BY n.run_date) AS previous_run_date
FROM (
    SELECT d.*, ROW_NUMBER() OVER (
        PARTITION BY d.cluster, d.run_date ORDER BY d.started_at DESC, d.written_at DESC, d.run_id DESC
    ) AS run_of_date
    FROM (
        SELECT r.cluster, r.run_id, r.run_date, r.status, r.files_started_at AS started_at, r.at AS written_at, r.mode,
            r.exit_code, r.files, r.bytes, r.deletable_files, r.deletable_bytes, r.list_uri, r.walsafe_version,
            ROW_NUMBER() OVER (PARTITION BY r.cluster, r.run_id ORDER BY r.at DESC, r.seq DESC, r.attempt) AS row_of_run
        FROM runs r WHERE r.status <> 'STARTED'
    ) d
    WHERE d.row_of_run = 1 AND d.status = 'DONE'
) n
WHERE n.run_of_date = 1
""",
)

LATEST_VERDICTS = View(
    "latest_verdicts",
    "Every file under oldWALs on the newest night of each cluster: verdict, reason, and the peers that need it.",
    ("runs", "wal_verdicts"),
    """
SELECT v.cluster, v.run_id, v.run_date, v.path, v.server, v.host, v.wal_group, v.wal_timestamp,
    INSTANT(v.wal_timestamp) AS wal_at, v.length, v.modification_time AS archived_at, v.verdict, v.reason,
    v.hbase_verdict, v.eligible_at, v.blocking, PEER_IDS(v.blocking) AS peer_ids
FROM wal_verdicts v
JOIN latest_runs r ON r.cluster = v.cluster AND r.run_id = v.run_id AND r.run_date = v.run_date
WHERE r.nights_ago = 0
""",
)

NIGHT_DIFF = View(
    "night_diff",
    "Files and bytes of each cluster, date, verdict and reason, and how many more or fewer than the night before; "
    "NULL if the tables no longer have its totals. A night whose totals are gone is left out.",
    ("runs", "verdict_totals"),
    """
WITH known AS (
    SELECT t.cluster, t.run_id, t.run_date FROM verdict_totals t
    UNION
    SELECT r.cluster, r.run_id, r.run_date FROM latest_runs r WHERE r.files = 0
)
SELECT d.cluster, d.run_date, d.run_id, d.nights_ago, d.previous_run_id, d.verdict, d.reason,
    CAST(SUM(d.files) AS BIGINT) AS files, CAST(SUM(d.bytes) AS BIGINT) AS bytes,
    CASE WHEN k.run_id IS NOT NULL THEN CAST(SUM(d.files - d.files_before) AS BIGINT) END AS files_more,
    CASE WHEN k.run_id IS NOT NULL THEN CAST(SUM(d.bytes - d.bytes_before) AS BIGINT) END AS bytes_more
FROM (
    SELECT r.cluster, r.run_date, r.run_id, r.nights_ago, r.previous_run_id, r.previous_run_date, t.verdict, t.reason,
        t.files, t.bytes, 0 AS files_before, 0 AS bytes_before
    FROM latest_runs r
    JOIN verdict_totals t ON t.cluster = r.cluster AND t.run_id = r.run_id AND t.run_date = r.run_date
    UNION ALL
    SELECT r.cluster, r.run_date, r.run_id, r.nights_ago, r.previous_run_id, r.previous_run_date, t.verdict, t.reason,
        0 AS files, 0 AS bytes, t.files AS files_before, t.bytes AS bytes_before
    FROM latest_runs r
    JOIN verdict_totals t
        ON t.cluster = r.cluster AND t.run_id = r.previous_run_id AND t.run_date = r.previous_run_date
) d
JOIN known o ON o.cluster = d.cluster AND o.run_id = d.run_id AND o.run_date = d.run_date
LEFT JOIN known k ON k.cluster = d.cluster AND k.run_id = d.previous_run_id AND k.run_date = d.previous_run_date
GROUP BY d.cluster, d.run_date, d.run_id, d.nights_ago, d.previous_run_id, d.verdict, d.reason, k.run_id
""",
)

PEER_HISTORY = View(
    "peer_history",
    "Each peer on each date: its state, since which night it has been in it, and what it held.",
    ("peers", "pinned_bytes", "runs"),
    """
SELECT r.cluster, r.run_date, r.run_id, r.nights_ago, i.peer_id, COALESCE(p.state, b.peer_state) AS state,
    p.state_since, p.nights AS nights_in_state, p.previous_state, p.cluster_key, p.serial,
    COALESCE(b.exclusive_files + b.joint_files, 0) AS held_files,
    COALESCE(b.exclusive_bytes + b.joint_bytes, 0) AS held_bytes,
    COALESCE(b.freed_bytes, 0) AS freed_bytes, INSTANT(b.oldest_timestamp) AS oldest_wal_at
FROM latest_runs r
JOIN (
    SELECT q.cluster, q.run_id, q.run_date, q.peer_id FROM peers q
    UNION
    SELECT q.cluster, q.run_id, q.run_date, q.peer_id FROM pinned_bytes q WHERE q.level = 'peer'
) i ON i.cluster = r.cluster AND i.run_id = r.run_id AND i.run_date = r.run_date
LEFT JOIN peers p
    ON p.cluster = i.cluster AND p.run_id = i.run_id AND p.run_date = i.run_date AND p.peer_id = i.peer_id
LEFT JOIN pinned_bytes b
    ON b.cluster = i.cluster AND b.run_id = i.run_id AND b.run_date = i.run_date AND b.peer_id = i.peer_id
    AND b.level = 'peer'
""",
)

HOLDERS = View(
    "holders",
    "What each peer, queue and WAL group holds on the newest night of each cluster, and where a group's offset is.",
    ("peers", "pinned_bytes", "queue_offsets", "runs"),
    """
SELECT r.cluster, r.run_id, r.run_date, b.level, b.peer_id, b.peer_state, p.state_since AS peer_state_since, b.owner,
    b.source, b.wal_group, b.exclusive_files + b.joint_files AS held_files,
    b.exclusive_bytes + b.joint_bytes AS held_bytes, b.freed_files, b.freed_bytes,
    CASE WHEN r.bytes > 0
        THEN 100 * CAST(b.exclusive_bytes + b.joint_bytes AS DOUBLE) / r.bytes END AS held_percent,
    INSTANT(b.oldest_timestamp) AS oldest_wal_at, q.wal AS offset_wal, q.offset AS offset_bytes, b.remedy
FROM latest_runs r
JOIN pinned_bytes b ON b.cluster = r.cluster AND b.run_id = r.run_id AND b.run_date = r.run_date
LEFT JOIN peers p
    ON p.cluster = r.cluster AND p.run_id = r.run_id AND p.run_date = r.run_date AND p.peer_id = b.peer_id
LEFT JOIN queue_offsets q
    ON q.cluster = r.cluster AND q.run_id = r.run_id AND q.run_date = r.run_date AND q.peer_id = b.peer_id
    AND q.owner = b.owner AND q.source = b.source AND q.wal_group = b.wal_group AND b.level = 'group'
WHERE r.nights_ago = 0
""",
)

DELETIONS_BY_DAY = View(
    "deletions_by_day",
    "Files and bytes that clean, restore and purge moved, put back, deleted or left, by UTC day.",
    ("deletions",),
    """
SELECT d.cluster, UTC_DAY(d.at) AS day, d.action, d.outcome, COUNT(*) AS files,
    CAST(SUM(d.length) AS BIGINT) AS bytes
FROM deletions d
WHERE d.phase = 'OUTCOME'
GROUP BY d.cluster, UTC_DAY(d.at), d.action, d.outcome
""",
)

VIEWS = (LATEST_RUNS, LATEST_VERDICTS, NIGHT_DIFF, PEER_HISTORY, HOLDERS, DELETIONS_BY_DAY)
"""All views, each after those that it uses."""


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
_YEARS = "CASE WHEN {{0}} BETWEEN 0 AND " + str(LAST_MS) + " THEN {} END"

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
