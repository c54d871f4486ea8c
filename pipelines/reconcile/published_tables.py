"""A suite of expectations for the tables that reconcile published: whether those of each night agree with each other.

The engine of the lake sums up each night; Great Expectations validates the sums, one row for each cluster and run.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED, UsageError
from pipelines.common.human import human_count
from pipelines.common.job_result import JobResult
from pipelines.decide.gate.validation import ColumnAtMost, ColumnsEqual, documents_of, validate
from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.lake.lake_records import newest_done
from pipelines.lake.query import Query, rows_of, texts
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import DELETABLE, DONE, HELD, RunKey
from schemas.findings import FINDINGS
from schemas.quality_results import QUALITY_RESULTS
from schemas.runs import RUNS
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS

SUITE = "published_tables"
RULES: tuple[ColumnsEqual | ColumnAtMost, ...] = (
    ColumnsEqual("every_file_has_a_verdict", "wal_verdicts has as many rows as runs has files", "verdicts", "files"),
    ColumnsEqual("verdicts_have_every_byte", "wal_verdicts has as many bytes as runs", "verdict_bytes", "bytes"),
    ColumnsEqual("totals_have_every_file", "verdict_totals has as many files as wal_verdicts", "in_totals", "verdicts"),
    ColumnsEqual("totals_have_every_byte", "verdict_totals has their bytes, too", "bytes_in_totals", "verdict_bytes"),
    ColumnAtMost("paths_are_unique", "no path has two verdicts", "repeated_paths"),
    ColumnAtMost("verdicts_are_known", f"every verdict is {DELETABLE} or {HELD}", "unknown_verdicts"),
    ColumnAtMost("reasons_are_known", "every reason is one of docs/verdicts.md", "unknown_reasons"),
    ColumnAtMost("lengths_are_known", "no length is missing or negative", "bad_lengths"),
    ColumnAtMost("deletable_has_no_holder", "no DELETABLE file has a holder", "deletable_with_holder"),
    ColumnAtMost("pending_has_a_holder", "every PENDING file has a holder", "pending_without_holder"),
    ColumnAtMost("findings_are_unique", "no key of a finding is there twice", "repeated_findings"),
    ColumnsEqual("gate_has_results", "quality_results has results of the gate", "gated", "done"),
    ColumnAtMost("gate_was_passed", "every expectation of the gate was met or accepted", "refusing_results"),
)
_HOLDERS = "coalesce(cardinality(blocking), 0)"


def check_tables(lake: LakeReader, cluster: str | None) -> tuple[JobResult, Mapping[str, Any]]:
    """Validates the tables of the newest DONE run of each cluster.

    Args:
        lake: the tables.
        cluster: None = every cluster of the lake.

    Returns:
        The answer, with exit code 0, or 3 if an expectation failed; and `suite` and `validation` of Great Expectations.

    Raises:
        UsageError: there is no DONE run, or the lake cannot be read.
    """
    newest = [run.key for run in newest_done(lake.newest_runs(cluster)).values()]
    if not newest:
        raise UsageError(f"{cluster or 'the lake'} has no DONE run of reconcile yet: check --lake and --cluster")
    columns = _columns(lake, newest)
    outcome = validate(columns, RULES, SUITE, ("cluster", "run_id"))
    documents = documents_of(outcome, RULES, SUITE)
    failed = {
        result.expectation_config.meta["name"]: [dict(row) for row in result.result["unexpected_index_list"]]
        for result in outcome.results
        if not result.success
    }
    runs = [{"cluster": run.cluster, "run_id": run.run_id} for run in newest]
    answer = {"suite": SUITE, "success": bool(outcome.success), "runs": runs, "failed": failed}
    return JobResult(EXIT_DONE if outcome.success else EXIT_REFUSED, answer, _text(runs, failed)), documents


def _columns(lake: LakeReader, runs: Collection[RunKey]) -> Mapping[str, list[object]]:
    """Returns the frame: a row for each run, 0 where a table has no row of it."""
    known = texts(sorted(REASON_TEXTS))
    selects = (
        (RUNS, f"status = '{DONE}'", {"done": "max(1)", "files": "max(files)", "bytes": "max(bytes)"}),
        (
            WAL_VERDICTS,
            "true",
            {
                "verdicts": "count(*)",
                "verdict_bytes": "sum(length)",
                "repeated_paths": "count(*) - count(DISTINCT path)",
                "unknown_verdicts": _count(f"coalesce(verdict, '') NOT IN ('{DELETABLE}', '{HELD}')"),
                "unknown_reasons": _count(f"coalesce(reason, '') NOT IN ({known})"),
                "bad_lengths": _count("coalesce(length, -1) < 0"),
                "deletable_with_holder": _count(f"verdict = '{DELETABLE}' AND {_HOLDERS} > 0"),
                "pending_without_holder": _count(f"reason = 'PENDING' AND {_HOLDERS} = 0"),
            },
        ),
        (VERDICT_TOTALS, "true", {"in_totals": "sum(files)", "bytes_in_totals": "sum(bytes)"}),
        (FINDINGS, "true", {"repeated_findings": "count(*) - count(DISTINCT t.key)"}),
        (QUALITY_RESULTS, "true", {"gated": "max(1)", "refusing_results": _count("NOT success AND NOT accepted")}),
    )
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for table, condition, wanted in selects:
        select = ", ".join(("cluster", "run_id", *(f"{sql} AS {name}" for name, sql in wanted.items())))
        where = f"{rows_of(runs)} AND {condition}"
        for row in lake.ask(Query(table, select, where, "GROUP BY cluster, run_id")):
            found[row["cluster"], row["run_id"]] |= {name: row[name] for name in wanted}
    names = [name for _, _, wanted in selects for name in wanted]
    frame: dict[str, list[object]] = {"cluster": [], "run_id": [], **{name: [] for name in names}}
    for run in runs:
        numbers = found[run.cluster, run.run_id]
        frame["cluster"].append(run.cluster)
        frame["run_id"].append(run.run_id)
        for name in names:
            frame[name].append(numbers.get(name) or 0)
    return frame


def _count(condition: str) -> str:
    return f"sum(CASE WHEN {condition} THEN 1 ELSE 0 END)"


def _text(runs: Collection[Mapping[str, str]], failed: Mapping[str, list[dict[str, str]]]) -> str:
    checked = f"{human_count(len(RULES), 'expectation')} for {human_count(len(runs), 'run')}"
    if not failed:
        return f"{checked}: all met"
    lines = [f"{checked}: {len(failed)} failed"]
    told = {rule.name: rule.description for rule in RULES}
    for name, rows in failed.items():
        places = ", ".join(f"{row['cluster']} {row['run_id']}" for row in rows)
        lines.append(f"  {name}: expected that {told[name]}; not so in {places}")
    return "\n".join(lines)
