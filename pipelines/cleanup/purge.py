"""Implements the purge job.

It frees the space of quarantined runs if a second look shows that no queue needs their files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.cleanup.audit_ports import UNEXPECTED, AttemptEnd, CleanupAttempt, DecidedRun
from pipelines.cleanup.delete_files import archive_name, delete_files
from pipelines.cleanup.deletions import CleanupAction, CleanupFile, CleanupTally, FileOutcome, FileResult
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.move_files import batches
from pipelines.cleanup.pause_checks import find_pause, refuse_while_paused, say_pause_first
from pipelines.cleanup.progress import CleanupProgress
from pipelines.cleanup.purge_answer import NOT_BEGUN, WAITING, RunPurge, purge_outcome
from pipelines.cleanup.quarantined_files import STRAY, is_stray, resting_files
from pipelines.cleanup.read_only_holder import ReadOnlyHolder
from pipelines.cleanup.request import (
    CleanupPlace,
    CleanupPorts,
    check_second_look,
    decided_run,
)
from pipelines.cleanup.settle_intents import settle_intents
from pipelines.common.conditions import Condition
from pipelines.common.errors import (
    EXIT_REFUSED,
    RefusedError,
    UsageError,
    WalsafeError,
)
from pipelines.common.job_result import JobResult
from pipelines.lake.run_summary import DONE, FAILED, REFUSED, STOPPED


@dataclass(frozen=True, slots=True)
class PurgeRequest:
    """Which runs to purge, and how.

    Attributes:
        run_id: the run to purge; None = every quarantined run.
        before_grace: the reason that a person gave for not waiting; None = wait for the end of the grace.
        execute: whether to delete; False = only report.
    """

    run_id: str | None = None
    before_grace: str | None = None
    execute: bool = False


def purge(request: PurgeRequest, place: CleanupPlace, ports: CleanupPorts) -> JobResult:
    """Deletes the quarantined runs whose grace is over; archives their files first if an archive is configured.

    If all runs are purged, a run that is refused or fails does not stop the others; the answer names each of them.

    Returns:
        The answer, with exit code 0; 4 if some files could not be deleted, or something did not answer. If all runs are
        purged, also 5 if some of them were refused, and 3 (or 2) if every one was refused.

    Raises:
        RefusedError: the cluster cannot be trusted now, so nothing proves that the files of the requested run are not
            needed; or a finding pauses the clean-up (exit 3).
        UsageError: the quarantine has no such run, or a reason is required and missing.
        UnavailableError: the file system, the lake, a source or the lease did not answer.
    """
    if request.before_grace is not None and not request.before_grace.strip():
        raise UsageError("--before-grace needs a reason in your own words: it is written into the audit")
    if request.execute:
        refuse_while_paused(place, ports)
    done: list[RunPurge] = []
    with _holder(request, place, ports) as holder:
        runs = holder.runs()
        if request.run_id is not None and request.run_id not in runs:
            raise UsageError(
                f"run {request.run_id} of {place.cluster} has nothing in {place.quarantine.root}. Quarantined runs: "
                f"{', '.join(runs) or 'none'}"
            )
        for run_id in [request.run_id] if request.run_id else runs:
            over = _over(run_id, done, holder, ports)
            report = over or RunPurge(run_id)
            try:
                if over is None:
                    decided = _decided(run_id, f"{place.quarantine.home}/{runs[run_id]}", request, place, ports)
                    _purge_run(report, decided, request, holder, place, ports)
            except WalsafeError as error:
                if request.run_id is not None:
                    raise
                holder.keep(run_id)
                report.ended(error)
            done.append(report)
            ports.tell("\n".join(report.lines()))  # logged now in case a bug ends the job at a later run
    return say_pause_first(purge_outcome(place, done), None if request.execute else find_pause(place, ports))


def _over(
    run_id: str, done: Sequence[RunPurge], holder: LeaseHolder | ReadOnlyHolder, ports: CleanupPorts
) -> RunPurge | None:
    """Returns the report of a run that is not begun; None = begin it."""
    if not done:
        return None
    last = done[-1]
    if last.status == NOT_BEGUN:
        return RunPurge(run_id, NOT_BEGUN, reason=last.reason, error=last.error)
    if last.status == STOPPED or ports.stop():
        return RunPurge(run_id, NOT_BEGUN, reason="a person asked for an end")
    if last.error is not None and isinstance(holder, LeaseHolder):
        try:
            holder.check()
        except WalsafeError as error:
            return RunPurge(run_id, NOT_BEGUN, reason=str(error), error=error)
    return None


def _decided(
    run_id: str, directory: str, request: PurgeRequest, place: CleanupPlace, ports: CleanupPorts
) -> DecidedRun:
    """Returns the run to which a directory of the quarantine belongs.

    Raises:
        RefusedError: the lake has no ended run to which it belongs.
    """
    if request.run_id is not None:
        return decided_run(ports, place, run_id)
    found = ports.audit.decided(place.cluster, run_id)
    if found is None:
        raise RefusedError(
            Condition.RUN_UNKNOWN,
            f"{directory} belongs to no run of {place.cluster} that ended in this lake, so nothing in it is deleted. "
            "Find out what it is: give the --lake of its run, or move it out of the quarantine",
        )
    return found


def _holder(request: PurgeRequest, place: CleanupPlace, ports: CleanupPorts) -> LeaseHolder | ReadOnlyHolder:
    """Returns the lease holder of an execution, or the read-only one of a rehearsal."""
    if not request.execute:
        return ReadOnlyHolder(ports.store, place.quarantine)
    ports.audit.ensure()
    return LeaseHolder(ports.store, place.quarantine, place.holder, place.lease_ms)


def _purge_run(
    report: RunPurge,
    decided: DecidedRun,
    request: PurgeRequest,
    holder: LeaseHolder | ReadOnlyHolder,
    place: CleanupPlace,
    ports: CleanupPorts,
) -> None:
    run_id = report.run_id
    directory = holder.take_run(run_id)
    if directory is None:
        raise UsageError(f"run {run_id} vanished from {place.quarantine.home}; try again")
    attempt = CleanupAttempt(
        decided.run, CleanupAction.PURGE, place.identity, holder.number, words=request.before_grace
    )
    if isinstance(holder, LeaseHolder):
        settle_intents(attempt, directory, place, ports, holder)
    else:
        report.unsettled = len(ports.audit.unsettled(decided.run))
    files = resting_files(ports.store, directory)
    waits = _waits(decided, place, ports) if files else 0
    if waits > 0 and request.before_grace is None:
        report.status, report.waits_ms = WAITING, waits
        report.tally = CleanupTally(left_files=len(files), left_bytes=sum(one.length for one in files))
        return
    if isinstance(holder, ReadOnlyHolder):
        try:
            ready, report.left = _ready(decided, files, directory, ports)
        finally:
            ports.second_look.forget()
        holder.still(run_id, directory)
        report.tally = CleanupTally().plus([FileResult(one, FileOutcome.PURGED) for one in ready]).plus(report.left)
        return
    ports.audit.started(attempt, len(files), sum(one.length for one in files))
    ending = AttemptEnd(FAILED, None, report.tally, UNEXPECTED)
    try:
        _execute(attempt, decided, files, directory, holder, place, ports, report)
        ending = AttemptEnd(report.status, report.exit_code, report.tally)
    except WalsafeError as error:
        status = REFUSED if error.exit_code == EXIT_REFUSED else FAILED
        ending = AttemptEnd(status, error.exit_code, report.tally, str(error))
        raise
    finally:
        ports.second_look.forget()
        ports.audit.ended(attempt, replace(ending, tally=report.tally))


def _execute(
    attempt: CleanupAttempt,
    decided: DecidedRun,
    files: Sequence[CleanupFile],
    directory: str,
    holder: LeaseHolder,
    place: CleanupPlace,
    ports: CleanupPorts,
    report: RunPurge,
) -> None:
    ready, report.left = _ready(decided, files, directory, ports)
    holder.check()
    for part in batches(report.left, place.batch):
        ports.audit.record(attempt, 0, part)
        holder.check()
    report.tally = report.tally.plus(report.left)
    progress = CleanupProgress("purged", len(files), ports)
    for number, batch in enumerate(batches(ready, place.batch), start=1):
        if ports.stop():
            report.status = STOPPED
            return
        holder.check()
        kept_at = (
            [ports.archive.place(archive_name(one, attempt.run.run_id, place)) for one in batch]
            if ports.archive
            else None
        )
        ports.audit.intend(attempt, number, batch, kept_at)
        deleted = delete_files(batch, attempt.run.run_id, directory, place, ports, holder)
        results = deleted.results
        # after a lost lease a file may look gone, because the next holder renamed the directory; that holder settles it
        holder.check()
        ports.audit.record(attempt, number, results)
        report.left += [one for one in results if one.outcome in (FileOutcome.FAILED, FileOutcome.CHANGED)]
        report.tally = report.tally.plus(results)
        progress.more(report.tally)
        deleted.check("deleting", "The next restore, or purge --execute,")
    report.status = DONE


def _waits(decided: DecidedRun, place: CleanupPlace, ports: CleanupPorts) -> int:
    """Returns the time (ms) until the grace of the run's last moved file is over."""
    moved_at = ports.audit.moved_at(decided.run)
    return 0 if moved_at is None else moved_at + place.grace_ms - ports.clock.now_ms()


def _ready(
    decided: DecidedRun, files: Sequence[CleanupFile], directory: str, ports: CleanupPorts
) -> tuple[list[CleanupFile], list[FileResult]]:
    """Looks at the cluster again, unless there is no WAL that could be deleted.

    Returns:
        The files that may be deleted, and the results of the files that may not.
    """
    left = [FileResult(one, FileOutcome.REFUSED, why=STRAY) for one in files if is_stray(one)]
    if len(left) == len(files):
        return [], left
    looked = ports.second_look.at_quarantine(directory, decided.run)
    check_second_look(looked, None, decided.cluster_id)
    ready: list[CleanupFile] = []
    for planned in looked.files:
        if planned.outcome is None:
            ready.append(planned.subject)
        else:
            left.append(FileResult(planned.subject, planned.outcome, why=planned.why))
    return ready, left
