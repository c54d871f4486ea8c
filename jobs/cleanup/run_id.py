"""What `--run-id` of a job means: a run that the lake knows, or `latest`.

Purge does not take `latest`, because what it deletes cannot come back.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.job_result import JobResult
from pipelines.common.logged_run import log_of_run
from pipelines.common.names import LATEST
from pipelines.common.text import did_you_mean
from pipelines.lake.cleanup_history import cleaned_last, until
from pipelines.lake.query import Query, literal
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import DONE
from pipelines.reconcile.pause import FindingReader
from schemas.runs import RUNS

logger = logging.getLogger(__name__)


def refuse_latest(run_id: str | None, option: str, remedy: str) -> None:
    """Refuses `--run-id latest` where it could mean another run than the person has in mind.

    Raises:
        UsageError: `run_id` is `latest`.
    """
    if run_id == LATEST:
        raise UsageError(f"--run-id latest does not go with {option}: {remedy}")


def on_run(given: str, latest: Callable[[], str], job: Callable[[str], JobResult]) -> JobResult:
    """Runs a job on the given run, or on the latest one; the answer then begins with its id.

    Args:
        given: `--run-id`.
        latest: returns the id that `latest` stands for.
        job: takes the id of the run.
    """
    if given != LATEST:
        return job(given)
    run_id = latest()
    log_of_run(run_id)
    logger.info("--run-id latest is run %s", run_id)
    outcome = job(run_id)
    return replace(outcome, text=f"--run-id latest is run {run_id}.\n{outcome.text}")


def check_run(run_id: str, cluster: str, lake: LakeReader) -> None:
    """Refuses a run that the lake does not know: for a mistyped id no JVM needs to start.

    Raises:
        RefusedError: no run of the cluster has this id.
        UsageError, UnavailableError, SparkNeededError: the lake cannot be read.
    """
    known = f"cluster = {literal(cluster)} AND run_id = {literal(run_id)}"
    if run_id != LATEST and not lake.ask(Query(RUNS, "t.run_id", known, "LIMIT 1")):
        hint = did_you_mean(run_id, {run.run_id for run in lake.newest_runs(cluster)})
        raise RefusedError(
            Condition.RUN_UNKNOWN,
            f"this lake knows no run {run_id} of cluster {cluster}{hint or '.'} Check --run-id, --cluster and --lake",
        )


def latest_list(cluster: str, lake: FindingReader) -> str:
    """Returns the id of the newest run of reconcile of a cluster, if it wrote a list; never that of an older run.

    Raises:
        UsageError: there is no run, or the newest one wrote no list; the message says what to do.
        UnavailableError: the lake did not answer.
    """
    runs = lake.newest_runs(cluster)
    if not runs:
        raise UsageError(f"--run-id latest: cluster {cluster} has no finished run in this lake")
    newest = runs[0]
    if newest.status == DONE and newest.list_uri is not None:
        return newest.run_id
    listed = next((run.run_id for run in runs if run.status == DONE and run.list_uri is not None), None)
    why = f"was {newest.status} ({newest.reason})" if newest.status != DONE else "was a replay and wrote no list"
    older = f"; the newest run with a list is {listed}: if you mean this one, give --run-id {listed}" if listed else ""
    raise UsageError(
        f"--run-id latest: {newest.run_id}, the newest run of cluster {cluster}, {why}. Capture and reconcile again"
        f"{older}"
    )


def latest_cleaned(cluster: str, lake: LakeReader) -> str:
    """Returns the id of the run whose files clean moved last, or began to move last.

    Raises:
        UsageError: no run of the cluster was cleaned.
        UnavailableError: the lake did not answer.
    """
    newest = lake.newest_runs(cluster)[:1]
    cleaned = next((cleaned_last(lake, until(cluster, run.run_date)) for run in newest), None)
    if cleaned is None:
        raise UsageError(
            f"--run-id latest: no run of cluster {cluster} was cleaned in this lake; check --cluster and --lake"
        )
    return cleaned
