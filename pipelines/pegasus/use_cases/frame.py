"""What the split jobs add to the frame of all jobs: their run ids, and exit code 3 for an error."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED
from pipelines.common.job_result import JobResult
from pipelines.common.logged_run import log_of_run
from pipelines.lake.findings import Acknowledgement, dated, finding_lines
from pipelines.lake.job_run import JobLake, JobRun, Rows, default_run_id
from pipelines.lake.run_summary import FindingRow, RunKey
from pipelines.pegasus.domain.rule_violations import most_severe, proven
from schemas.table import Table


def split_run(
    job: str,
    cluster: str,
    at_ms: int,
    inputs: object = None,
    run_id: str | None = None,
    acknowledged: tuple[Acknowledgement, ...] = (),
) -> JobRun:
    """Returns the run of a split job.

    Args:
        job: name of the job; run ids end with it.
        cluster: its name.
        at_ms: the time of the examined data, ms since the epoch.
        inputs: everything that distinguishes this run from another of the same time.
        run_id: the run id that the caller gave; None = it is made from the other attributes.
        acknowledged: acknowledged findings in the configuration.

    Raises:
        UsageError: the name of the cluster or the run id is not valid.
    """
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True, default=str).encode()).hexdigest()
    key = RunKey.of(cluster, run_id or f"{default_run_id(at_ms, digest)}-{job}", at_ms)
    log_of_run(key.run_id)
    return JobRun(key, at_ms, acknowledged)


def refusals(run: JobRun, found: Iterable[FindingRow]) -> list[FindingRow]:
    """Returns the errors among the findings that the run's configuration does not acknowledge."""
    return proven(dated(found, run.at_ms, {}, run.acknowledged))


def deliver(
    run: JobRun,
    lake: JobLake,
    writes: Sequence[tuple[Table, Rows]],
    found: Iterable[FindingRow],
    result: Mapping[str, object],
    lines: Iterable[str],
) -> JobResult:
    """Writes the tables and returns the result of the job.

    Args:
        run: identity.
        lake: where to write.
        writes: tables and their rows.
        found: findings.
        result: the job's own part of the result object.
        lines: the job's own part of the text.

    Returns:
        Exit code 3 if there is an error finding that is not acknowledged (a blocker or a proven difference), else 0.
    """
    findings = run.record(lake, writes, most_severe(found))
    own = {
        "run_date": run.key.run_date.isoformat(),
        **result,
        "findings": [{**asdict(row), "evidence": json.loads(row.evidence)} for row in findings],
    }
    said = finding_lines(findings) if findings else ("", "  no finding")
    code = EXIT_REFUSED if proven(findings) else EXIT_DONE
    return run.answer(own, [*lines, *said], exit_code=code)
