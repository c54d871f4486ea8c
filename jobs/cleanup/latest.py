"""`--run-id latest` of clean and restore; purge does not take it, because what it deletes cannot come back."""

import logging
from collections.abc import Callable
from dataclasses import replace

from pipelines.common.errors import UsageError
from pipelines.common.job_result import JobResult
from pipelines.common.logged_run import log_of_run
from pipelines.common.names import LATEST

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
