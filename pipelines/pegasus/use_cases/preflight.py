"""split-preflight: checks whether tables can be split now."""

from collections import Counter
from dataclasses import asdict

from pipelines.common.errors import UsageError
from pipelines.common.human import human_instant
from pipelines.common.job_result import JobResult
from pipelines.common.text import text_table
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.pegasus.domain.preflight import BLOCKER, OK, RULES, UNKNOWN, WARNED, preflight, preflight_checks
from pipelines.pegasus.domain.state.model import DROPPED, ClusterState, PegasusTable
from pipelines.pegasus.use_cases.frame import deliver
from schemas.split_preflight import SPLIT_PREFLIGHT

_MARKS = {OK: "ok", UNKNOWN: "unknown", WARNED: "warning", BLOCKER: BLOCKER}
"""The word for each verdict, the worst last."""


def run_preflight(run: JobRun, state: ClusterState, name: str | None, to_count: int | None, lake: JobLake) -> JobResult:
    """Checks every rule of all tables, or of one.

    Raises:
        UsageError: there is no such table.
    """
    tables = tables_named(state, name)
    found = {table.app_id: list(preflight(state, table, to_count)) for table in tables}
    rows = [row for table in tables for row in preflight_checks(table, found[table.app_id])]
    lines = [f"cluster {state.cluster}, {human_instant(state.observed_at)}"]
    named = Counter(table.name for table in tables)
    for table in tables:
        which = f"{table.name}, id {table.app_id}" if named[table.name] > 1 else table.name
        lines.append(f"  table {which}: {table.partition_count} partitions")
        worst: dict[str, str] = {}
        mine = [row for row in rows if row.app_id == table.app_id]
        for row in sorted(mine, key=lambda row: list(_MARKS).index(row.verdict)):
            worst[row.rule] = _MARKS[row.verdict]
        lines += text_table("    {:<4} {:<}", [(rule, worst[rule]) for rule in RULES])
    blocked = sorted({row.table for row in rows if row.verdict == BLOCKER})
    result = {"blocked": blocked, "checks": [asdict(row) for row in rows]}
    findings = [row for judged in found.values() for _, row in judged]
    return deliver(run, lake, [(SPLIT_PREFLIGHT, rows)], findings, result, lines)


def tables_named(state: ClusterState, name: str | None) -> list[PegasusTable]:
    """Returns the tables with this name; None = all tables.

    ZooKeeper keeps dropped tables, also beside a new table of the same name: they are left out, unless nothing else has
    the name.

    Raises:
        UsageError: there is no such table.
    """
    found = [table for table in state.tables if name in {None, table.name}]
    if not found:
        there = ", ".join(sorted(table.name for table in state.tables)) or "none"
        raise UsageError(f"{state.where}: no table {name or ''}; there are: {there}")
    return [table for table in found if table.status != DROPPED] or found
