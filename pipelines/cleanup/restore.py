"""Implements the restore job: it moves quarantined files back to where they were."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.cleanup.audit_ports import UNEXPECTED, AttemptEnd, CleanupAttempt
from pipelines.cleanup.deletions import CleanupAction, CleanupFile, CleanupTally, FileOutcome, FileResult
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.move_files import MoveRoute, batches, move_files
from pipelines.cleanup.paths import parse_uri
from pipelines.cleanup.progress import CleanupProgress
from pipelines.cleanup.quarantined_files import STRAY, is_stray, resting_files
from pipelines.cleanup.request import CleanupPlace, CleanupPorts, decided_run
from pipelines.cleanup.settle_intents import settle_intents
from pipelines.cleanup.text import count_failures, left_lines, left_object, tally_object
from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED, EXIT_UNAVAILABLE, RefusedError, UsageError, WalsafeError
from pipelines.common.human import human_bytes
from pipelines.common.job_result import JobResult
from pipelines.lake.run_summary import DONE, FAILED, REFUSED, STOPPED

STRANGER = "no audit row says that walsafe moved it here: whoever put it here knows where it belongs"


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """Which files to restore; without paths, the whole run.

    Attributes:
        paths: as in wal_verdicts (below wal_root), or as in the list (full URIs).
    """

    run_id: str
    paths: Sequence[str] = ()


def restore(request: RestoreRequest, place: CleanupPlace, ports: CleanupPorts) -> JobResult:
    """Moves files of a cleaned run back below oldWALs; never overwrites an existing file.

    This needs no second look at the cluster, because moving a file back cannot lose data. It can be repeated after a
    crash.

    Returns:
        The answer, with exit code 0, or 4 if some files could not be moved.

    Raises:
        UsageError: the run has no files in quarantine, or the given files are not among them.
        RefusedError: the lake has no DONE row of the run.
        UnavailableError: the file system, the lake or the lease did not answer.
    """
    request = replace(request, paths=[_below_root(path, request, place) for path in request.paths])
    decided = decided_run(ports, place, request.run_id)
    ports.audit.ensure()
    tally, stopped = CleanupTally(), False
    with LeaseHolder(ports.store, place.quarantine, place.holder, place.lease_ms) as holder:
        directory = holder.take_run(request.run_id)
        if directory is None:
            raise UsageError(
                f"run {request.run_id} of {place.cluster} has no files in {place.quarantine.root}: the table "
                f"deletions says what became of its files. Quarantined runs: {', '.join(holder.runs()) or 'none'}"
            )
        attempt = CleanupAttempt(decided.run, CleanupAction.RESTORE, place.identity, holder.number)
        settled = settle_intents(
            attempt, directory, place, ports, holder
        )  # first, so that no later failure prevents it
        taken = ports.audit.taken(decided.run)
        absent = _absent(taken, ports.audit.actions(decided.run)) if request.paths else ()
        resting = resting_files(ports.store, directory)
        elsewhere = _elsewhere(taken, resting) if not request.paths else 0
        asked = _wanted(resting, request, place, holder, absent)
        wanted, results = _ours(asked, taken)
        ports.audit.started(attempt, len(asked), sum(one.length for one in asked))
        ending = AttemptEnd(FAILED, None, tally, UNEXPECTED)
        try:
            for part in batches(results, place.batch):
                ports.audit.record(attempt, 0, part)
                holder.check()
            tally = tally.plus(results)
            way = MoveRoute(directory, place.wal_root, FileOutcome.RESTORED, place.wal_root)
            progress = CleanupProgress("restored", len(asked), ports)
            for number, batch in enumerate(batches(wanted, place.batch), start=1):
                stopped = ports.stop()
                if stopped:
                    break
                holder.check()
                ports.audit.intend(attempt, number, batch)
                moved = move_files(ports.store, batch, way, holder)
                done = moved.results
                # after a lost lease a file may look gone, because the next holder renamed the directory; that holder
                # settles it
                holder.check()
                ports.audit.record(attempt, number, done)
                results += [one for one in done if one.outcome is not FileOutcome.RESTORED]
                tally = tally.plus(done)
                progress.more(tally)
                moved.check("putting back", "The same command")
            code = EXIT_UNAVAILABLE if count_failures(results) else EXIT_DONE
            ending = AttemptEnd(STOPPED if stopped else DONE, code, tally)
        except WalsafeError as error:
            status = REFUSED if error.exit_code == EXIT_REFUSED else FAILED
            ending = AttemptEnd(status, error.exit_code, tally, str(error))
            raise
        finally:
            ports.audit.ended(attempt, replace(ending, tally=tally))
    return JobResult(code, *_answer(place, request, ending, results, settled, len(asked), elsewhere))


def _below_root(path: str, request: RestoreRequest, place: CleanupPlace) -> str:
    """Returns a requested path relative to wal_root.

    Raises:
        UsageError: no file can have this path.
    """
    below = path.removeprefix(f"{place.wal_root}/")
    try:
        parse_uri(f"{place.wal_root}/{below}")
    except RefusedError as error:
        raise _not_there(path, request, place) from error
    return below


def _not_there(path: str, request: RestoreRequest, place: CleanupPlace) -> UsageError:
    return UsageError(
        f"{path!r} is not in the quarantine of run {request.run_id}, nor below {place.wal_root}; paths are written as "
        "in wal_verdicts (oldWALs/…) or as in the list"
    )


def _wanted(
    resting: Sequence[CleanupFile],
    request: RestoreRequest,
    place: CleanupPlace,
    holder: LeaseHolder,
    absent: Collection[str],
) -> list[CleanupFile]:
    """Returns the files to move back.

    Skips requested files that are already below oldWALs, so that a command can be repeated, and files of `absent`.
    """
    if not request.paths:
        return list(resting)
    by_path = {one.path: one for one in resting if not is_stray(one)}
    missing = [path for path in dict.fromkeys(request.paths) if path not in by_path]
    for path, found in zip(missing, holder.seen([f"{place.wal_root}/{path}" for path in missing]), strict=True):
        if found is None and path not in absent:
            raise _not_there(path, request, place)
    return [by_path[path] for path in dict.fromkeys(request.paths) if path in by_path]


def _absent(taken: Mapping[str, CleanupFile | None], actions: Collection[CleanupAction]) -> Collection[str]:
    """Returns the files that are not in the quarantine after an earlier restore, if no purge has touched the run.

    These are the files that it gave back, and those that clean began but did not move: the two cannot be told apart
    here, and neither is a reason to keep the other files from their restore.

    Args:
        taken: see `CleanupAudit.taken`, after all intents were settled.
        actions: the actions for which files of the run were touched.
    """
    if CleanupAction.RESTORE not in actions or CleanupAction.PURGE in actions:
        return ()
    return {path for path, moved in taken.items() if moved is None}


def _elsewhere(taken: Mapping[str, CleanupFile | None], resting: Sequence[CleanupFile]) -> int:
    """Returns how many files clean moved, of those that the quarantine does not have."""
    here = {one.path for one in resting}
    return sum(moved is not None and path not in here for path, moved in taken.items())


def _ours(
    asked: Sequence[CleanupFile], taken: Mapping[str, CleanupFile | None]
) -> tuple[list[CleanupFile], list[FileResult]]:
    """Separates the files that clean moved here from the files that somebody else put here, which are not restored.

    A file that is not below `oldWALs` is not restored, whatever the audit says. If clean intended to move a file and
    could not move it back, the file counts as moved by clean, whatever its length and time.

    Returns:
        The files to restore, and the results of the others.
    """
    wanted, left = [], []
    for one in asked:
        moved = taken.get(one.path)
        if is_stray(one):
            left.append(FileResult(one, FileOutcome.REFUSED, why=STRAY))
        elif one.path not in taken:
            left.append(FileResult(one, FileOutcome.REFUSED, why=STRANGER))
        elif moved is not None and (moved.length, moved.modification_time) != (one.length, one.modification_time):
            left.append(
                FileResult(
                    one,
                    FileOutcome.CHANGED,
                    why=f"it has {one.length} bytes, modified at {one.modification_time} ms, but walsafe moved one of "
                    f"{moved.length} bytes, modified at {moved.modification_time} ms: somebody replaced it; look at "
                    "it, and move it back by hand if it is the right one",
                )
            )
        else:
            wanted.append(one)
    return wanted, left


def _answer(
    place: CleanupPlace,
    request: RestoreRequest,
    ending: AttemptEnd,
    left: Sequence[FileResult],
    settled: int,
    asked: int,
    elsewhere: int,
) -> tuple[dict[str, object], str]:
    """Returns the JSON object and the text of the answer."""
    tally = ending.tally
    result: dict[str, object] = {
        "cluster": place.cluster,
        "run_id": request.run_id,
        "status": ending.status,
        "settled_files": settled,
        **tally_object(tally),
        "elsewhere_files": elsewhere,
        "left": [left_object(one) for one in left[:100]],
    }
    lines = [
        f"Restored {tally.done_files:,} files, {human_bytes(tally.done_bytes)}, below {place.wal_root}",
        *left_lines(left, tally.left_files),
    ]
    absent = len(set(request.paths)) - asked
    if absent > 0:
        lines.append(
            f"{absent:,} of the given files are not in the quarantine; the table deletions says what became of them."
        )
    if elsewhere:
        lines.append(
            f"{elsewhere:,} files that walsafe moved are not in {place.quarantine.at_rest(request.run_id)}; "
            "`place` in the table deletions says where it moved them."
        )
    if ending.status == STOPPED:
        lines.append("Stopped because a person asked for it; the same command goes on.")
    return result, "\n".join(lines)
