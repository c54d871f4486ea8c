"""Implements the clean job: it decides each file of a delete-safe list again, then moves it to the quarantine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pipelines.cleanup.audit_ports import UNEXPECTED, AttemptEnd, CleanupAttempt, DecidedRun
from pipelines.cleanup.deletions import CleanupAction, CleanupFile, CleanupTally, FileOutcome, FileResult
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.list_checks import check_age, check_approved, check_begun, check_manifest, check_once
from pipelines.cleanup.move_files import RESTS, BatchResult, MoveRoute, batches, look_again, move_files
from pipelines.cleanup.pause_checks import find_pause, refuse_while_paused, say_pause_first
from pipelines.cleanup.progress import CleanupProgress
from pipelines.cleanup.request import (
    CleanupPlace,
    CleanupPorts,
    check_second_look,
    decided_run,
)
from pipelines.cleanup.settle_intents import settle_intents
from pipelines.cleanup.stores.store_failures import parse_failure
from pipelines.cleanup.text import clean_outcome, option
from pipelines.common.errors import (
    EXIT_DONE,
    EXIT_REFUSED,
    EXIT_UNAVAILABLE,
    WalsafeError,
)
from pipelines.common.instants import format_instant
from pipelines.common.job_result import JobResult
from pipelines.lake.run_summary import DONE, FAILED, REFUSED, STOPPED
from pipelines.reconcile.delete_list import Manifest

REHEARSAL = "REHEARSAL"
MAX_EXAMPLES = 100
_Planned: TypeAlias = tuple[CleanupFile, FileResult | None]
"""A file of the list, with its outcome if the file need not be touched to know it."""


@dataclass(frozen=True, slots=True)
class CleanRequest:
    """Which list to clean, and how.

    Attributes:
        run_id: the run that wrote the list.
        max_files: stop after this many files; None = no limit.
        max_bytes: stop after this many bytes; None = no limit.
        execute: whether to move files; False = only report.
        resume: whether to continue an attempt that stopped or died.
        list_sha256: the digest of the list that was approved; None = whatever list the run wrote.
    """

    run_id: str
    max_files: int | None = None
    max_bytes: int | None = None
    execute: bool = False
    resume: bool = False
    list_sha256: str | None = None


@dataclass
class CleanReport:
    """The results of a clean-up so far.

    Attributes:
        status: REHEARSAL, DONE, STOPPED.
        tally: the sums; in a rehearsal, the expected sums.
        left: the files that are not moved, each with the reason; at most MAX_EXAMPLES.
        reason: why the clean-up stopped.
        late: whether it stopped because the list is no longer valid.
        unsettled: in a rehearsal, the number of files that an earlier job began and that have no outcome yet.
        failed: the number of files that could not be moved.
        resting: how many of them another file of their name in the quarantine keeps from it; no resumption moves them.
        begun: whether this job or an earlier one began to move files of the list.
    """

    manifest: Manifest
    quarantine: str
    status: str = REHEARSAL
    tally: CleanupTally = field(default_factory=CleanupTally)
    left: list[FileResult] = field(default_factory=list)
    settled: int = 0
    reason: str | None = None
    failed: int = 0
    resting: int = 0
    recheck_sha256: str | None = None
    late: bool = False
    unsettled: int = 0
    begun: bool = False

    @property
    def exit_code(self) -> int:
        """Returns the exit code of an execution that ended without an exception."""
        if self.late:
            return EXIT_REFUSED
        return EXIT_UNAVAILABLE if self.failed else EXIT_DONE

    def add(self, results: list[FileResult]) -> None:
        """Adds the results of files to the sums and examples."""
        self.tally = self.tally.plus(results)
        self.failed += sum(one.outcome is FileOutcome.FAILED for one in results)
        self.resting += sum(one.why == RESTS for one in results)
        odd = [one for one in results if one.outcome not in (FileOutcome.MOVED, FileOutcome.ALREADY_GONE)]
        self.left += odd[: MAX_EXAMPLES - len(self.left)]


def clean(request: CleanRequest, place: CleanupPlace, ports: CleanupPorts) -> JobResult:
    """Rehearses or executes the clean-up of one list.

    Nothing is moved before the list, the cluster's identity and a second look at the cluster have been checked. No file
    is moved without an INTENT row in `deletions`. If the job is killed at any point, `resume` reaches the same final
    state.

    Returns:
        The answer, with exit code 0: done, or stopped where requested (`status` in the result); 3: the list expired
        before all of its files were moved; 4: some files could not be moved.

    Raises:
        RefusedError: the list must not be acted on (exit 3); this call moved nothing.
        UsageError: an argument is wrong, or there is nothing to resume.
        UnavailableError: a source or sink did not answer; continue with `resume`.
    """
    decided = decided_run(ports, place, request.run_id)
    manifest = ports.lists.manifest(place.cluster, request.run_id)
    check_manifest(manifest, decided, place)
    check_approved(manifest, request.list_sha256)
    report = CleanReport(manifest, place.quarantine.at_rest(request.run_id))
    if not (request.execute or request.resume):
        check_age(manifest, ports)
        actions = ports.audit.actions(decided.run)
        check_once(actions, request.run_id, anew=request.execute)
        report.begun = CleanupAction.CLEAN in actions
        report.unsettled = len(ports.audit.unsettled(decided.run))
        try:
            for subject, known in _within_limits(_plan(decided, manifest, report, ports), request, report):
                report.add([known or FileResult(subject, FileOutcome.MOVED)])
        finally:
            ports.second_look.forget()
        outcome = clean_outcome(place, request.run_id, report, executed=False)
        return say_pause_first(outcome, find_pause(place, ports), option(report))
    if request.resume:
        check_begun(ports.audit.actions(decided.run), request.run_id)
        report.begun = True
    ports.audit.ensure()
    with LeaseHolder(ports.store, place.quarantine, place.holder, place.lease_ms) as holder:
        # checked again under the lease: from now on no other job can begin anything
        check_once(ports.audit.actions(decided.run), request.run_id, anew=request.execute)
        attempt = CleanupAttempt(decided.run, CleanupAction.CLEAN, place.identity, holder.number, request.resume)
        ports.audit.started(attempt, manifest.files, manifest.bytes)
        ending = AttemptEnd(FAILED, None, report.tally, UNEXPECTED)
        try:
            _execute(request, decided, attempt, holder, place, ports, report)
            ending = AttemptEnd(report.status, report.exit_code, report.tally, report.reason, report.recheck_sha256)
        except WalsafeError as error:
            status = REFUSED if error.exit_code == EXIT_REFUSED else FAILED
            ending = AttemptEnd(status, error.exit_code, report.tally, str(error), report.recheck_sha256)
            raise
        finally:
            ports.second_look.forget()
            ports.audit.ended(attempt, replace(ending, tally=report.tally))
    return say_pause_first(clean_outcome(place, request.run_id, report, executed=True), None)


def _execute(
    request: CleanRequest,
    decided: DecidedRun,
    attempt: CleanupAttempt,
    holder: LeaseHolder,
    place: CleanupPlace,
    ports: CleanupPorts,
    report: CleanReport,
) -> None:
    directory = holder.make_run(request.run_id)
    report.settled = settle_intents(attempt, directory, place, ports, holder)
    refuse_while_paused(place, ports)
    check_age(report.manifest, ports)
    plan = _within_limits(_plan(decided, report.manifest, report, ports), request, report)
    # the list also has the files that an earlier attempt finished, and those beyond a limit
    whole = not request.resume and request.max_files is None and request.max_bytes is None
    progress = CleanupProgress("moved", report.manifest.files if whole else None, ports)
    way = MoveRoute(place.wal_root, directory, FileOutcome.MOVED, place.quarantine.at_rest(request.run_id))
    in_vain: list[str] = []  # the kinds of error of all files since the last one that did not fail
    for number, batch in enumerate(batches(plan, place.batch), start=1):
        if ports.stop():
            report.status, report.reason = STOPPED, "a person asked for it"
            return
        last = in_vain[-place.batch :]
        if len(last) == place.batch and len(set(last)) == 1:  # further files would only add two rows each
            report.status, report.reason = STOPPED, f"the last {len(last):,} files all failed with {last[0]}"
            return
        if _late(report, ports):
            return
        holder.check()
        wanted = [subject for subject, known in batch if known is None]
        moved = BatchResult()
        if wanted:
            ports.audit.intend(attempt, number, wanted, [f"{way.place}/{one.path}" for one in wanted])
            report.begun = True
            late = _late(report, ports)  # writing to the lake may have taken until after not_after
            moved = _untouched(wanted, late) if late else move_files(ports.store, wanted, way, holder)
        others = [known for _, known in batch if known is not None]
        results = [*moved.results, *look_again(others, way, holder, resumed=attempt.resumed)]
        # after a lost lease a file may look gone, because the next holder renamed the directory; that holder settles it
        holder.check()
        ports.audit.record(attempt, number, results)
        report.add(results)
        progress.more(report.tally)
        moved.check("moving", "clean --resume")
        failed = [parse_failure(one.error or "").kind for one in moved.results if one.outcome is FileOutcome.FAILED]
        in_vain = [*in_vain, *failed] if len(failed) == len(moved.results) else []
        if report.late:
            return
    report.status = STOPPED if report.reason else DONE


def _late(report: CleanReport, ports: CleanupPorts) -> str | None:
    """Returns why no more files of the list may be moved, if the list has expired; else None."""
    now, until = ports.clock.now_ms(), report.manifest.not_after
    if now <= until:
        return None
    report.status, report.late = STOPPED, True
    report.reason = f"the list was valid until {format_instant(until)}, and it is {format_instant(now)}"
    return report.reason


def _untouched(subjects: Sequence[CleanupFile], why: str) -> BatchResult:
    return BatchResult(
        [FileResult(subject, FileOutcome.REFUSED, why=f"{why}: it was not touched") for subject in subjects]
    )


def _within_limits(plan: Iterator[_Planned], request: CleanRequest, report: CleanReport) -> Iterator[_Planned]:
    """Yields the plan up to the limits; sets `report.reason` if a limit cuts it. Only files to be moved count."""
    files = size = 0
    for subject, known in plan:
        if known is None:
            if (request.max_files is not None and files >= request.max_files) or (
                request.max_bytes is not None and size >= request.max_bytes
            ):
                report.reason = "the limit given"
                return
            files, size = files + 1, size + subject.length
        yield subject, known


def _plan(decided: DecidedRun, manifest: Manifest, report: CleanReport, ports: CleanupPorts) -> Iterator[_Planned]:
    """Yields each file of the list in order."""
    if manifest.files == 0:
        return
    looked = ports.second_look.at_list(manifest, decided.run)
    report.recheck_sha256 = looked.snapshot_sha256
    check_second_look(looked, decided.peer_ids, manifest.cluster_id)
    for planned in looked.files:
        done = None if planned.outcome is None else FileResult(planned.subject, planned.outcome, why=planned.why)
        yield planned.subject, done
