"""Starts the jobs of a night in the application that runs already."""

import logging
import time
from collections.abc import Callable

from jobs.cli.command_line import parse
from jobs.cli.context import JobContext, stop_asked
from jobs.cli.entry import run_job
from jobs.cli.monitoring.publish_metrics import publish_metrics
from jobs.night.plan import Command
from pipelines.common.job_result import JobResult

logger = logging.getLogger(__name__)


def start_job(context: JobContext, metrics: str | None = None) -> Callable[[Command], JobResult]:
    """Returns a function that runs one job with this context and returns its result, also if it fails.

    Args:
        context: of the night.
        metrics: where the metrics of each job go; None = nowhere.
    """

    def start(command: Command) -> JobResult:
        logger.info("night: %s", " ".join(command))
        invocation, started = parse(command), context.clock.now_ms()
        outcome = run_job(invocation, context)
        publish_metrics(metrics, invocation.name, invocation.args, outcome, started, context)
        return outcome

    return start


def wait(delay_ms: int) -> None:
    """Waits, or returns at once if somebody asks the night to stop."""
    until = time.monotonic() + delay_ms / 1000
    while time.monotonic() < until and not stop_asked():
        time.sleep(min(1.0, max(0.0, until - time.monotonic())))
