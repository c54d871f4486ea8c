"""Runs a job from its command line to its exit code.

Exit codes: 0 done, 2 wrong usage or configuration, 3 refused for safety, 4 unavailable,
5 done with a refused cluster, a refused run of purge or a new error finding. Also 1 for a bug (with its traceback) and
130 for an interruption.
"""

import json
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from jobs.cli import failures, log
from jobs.cli.command_line import Invocation, parse
from jobs.cli.config.configured_options import cluster_of_job
from jobs.cli.context import JobContext
from jobs.cli.monitoring.alerts import NIGHT, TELLING, Alert, alerts_of
from jobs.cli.result_file import write_answer, write_result
from pipelines.common.errors import EXIT_DONE, SparkNeededError, UsageError
from pipelines.common.job_result import JobResult
from pipelines.common.logged_run import log_of_run
from pipelines.common.names import LATEST
from pipelines.files.local_paths import path_here

logger = logging.getLogger(__name__)

OUTPUT_FILE_ENV = "WALSAFE_OUTPUT_FILE"
"""File that receives the result instead of standard output: spark-submit merges the two streams of a Python driver."""


def main(argv: Sequence[str] | None = None, *, context: JobContext | None = None) -> int:
    """Runs one job.

    Args:
        argv: the command line without the program; None = the command line of this process.
        context: an environment to use instead of the real one.

    Returns:
        The exit code. Wrong usage and `--help` raise SystemExit, as in argparse.
    """
    return run(parse(sys.argv[1:] if argv is None else argv), context)


def run(invocation: Invocation, context: JobContext | None = None) -> int:
    """Runs a validated command line; `context` and the result are those of `main`."""
    args = invocation.args
    write_answer("", EXIT_DONE, os.environ.get(OUTPUT_FILE_ENV))  # shows the launcher that spark-submit reached the job
    log.set_up(args.log_level, args.log_format)
    given = getattr(args, "run_id", None)
    if given not in (None, LATEST):
        log_of_run(given)
    context = context or JobContext(invocation.name)
    started = context.clock.now_ms()
    try:
        outcome = run_job(invocation, context)
        document = result_object(invocation.name, outcome)
        code = _deliver(outcome, document, args, context)
        notified = _notify(invocation, outcome, context)
        _publish(invocation, replace(outcome, exit_code=code), started, context, notified)
    finally:
        context.close()
    return code


def run_job(invocation: Invocation, context: JobContext) -> JobResult:
    """Runs a validated command line and returns its result; if the job fails, the result says why."""
    try:
        return invocation.job.run(invocation.args, context)
    except SparkNeededError:  # for the launcher
        raise
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the one place that turns errors into exit codes
        return _failed_job(invocation, error, context)


def tell_failure(invocation: Invocation, error: Exception) -> int:
    """Answers for a job that failed before its driver began; a result file that only Hadoop reaches is not written.

    Returns:
        The exit code.
    """
    args = invocation.args
    if args.result and path_here(args.result) is None:
        args = Namespace(**{**vars(args), "result": None})
    context = JobContext(invocation.name)
    outcome = _failed_job(invocation, error, context)
    return _deliver(outcome, result_object(invocation.name, outcome), args, context)


def result_object(job: str, outcome: JobResult) -> dict[str, object]:
    """Returns the JSON object of `--output json` and `--result`."""
    return {"job": job, "exit_code": outcome.exit_code, **outcome.result}


def _failed_job(invocation: Invocation, error: BaseException, context: JobContext) -> JobResult:
    outcome = _failed(invocation.name, error)
    if invocation.name != NIGHT:
        return outcome
    try:
        alerts = [asdict(alert) for alert in _alerts(invocation, outcome, context)]
    except Exception:  # a bug in a message must not hide why the night failed
        logger.exception("no alert is told")
        alerts = []
    return replace(outcome, result={**outcome.result, "alerts": alerts})


def _failed(job: str, error: BaseException) -> JobResult:
    failure = failures.failure_of(error)
    if failure.is_bug:
        logger.error("this is a bug of walsafe; please report it with this traceback", exc_info=error)
    log.say(failure.line(job), logging.ERROR)
    condition = failure.condition.name if failure.condition else None
    told = {"kind": failure.kind, "message": failure.message, "condition": condition}
    return JobResult(failure.exit_code, {"error": told}, "")


def _deliver(outcome: JobResult, document: Mapping[str, object], args: Namespace, context: JobContext) -> int:
    """Writes the result to every requested place; a place that cannot be written is a failure."""
    code = outcome.exit_code
    text = json.dumps(document, ensure_ascii=False, sort_keys=False)
    if args.result:
        try:
            write_result(args.result, text + "\n", context)
        except Exception as error:  # noqa: BLE001 - the answer is given all the same
            failed = _failed(context.job, error).exit_code
            code = code or failed
    answer = text if args.output == "json" else outcome.text
    if answer:
        code = write_answer(answer.rstrip("\n") + "\n", code, os.environ.get(OUTPUT_FILE_ENV))
    return code


def _notify(invocation: Invocation, outcome: JobResult, context: JobContext) -> bool | None:
    """Returns whether the webhook took the message; None = nobody is told of this job."""
    config_file = getattr(invocation.args, "config", None)
    if invocation.name not in TELLING or config_file is None or getattr(invocation.args, "plan", None) is True:
        return None
    from jobs.cli.config.configuration import load_config
    from jobs.cli.monitoring.notify import send

    try:
        section = load_config(config_file, context).notify
    except UsageError:  # the job has reported it
        return None
    if section is None:
        return None
    try:
        return send(_alerts(invocation, outcome, context), section, context.clock)
    except Exception:  # the work is done; a bug in a message must not fail it
        logger.exception("nobody was notified")
        return False


def _alerts(invocation: Invocation, outcome: JobResult, context: JobContext) -> list[Alert]:
    """Returns what a person should be told; a job that failed says neither its cluster nor its run."""
    args, run_id = invocation.args, getattr(invocation.args, "run_id", None)
    known = {"cluster": cluster_of_job(args, context.local_file), "run_id": None if run_id == LATEST else run_id}
    return alerts_of(invocation.name, outcome.exit_code, {**known, **outcome.result})


def _publish(
    invocation: Invocation, outcome: JobResult, started_ms: int, context: JobContext, notified: bool | None
) -> None:
    place = getattr(invocation.args, "metrics", None)
    if place is not None:
        from jobs.cli.monitoring.publish_metrics import publish_metrics

        publish_metrics(place, invocation.name, invocation.args, outcome, started_ms, context, notified)
