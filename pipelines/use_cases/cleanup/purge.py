"""purge: free the space of quarantined runs, after one more look that nobody needs their files."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.domain.cleanup.deletions import Action, FileOutcome, Result, Subject, Tally
from pipelines.domain.errors import EXIT_DONE, EXIT_REFUSED, EXIT_UNAVAILABLE, UsageError, WalsafeError
from pipelines.domain.human import human_bytes
from pipelines.domain.run_summary import DONE, FAILED, REFUSED
from pipelines.domain.settings import HOUR_MS
from pipelines.ports_cleanup_audit import Attempt, DecidedRun, Ending
from pipelines.use_cases.cleanup.deleting import archived, delete
from pipelines.use_cases.cleanup.holder import LeaseHolder
from pipelines.use_cases.cleanup.moving import batches
from pipelines.use_cases.cleanup.onlooker import Onlooker
from pipelines.use_cases.cleanup.ports import (
    CleanupPlace,
    CleanupPorts,
    believe,
    decided_run,
)
from pipelines.use_cases.cleanup.progress import Progress
from pipelines.use_cases.cleanup.resting import resting_files
from pipelines.use_cases.cleanup.settle import settle
from pipelines.use_cases.cleanup.text import failures, left_lines, left_object, tally_object
from pipelines.use_cases.outcome import Outcome

WAITING, REHEARSAL, STOPPED = "WAITING", "REHEARSAL", "STOPPED"


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


@dataclass
class RunPurge:
    """What came of one run.

    Attributes:
        status: WAITING, REHEARSAL, DONE, STOPPED.
        waits_ms: how long it still has to rest.
        unsettled: files that an earlier job began and whose outcome is not known yet; in a rehearsal.
    """

    run_id: str
    status: str
    tally: Tally = field(default_factory=Tally)
    left: list[Result] = field(default_factory=list)
    waits_ms: int = 0
    unsettled: int = 0


def purge(request: PurgeRequest, place: CleanupPlace, ports: CleanupPorts) -> Outcome:
    """Delete, or archive and then delete, quarantined runs whose grace is over.

    Returns:
        Exit code 0; 4 when some files could not be deleted.

    Raises:
        RefusedError: the cluster cannot be believed now, so nothing proves that the files are not needed (exit 3).
        UsageError: no such run in the quarantine, or no reason given.
        UnavailableError: the file system, the lake, a source, or the lease.
    """
    if request.before_grace is not None and not request.before_grace.strip():
        raise UsageError("--before-grace needs a reason in your own words: it is written into the audit")
    done: list[RunPurge] = []
    with _holder(request, place, ports) as holder:
        runs = holder.runs()
        if request.run_id is not None and request.run_id not in runs:
            raise UsageError(
                f"run {request.run_id} of {place.cluster} has nothing in {place.quarantine.root}; there are: "
                f"{', '.join(runs) or 'none'}"
            )
        for run_id in [request.run_id] if request.run_id else runs:
            done.append(_purge_run(run_id, request, holder, place, ports))
            if done[-1].status == STOPPED:
                break
    return _outcome(place, done)


def _holder(request: PurgeRequest, place: CleanupPlace, ports: CleanupPorts) -> LeaseHolder | Onlooker:
    """Who may look at the runs, and in an execution change them."""
    if not request.execute:
        return Onlooker(ports.store, place.quarantine)
    ports.audit.ensure()
    return LeaseHolder(ports.store, place.quarantine, place.holder, place.lease_ms)


def _purge_run(
    run_id: str, request: PurgeRequest, holder: LeaseHolder | Onlooker, place: CleanupPlace, ports: CleanupPorts
) -> RunPurge:
    decided = decided_run(ports, place, run_id)
    directory = holder.take_run(run_id)
    if directory is None:
        raise UsageError(f"run {run_id} vanished from {place.quarantine.home}; try again")
    attempt = Attempt(decided.run, Action.PURGE, place.identity, holder.number, words=request.before_grace)
    unsettled = 0
    if isinstance(holder, LeaseHolder):
        settle(attempt, directory, place, ports, holder)
    else:
        unsettled = len(ports.audit.unsettled(decided.run))
    files = resting_files(ports.store, directory)
    report = RunPurge(run_id, REHEARSAL, unsettled=unsettled)
    waits = _waits(decided, place, ports)
    if waits > 0 and request.before_grace is None:
        report.status, report.waits_ms = WAITING, waits
        report.tally = Tally(left_files=len(files), left_bytes=sum(one.length for one in files))
        return report
    if isinstance(holder, Onlooker):
        try:
            ready, report.left = _ready(decided, directory, ports)
        finally:
            ports.second_look.forget()
        holder.still(run_id, directory)
        report.tally = Tally().plus([Result(one, FileOutcome.PURGED) for one in ready]).plus(report.left)
        return report
    ports.audit.started(attempt, len(files), sum(one.length for one in files))
    ending = Ending(FAILED, EXIT_UNAVAILABLE, report.tally, "the job was interrupted")
    try:
        _execute(attempt, decided, files, directory, holder, place, ports, report)
        code = EXIT_UNAVAILABLE if failures(report.left) else EXIT_DONE
        ending = Ending(report.status, code, report.tally)
    except WalsafeError as error:
        status = REFUSED if error.exit_code == EXIT_REFUSED else FAILED
        ending = Ending(status, error.exit_code, report.tally, str(error))
        raise
    finally:
        ports.audit.ended(attempt, ending)
        ports.second_look.forget()
    return report


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
            [ports.archive.place(archived(one, attempt.run.run_id, place)) for one in batch] if ports.archive else None
        )
        ports.audit.intend(attempt, number, batch, kept_at)
        deleted = delete(batch, attempt.run.run_id, directory, place, ports, holder)
        results = deleted.results
        holder.check()  # what a holder finds gone may be where the next one has taken it: that one settles
        ports.audit.record(attempt, number, results)
        report.left += [one for one in results if one.outcome in (FileOutcome.FAILED, FileOutcome.CHANGED)]
        report.tally = report.tally.plus(results)
        progress.more(report.tally)
        deleted.check("deleting", "The next restore, or purge --execute,")
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


def _outcome(place: CleanupPlace, runs: Sequence[RunPurge]) -> Outcome:
    code = EXIT_UNAVAILABLE if any(failures(one.left) for one in runs) else EXIT_DONE
    result = {
        "cluster": place.cluster,
        "runs": [
            {
                "run_id": one.run_id,
                "status": one.status,
                "waits_ms": one.waits_ms,
                **tally_object(one.tally),
                "left": [left_object(left) for left in one.left[:100]],
            }
            for one in runs
        ],
    }
    lines = [] if runs else [f"Nothing of {place.cluster} is in quarantine."]
    for one in runs:
        if one.unsettled:
            lines.append(
                f"{one.run_id}: {one.unsettled:,} files that an earlier job began have no outcome yet; --execute looks "
                "them up first, and the numbers here may change"
            )
        size = human_bytes(one.tally.done_bytes)
        if one.status == WAITING:
            lines.append(
                f"{one.run_id}: {one.tally.left_files:,} files, {human_bytes(one.tally.left_bytes)}, rest for another "
                f"{one.waits_ms / HOUR_MS:.1f} h (--before-grace REASON frees them at once)"
            )
            continue
        word = "would be deleted; add --execute" if one.status == REHEARSAL else "deleted for good"
        lines += [f"{one.run_id}: {one.tally.done_files:,} files, {size}, {word}"]
        lines += left_lines(one.left, one.tally.left_files)
    return Outcome(code, result, "\n".join(lines))
