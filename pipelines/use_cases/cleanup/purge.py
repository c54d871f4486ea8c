"""purge: free the space of quarantined runs, after one more look that nobody needs their files."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.cleanup.deletions import Action, FileOutcome, Result, Subject, Tally
from pipelines.domain.errors import (
    EXIT_REFUSED,
    EXIT_UNAVAILABLE,
    RefusedError,
    UsageError,
    WalsafeError,
)
from pipelines.domain.run_summary import DONE, FAILED, REFUSED
from pipelines.ports_cleanup_audit import Attempt, DecidedRun, Ending
from pipelines.use_cases.cleanup.holder import LeaseHolder
from pipelines.use_cases.cleanup.moving import batches, same
from pipelines.use_cases.cleanup.ports import (
    CleanupPlace,
    CleanupPorts,
    believe,
    decided_run,
)
from pipelines.use_cases.cleanup.progress import Progress
from pipelines.use_cases.cleanup.purge_answer import NOT_BEGUN, STOPPED, WAITING, RunPurge, purge_outcome
from pipelines.use_cases.cleanup.resting import resting_files
from pipelines.use_cases.cleanup.settle import settle
from pipelines.use_cases.outcome import Outcome


@dataclass(frozen=True, slots=True)
class PurgeRequest:
    """What the caller asks for.

    Attributes:
        run_id: None = every quarantined run.
        before_grace: a person's reason not to wait; None = wait.
        execute: delete; otherwise only tell.
    """

    run_id: str | None = None
    before_grace: str | None = None
    execute: bool = False


def purge(request: PurgeRequest, place: CleanupPlace, ports: CleanupPorts) -> Outcome:
    """Delete, or archive and then delete, quarantined runs whose grace is over.

    Of all runs, one that is refused or fails stops no other: the answer names each.

    Returns:
        Exit code 0; 4 when some files could not be deleted, or something did not answer. Of all runs also: 5 when some
        were refused, 3 (or 2) when every one was.

    Raises:
        RefusedError: the cluster cannot be believed now, so nothing proves that the files of the run that was asked for
            are not needed (exit 3).
        UsageError: no such run in the quarantine, or no reason given.
        UnavailableError: the file system, the lake, a source, or the lease.
    """
    if request.before_grace is not None and not request.before_grace.strip():
        raise UsageError("--before-grace needs a reason in your own words: it is written into the audit")
    ports.audit.ensure()
    done: list[RunPurge] = []
    with LeaseHolder(ports.store, place.quarantine, place.holder, place.lease_ms) as holder:
        runs = holder.runs()
        if request.run_id is not None and request.run_id not in runs:
            raise UsageError(
                f"run {request.run_id} of {place.cluster} has nothing in {place.quarantine.root}; there are: "
                f"{', '.join(runs) or 'none'}"
            )
        for run_id in [request.run_id] if request.run_id else runs:
            report = RunPurge(run_id)
            over = _over(done, holder, ports)
            try:
                if over is None:
                    decided = _decided(run_id, f"{place.quarantine.home}/{runs[run_id]}", request, place, ports)
                    _purge_run(report, decided, request, holder, place, ports)
                else:
                    report.status, report.reason = NOT_BEGUN, over
            except WalsafeError as error:
                if request.run_id is not None:
                    raise
                report.ended(error)
            done.append(report)
            ports.tell("\n".join(report.lines()))  # in the log even if a bug should end the job at a later run
    return purge_outcome(place, done)


def _over(done: Sequence[RunPurge], holder: LeaseHolder, ports: CleanupPorts) -> str | None:
    """Why no other run is begun; None = go on."""
    if not done:
        return None
    if done[-1].status in (STOPPED, NOT_BEGUN) or ports.stop():
        return done[-1].reason if done[-1].status == NOT_BEGUN else "a person asked for an end"
    if done[-1].error is not None:
        try:
            holder.check()
        except WalsafeError as error:
            return str(error)
    return None


def _decided(
    run_id: str, directory: str, request: PurgeRequest, place: CleanupPlace, ports: CleanupPorts
) -> DecidedRun:
    """The run that a directory of the quarantine belongs to."""
    if request.run_id is not None:
        return decided_run(ports, place, run_id)
    found = ports.audit.decided(place.cluster, run_id)
    if found is None:
        raise RefusedError(
            f"{directory} belongs to no run of {place.cluster} that ended in this lake, so nothing in it is deleted. "
            "Look what it is: give the --lake of its run, or move it out of the quarantine"
        )
    return found


def _purge_run(
    report: RunPurge,
    decided: DecidedRun,
    request: PurgeRequest,
    holder: LeaseHolder,
    place: CleanupPlace,
    ports: CleanupPorts,
) -> None:
    run_id = report.run_id
    directory = holder.take_run(run_id)
    if directory is None:
        raise UsageError(f"run {run_id} vanished from {place.quarantine.home}; try again")
    attempt = Attempt(decided.run, Action.PURGE, place.identity, holder.number, words=request.before_grace)
    settle(attempt, directory, place, ports, holder.check)
    files = resting_files(ports.store, directory)
    waits = _waits(decided, place, ports)
    if waits > 0 and request.before_grace is None:
        report.status, report.waits_ms = WAITING, waits
        report.tally = Tally(left_files=len(files), left_bytes=sum(one.length for one in files))
        return
    if not request.execute:
        try:
            ready, report.left = _ready(decided, directory, ports)
        finally:
            ports.second_look.forget()
        report.tally = Tally().plus([Result(one, FileOutcome.PURGED) for one in ready]).plus(report.left)
        return
    ports.audit.started(attempt, len(files), sum(one.length for one in files))
    ending = Ending(FAILED, EXIT_UNAVAILABLE, report.tally, "the job was interrupted")
    try:
        _execute(attempt, decided, files, directory, holder, place, ports, report)
        ending = Ending(report.status, report.exit_code, report.tally)
    except WalsafeError as error:
        status = REFUSED if error.exit_code == EXIT_REFUSED else FAILED
        ending = Ending(status, error.exit_code, report.tally, str(error))
        raise
    finally:
        ports.audit.ended(attempt, ending)
        ports.second_look.forget()


def _execute(
    attempt: Attempt,
    decided: DecidedRun,
    files: Sequence[Subject],
    directory: str,
    holder: LeaseHolder,
    place: CleanupPlace,
    ports: CleanupPorts,
    report: RunPurge,
) -> None:
    ready, report.left = _ready(decided, directory, ports)
    holder.check()
    if report.left:
        ports.audit.record(attempt, 0, report.left)
    report.tally = report.tally.plus(report.left)
    progress = Progress("purged", len(files), ports)
    for number, batch in enumerate(batches(ready, place.batch), start=1):
        holder.check()
        kept_at = (
            [ports.archive.place(_archived(one, attempt.run.run_id, place)) for one in batch] if ports.archive else None
        )
        ports.audit.intend(attempt, number, batch, kept_at)
        results = _delete(batch, attempt.run.run_id, directory, place, ports)
        holder.check()  # what a holder finds gone may be where the next one has taken it: that one settles
        ports.audit.record(attempt, number, results)
        report.left += [one for one in results if one.outcome in (FileOutcome.FAILED, FileOutcome.CHANGED)]
        report.tally = report.tally.plus(results)
        progress.more(report.tally)
        if ports.stop() and report.tally.files < len(files):
            report.status = STOPPED
            return
    report.status = DONE


def _waits(decided: DecidedRun, place: CleanupPlace, ports: CleanupPorts) -> int:
    """How long until the grace of the file that was moved last is over, ms."""
    moved_at = ports.audit.moved_at(decided.run)
    return 0 if moved_at is None else moved_at + place.grace_ms - ports.clock.now_ms()


def _ready(decided: DecidedRun, directory: str, ports: CleanupPorts) -> tuple[list[Subject], list[Result]]:
    """Files that may be deleted, and those that may not, after another look at the cluster."""
    looked = ports.second_look.at_quarantine(directory, decided.run)
    believe(looked, None, decided.cluster_id)
    ready: list[Subject] = []
    left: list[Result] = []
    for planned in looked.files:
        if planned.outcome is None:
            ready.append(planned.subject)
        else:
            left.append(Result(planned.subject, planned.outcome, why=planned.why))
    return ready, left


def _delete(
    batch: Sequence[Subject], run_id: str, directory: str, place: CleanupPlace, ports: CleanupPorts
) -> list[Result]:
    results: dict[str, Result] = {}
    ready = _unchanged(batch, directory, ports, results)
    places: dict[str, str] = {}
    if ports.archive is not None:
        uris, names = ([f"{directory}/{one.path}" for one in ready], [_archived(one, run_id, place) for one in ready])
        for subject, (kept_at, problem) in zip(ready, ports.archive.keep(uris, names), strict=True):
            places[subject.path] = kept_at
            if problem is not None:
                results[subject.path] = Result(subject, FileOutcome.FAILED, why="it was not archived", error=problem)
        # copying takes minutes: what changed meanwhile is not what was kept
        ready = _unchanged([one for one in ready if one.path not in results], directory, ports, results)
    for subject, problem in zip(ready, ports.store.delete([f"{directory}/{one.path}" for one in ready]), strict=True):
        where = places.get(subject.path)
        done = FileOutcome.ARCHIVED if where else FileOutcome.PURGED
        results[subject.path] = (
            Result(subject, done, where)
            if problem is None
            else Result(subject, FileOutcome.FAILED, why="it was not deleted", error=problem)
        )
    return [results[one.path] for one in batch]


def _unchanged(
    subjects: Sequence[Subject], directory: str, ports: CleanupPorts, results: dict[str, Result]
) -> list[Subject]:
    """Those that are still the same; the others get their result."""
    found = ports.store.seen([f"{directory}/{one.path}" for one in subjects])
    for subject, seen in zip(subjects, found, strict=True):
        if seen is None:
            results[subject.path] = Result(subject, FileOutcome.ALREADY_GONE)
        elif not same(subject, seen):
            results[subject.path] = Result(subject, FileOutcome.CHANGED, why="it changed since the second look")
    return [one for one in subjects if one.path not in results]


def _archived(subject: Subject, run_id: str, place: CleanupPlace) -> str:
    """Name of a file in the archive."""
    return f"{place.cluster}/{run_id}/{subject.path}"
