"""Tests the five audits on simulated splits: each must report the faults that it can see, and no others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.cli.context import JobContext
from jobs.split.wiring import log_inputs, log_reader, read_states, run_split_stale, run_split_verify, split_lake
from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED, UsageError
from pipelines.common.job_result import JobResult
from pipelines.lake.job_run import JobRun
from pipelines.pegasus.domain.audit_config import TimeLimits
from pipelines.pegasus.domain.rows import Placement
from pipelines.pegasus.domain.stale import FilterSettings
from pipelines.pegasus.simulate.emission.files import Emitted, write_table
from pipelines.pegasus.use_cases.audit_config import run_audit_config
from pipelines.pegasus.use_cases.audit_log import run_audit_log
from pipelines.pegasus.use_cases.frame import split_run
from pipelines.pegasus.use_cases.route import run_route
from pipelines.pegasus.use_cases.split_stale import StaleRequest
from pipelines.pegasus.use_cases.split_verify import ComparedSide, VerifyRequest
from tests.models.split.audit_matrix import Seen, matrix_lines, seen
from tests.models.split.cases import CONFIG, LOG, ROUTE, STALE, VERIFY, tables

_AT_MS = 1_790_100_000_000
"""An instant after all simulated splits, ms since the epoch."""


def audit_cases(context: JobContext, directory: str) -> JobResult:
    """Writes tables of good and broken splits, and runs the five audits on them.

    Returns:
        Exit code 3 when an audit misses a fault that it must see, or reports a fault of a good split.

    Raises:
        UsageError: the directory is not empty.
    """
    root = Path(directory)
    if root.exists() and any(root.iterdir()):
        raise UsageError(f"{directory}: not empty; give a new directory")
    found: dict[str, list[Seen]] = {}
    for name, cases in tables().items():
        emitted = write_table(str(root / name), [case.history for case in cases])
        found[name] = seen(cases, audited(context, root / name, emitted))
    wrong = [row for rows in found.values() for row in rows if not row.is_right]
    result = {
        "directory": directory,
        "wrong": [f"{row.case.design} {row.case.name}" for row in wrong],
        "tables": {name: [_told(row) for row in rows] for name, rows in found.items()},
    }
    lines = [line for name, rows in found.items() for line in (*matrix_lines(name, rows), "")]
    lines.append(
        "Every broken split is seen, and nothing is raised of a good one."
        if not wrong
        else f"Not as it should be: {len(wrong)}."
    )
    return JobResult(EXIT_REFUSED if wrong else EXIT_DONE, result, "\n".join(lines) + "\n")


def audited(context: JobContext, root: Path, emitted: Emitted) -> Mapping[str, Mapping[str, Any]]:
    """Returns the result objects of the five audits of a table, by audit name."""

    def run(job: str) -> JobRun:
        return split_run(job, "simulated", _AT_MS, str(root))

    uri = f"file:{root.resolve()}"
    old, new = emitted.counts
    after = Placement(new, old)
    settings = FilterSettings(after, emitted.validates, 0, emitted.versions)
    request = VerifyRequest(
        "temp", ComparedSide(f"{uri}/before", Placement(old, old)), ComparedSide(f"{uri}/after", after), _AT_MS
    )
    inputs = log_inputs(context, f"{uri}/logs", f"{uri}/facts.json", f"{uri}/requests.jsonl")
    journal = log_reader(context, uri).journal(f"{uri}/requests.jsonl")
    nothing = split_lake(context, None)
    stale = StaleRequest("temp", f"{uri}/after", settings, _AT_MS)
    return {
        VERIFY: run_split_verify(context, request, run(VERIFY), None).result,
        STALE: run_split_stale(context, stale, run(STALE), None).result,
        LOG: run_audit_log(run(LOG), inputs, nothing).result,
        CONFIG: run_audit_config(run(CONFIG), read_states(context, f"{uri}/states"), TimeLimits(), nothing).result,
        ROUTE: run_route(run(ROUTE), journal, nothing, old_count=old).result,
    }


def _told(row: Seen) -> dict[str, object]:
    return {
        "split": row.case.name,
        "design": row.case.design,
        "what": row.case.what,
        "must_be_seen_by": sorted(row.case.seen_by),
        "seen": {audit: sorted(rules) for audit, rules in row.rules.items() if rules},
        "is_right": row.is_right,
    }
