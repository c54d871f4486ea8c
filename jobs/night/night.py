"""The order of a night's jobs, and what their exit codes mean for it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field

from jobs.cli.context import stop_asked
from jobs.cli.failures import EXIT_INTERRUPTED
from jobs.cli.monitoring.alerts import LISTS_OVER, NIGHT, alerts_of
from jobs.night.plan import Command, NightPlan, command_line
from jobs.night.start import wait
from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_DONE, EXIT_PARTIAL, EXIT_REFUSED, EXIT_UNAVAILABLE
from pipelines.common.job_result import JobResult
from pipelines.common.logged_run import log_of_run

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Night:
    """The environment of one night.

    Attributes:
        plan: its commands.
        start: runs a job and returns its result, also if the job fails.
        wait: waits for so many ms.
        stopped: whether somebody asks the night to stop.
    """

    plan: NightPlan
    start: Callable[[Command], JobResult]
    wait: Callable[[int], None] = wait
    stopped: Callable[[], bool] = stop_asked


@dataclass(slots=True)
class _Ended(Exception):  # noqa: N818 - it ends the night, whatever the reason
    """Ends the night with an exit code, and with a sentence if no job says why."""

    exit_code: int
    why: str = ""


@dataclass(slots=True)
class _Answers:
    """The answers of the jobs so far."""

    jobs: list[Mapping[str, object]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def add(self, command: Command, outcome: JobResult) -> None:
        # a clean that failed does not say itself whether it was the rehearsal
        executed = {"executed": "--execute" in command or "--resume" in command} if command[0] == "clean" else {}
        said = {**executed, **outcome.result, "text": outcome.text}
        self.jobs.append({"job": command[0], "exit_code": outcome.exit_code, **said})
        if outcome.text:
            self.texts.append(f"== {command[0]}\n{outcome.text}")


def run_night(night: Night) -> JobResult:
    """Runs the jobs of a night until one stops it.

    Returns:
        The answers of all jobs, and what a person should know of them (`alerts`). The exit code is that of the job that
        stopped the night; 3 if a finding pauses the clean-up. If all jobs ended: 4 if clean could not move some files,
        or purge could not finish every run; 5 if an error finding is new, purge refused runs, or the list of a clean-up
        that had begun expired before `--part finish` resumed it; else 0.
    """
    plan, answers = night.plan, _Answers()
    log_of_run(plan.run_id)
    logger.info("night of %s, run id %s", plan.cluster, plan.run_id)
    try:
        code, option = (EXIT_DONE, "--execute") if plan.part == "finish" else _decide(night, answers)
        left = [(code, "an error finding is new: see reconcile")] if code else []
        if plan.part != "decide":
            left += _finish(night, answers, option)
        code, why = min((code for code, _ in left), default=EXIT_DONE), "; ".join(reason for _, reason in left)
    except _Ended as end:
        code, why = end.exit_code, end.why
    last = f"The night of {plan.cluster} ({plan.run_id}) ended with exit code {code}{why and f': {why}'}"
    result: dict[str, object] = {"cluster": plan.cluster, "run_id": plan.run_id, "approved": plan.approved}
    result |= {"part": plan.part, "why": why or None, "jobs": answers.jobs}
    try:
        result["alerts"] = [asdict(alert) for alert in alerts_of(NIGHT, code, result)]
    except Exception:  # the jobs have ended; a bug in a message must not hide their answers
        logger.exception("no alert is told")
        result["alerts"] = []
    return JobResult(code, result, "\n\n".join([*answers.texts, last]))


def _run(
    night: Night,
    command: Command,
    answers: _Answers,
    passes: Callable[[JobResult], bool] = lambda _outcome: False,
    resume: Command = (),
    once: bool = False,
) -> JobResult:
    """Runs a job, several times if something is unavailable, but not without Spark.

    Args:
        night: the night.
        command: the job.
        answers: receives the answer.
        passes: whether an outcome with another exit code than 0 lets the night go on.
        resume: goes on with a clean-up that had begun. It settles the files that were begun before it finds that the
            list has expired, so this lets the night go on, too.
        once: the job is not started again after a failure, unless another job held the cluster's lease. Nor is a clean
            that could not move some files: each try would look at the cluster again, and write two rows for each file.

    Raises:
        _Ended: the job failed.
    """
    for tried in range(1, night.plan.tries + 1):
        if night.stopped():
            raise _Ended(
                EXIT_INTERRUPTED, f"stopped before {command[0]}; start it again with --run-id {night.plan.run_id}"
            )
        outcome = night.start(command)
        if resume and _cleaned_before(outcome):  # never begun again
            command, outcome = resume, night.start(resume)
        without_spark = _condition(outcome) == Condition.SPARK_ENDED.name  # no job does well in this application again
        again = not (once or _moved_others(outcome)) or _condition(outcome) == Condition.LEASE_HELD.name
        if outcome.exit_code != EXIT_UNAVAILABLE or without_spark or not again or tried == night.plan.tries:
            break
        logger.warning("night: %s is tried again in %s s", command[0], night.plan.retry_delay_ms // 1000)
        night.wait(night.plan.retry_delay_ms)
        if night.stopped():  # the night ends with the reason why it waited
            answers.add(command, outcome)
    answers.add(command, outcome)
    goes_on = outcome.exit_code == EXIT_DONE or passes(outcome) or (command == resume and _expired(outcome))
    if without_spark or not goes_on:
        raise _Ended(outcome.exit_code, f"{command[0]} stopped it")
    return outcome


def _decide(night: Night, answers: _Answers) -> tuple[int, str]:
    """Captures, decides and rehearses.

    Returns:
        The exit code of reconcile, and the option with which clean would move files; "" = there is no list to clean.
    """
    plan = night.plan
    _run(night, plan.capture, answers, passes=_captured_before)
    decided = _run(night, plan.reconcile, answers, passes=_partly)
    if _without_list(decided):
        answers.texts.append("There is nothing to clean: the snapshot is too old for a list.")
        return decided.exit_code, ""
    if not plan.clean:
        return decided.exit_code, ""
    rehearsed = _run(night, plan.clean, answers, passes=lambda outcome: bool(_why_over(outcome)))
    if why := _why_over(rehearsed):  # an old night was started again; what purge and maintain do needs no list
        answers.texts.append(f"There is nothing to clean: {why}.")
        return decided.exit_code, ""
    if rehearsed.result.get("paused"):  # clean and purge would refuse, whoever approves
        raise _Ended(EXIT_REFUSED, "nothing is cleaned or purged, because a finding pauses the clean-up: see clean")
    return decided.exit_code, str(rehearsed.result.get("option", "--execute"))


def _finish(night: Night, answers: _Answers, option: str) -> list[tuple[int, str]]:
    """Cleans what is approved, purges and maintains.

    Args:
        night: the night.
        answers: receives the answers.
        option: with which clean would move files; "" = there is no list to clean.

    Returns:
        What it leaves to a person, each with the exit code that the night has for it.
    """
    plan = night.plan
    left: list[tuple[int, str]] = []
    if plan.approved and option:
        execute, resume = (*plan.clean, "--execute"), (*plan.clean, "--resume")
        once = _is_limited(plan.clean)
        cleaned = _run(night, execute, answers, passes=_moved_others, resume=resume, once=once)
        if _expired(cleaned):
            why = "the list of a clean-up that had begun has expired, so files of it may be left: see clean"
            left.append((EXIT_PARTIAL, why))
        elif cleaned.exit_code != EXIT_DONE:
            left.append((EXIT_UNAVAILABLE, "some files could not be moved: see clean"))
    elif plan.part is None and option:
        command = command_line((*plan.clean, option))
        answers.texts.append(f"Nothing was moved. If you agree with the rehearsal above:\n{command}")
    # a run that purge refuses, or a file that it cannot delete, may stay for weeks: the tables must not grow as long
    purged = _run(night, plan.purge, answers, passes=_answered_for_runs) if plan.purge else None
    if purged is not None and purged.exit_code == EXIT_UNAVAILABLE:
        left.append((EXIT_UNAVAILABLE, "purge could not finish every run: see purge"))
    elif purged is not None and purged.exit_code != EXIT_DONE:
        left.append((EXIT_PARTIAL, "purge refused quarantined runs: see purge"))
    _run(night, plan.maintain, answers)
    return left


def _captured_before(outcome: JobResult) -> bool:
    """Tells whether capture failed only because the snapshot of this night exists."""
    return _condition(outcome) == Condition.SNAPSHOT_EXISTS.name


def _without_list(decided: JobResult) -> bool:
    """Tells whether reconcile wrote and kept no list, because the snapshot is older than a list may be."""
    clusters = decided.result.get("clusters")
    return isinstance(clusters, list) and all(one.get("list_uri") is None for one in clusters)


def _why_over(rehearsed: JobResult) -> str:
    """Returns why nothing of a list can be cleaned any more; "" = it can."""
    return LISTS_OVER.get(str(_condition(rehearsed)), "")


def _expired(outcome: JobResult) -> bool:
    return _condition(outcome) == Condition.LIST_EXPIRED.name


def _partly(outcome: JobResult) -> bool:
    return outcome.exit_code == EXIT_PARTIAL


def _moved_others(outcome: JobResult) -> bool:
    """Tells whether clean came to its end, and could not move some files; an error would say that it did not."""
    return outcome.exit_code == EXIT_UNAVAILABLE and "left" in outcome.result and "error" not in outcome.result


def _answered_for_runs(outcome: JobResult) -> bool:
    """Tells whether purge has an answer for each run; without it, it failed before the first one."""
    return "runs" in outcome.result


def _is_limited(clean: Command) -> bool:
    """Tells whether clean moves only so much; each further try would move as much again."""
    return "--max-files" in clean or "--max-bytes" in clean


def _cleaned_before(outcome: JobResult) -> bool:
    return _condition(outcome) == Condition.LIST_ALREADY_CLEANED.name


def _condition(outcome: JobResult) -> object:
    error = outcome.result.get("error")
    return error.get("condition") if isinstance(error, Mapping) else None
