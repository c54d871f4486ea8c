"""Moves batches of files from one directory to another, and checks each file before and after."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pipelines.cleanup.deletions import CleanupFile, FileOutcome, FileResult
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.ports import FileState, Move, WalStore
from pipelines.cleanup.stores.store_failures import parse_failure
from pipelines.common.errors import UnavailableError

_T = TypeVar("_T")
TAKEN = "a file of that name is there already"
UNLISTED = "the second look did not list it, but it is there"
RESTS = "a file of its name rests in the quarantine; restore with this path puts that file back"


@dataclass(frozen=True, slots=True)
class MoveRoute:
    """The origin and target of a move.

    Attributes:
        origin: the directory below which the files are.
        target: the directory below which to move them; it exists.
        done: the outcome of a file that was moved.
        place: the directory that the audit records as the new place of the files.
    """

    origin: str
    target: str
    done: FileOutcome
    place: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The results of a batch.

    Attributes:
        results: the results of the files whose outcome is known.
        open: the other files. The file system acknowledged the work on them, or may have done it, but does not show it.
            Their intents get no outcome; the next job on the run looks them up.
    """

    results: list[FileResult] = field(default_factory=list)
    open: list[CleanupFile] = field(default_factory=list)

    def check(self, work: str, way_out: str) -> None:
        """Stops if the outcome of a file is unknown.

        Args:
            work: what was to be done to the files, as the beginning of the message.
            way_out: the job or option that looks up the files.

        Raises:
            UnavailableError: the outcome of a file is unknown.
        """
        if self.open:
            raise UnavailableError(
                f"{work} {len(self.open):,} files was acknowledged, or its answer was lost, and the file system does "
                f"not show it, first {self.open[0].path}: whether it was done is not known, and no outcome was written "
                f"for them. {way_out} looks them up before anything else"
            )


def is_same_file(subject: CleanupFile, seen: FileState | None) -> bool:
    """Returns whether a path shows exactly this file, by length and modification time, which a rename keeps."""
    return seen is not None and (seen.is_file, seen.length, seen.modification_time) == (
        True, subject.length, subject.modification_time
    )  # fmt: skip


def parent_directories(uris: Iterable[str]) -> list[str]:
    """Returns the parent directories of some files, each once."""
    return sorted({uri.rpartition("/")[0] for uri in uris})


def move_files(store: WalStore, subjects: Sequence[CleanupFile], way: MoveRoute, holder: LeaseHolder) -> BatchResult:
    """Moves files by rename and keeps their relative paths; overwrites nothing.

    A file that is not the one that was decided on is not moved. If a file turns out to be another one after its rename
    into the quarantine, it is moved back.

    Args:
        store: the store of both directories.
        subjects: the files.
        way: the origin and target.
        holder: the lease holder; it reads the file system, and raises an error if another job has taken over.

    Raises:
        UnavailableError: the file system failed or the lease was lost; files renamed until then have no outcome.
    """
    batch = BatchResult()
    ready: list[CleanupFile] = []
    for subject, source, taken in _ends(subjects, way, holder):
        if source is None:
            batch.results.append(FileResult(subject, FileOutcome.ALREADY_GONE, why=f"it is not below {way.origin}"))
        elif not is_same_file(subject, source):
            batch.results.append(FileResult(subject, FileOutcome.CHANGED, why=_changed(source)))
        elif taken is not None:
            batch.results.append(FileResult(subject, FileOutcome.REFUSED, why=TAKEN))
        else:
            ready.append(subject)
    if not ready:
        return batch
    below = parent_directories(f"{way.target}/{one.path}" for one in ready)
    missing = [one for one, found in zip(below, holder.seen(below), strict=True) if found is None]
    if missing:
        store.make_directories(missing)
        # The directories may be missing because the next holder renamed the run's directory. Then this call created
        # them anew, and the renames would succeed. The check below finds a holder that came before it; a holder that
        # comes later renames what was created here.
        holder.check()
    errors = store.move([Move(f"{way.origin}/{one.path}", f"{way.target}/{one.path}") for one in ready])
    strangers: list[CleanupFile] = []
    for (subject, source, found), error in zip(_ends_after(ready, way, holder), errors, strict=True):
        if error is None and found is not None and not is_same_file(subject, found) and way.done is FileOutcome.MOVED:
            strangers.append(subject)
            continue
        result = _moved(subject, error, source, found, way)
        if result is None:
            batch.open.append(subject)
        else:
            batch.results.append(result)
    _take_back(store, strangers, way, holder, batch)
    return batch


def look_again(
    results: Sequence[FileResult], way: MoveRoute, holder: LeaseHolder, *, resumed: bool
) -> list[FileResult]:
    """Returns the outcomes of files that are not to be moved, after looking for those that may be elsewhere.

    A gone file that the file system shows becomes REFUSED. A file becomes FAILED if the target has a file of its name:
    an earlier attempt moved another file in its place, and somebody may need that file.

    Args:
        results: the outcomes, as the second look has them.
        way: the origin and target.
        holder: the lease holder, which reads the file system.
        resumed: whether there may be an earlier attempt; without one, nothing is looked up at the target.
    """
    homes = [f"{way.origin}/{one.subject.path}" for one in results if one.outcome is FileOutcome.ALREADY_GONE]
    uris = homes + [f"{way.target}/{one.subject.path}" for one in results if resumed]
    seen = dict(zip(uris, holder.seen(uris), strict=True)) if uris else {}
    return [
        _left(one, seen.get(f"{way.origin}/{one.subject.path}"), seen.get(f"{way.target}/{one.subject.path}"), way)
        for one in results
    ]


def _left(result: FileResult, source: FileState | None, found: FileState | None, way: MoveRoute) -> FileResult:
    if found is not None:
        return replace(result, outcome=FileOutcome.FAILED, place=f"{way.place}/{result.subject.path}", why=RESTS)
    if is_same_file(result.subject, source):
        return replace(result, outcome=FileOutcome.REFUSED, why=UNLISTED)
    return result


def _ends(
    subjects: Sequence[CleanupFile], way: MoveRoute, holder: LeaseHolder
) -> Iterator[tuple[CleanupFile, FileState | None, FileState | None]]:
    """Yields each file with the states of its path below the origin and below the target."""
    uris = [f"{end}/{one.path}" for one in subjects for end in (way.origin, way.target)]
    seen = holder.seen(uris)
    return zip(subjects, seen[::2], seen[1::2], strict=True)


def _ends_after(
    subjects: Sequence[CleanupFile], way: MoveRoute, holder: LeaseHolder
) -> Iterator[tuple[CleanupFile, FileState | None, FileState | None]]:
    """Yields the same as `_ends`, but looks below the origin only for files that the target does not show."""
    found = holder.seen([f"{way.target}/{one.path}" for one in subjects])
    unsure = [one.path for one, seen in zip(subjects, found, strict=True) if not is_same_file(one, seen)]
    looks = holder.seen([f"{way.origin}/{path}" for path in unsure]) if unsure else []
    sources = dict(zip(unsure, looks, strict=True))
    for subject, seen in zip(subjects, found, strict=True):
        yield subject, sources.get(subject.path), seen


def _moved(
    subject: CleanupFile, error: str | None, source: FileState | None, found: FileState | None, way: MoveRoute
) -> FileResult | None:
    """Returns the outcome of a rename, judged by what both paths show afterwards; None = unknown."""
    if is_same_file(subject, found):  # also if the answer to the rename was lost
        return FileResult(subject, way.done, f"{way.place}/{subject.path}")
    if error is None:
        # a restored file that has left the quarantine was below oldWALs: HBase may have taken or replaced it since
        left = way.done is FileOutcome.RESTORED and source is None
        return FileResult(subject, way.done, f"{way.place}/{subject.path}") if left else None
    if parse_failure(error).perhaps_done:
        return None
    if source is None:
        return FileResult(subject, FileOutcome.ALREADY_GONE, why=f"it is not below {way.origin}", error=error)
    return FileResult(subject, FileOutcome.FAILED, why="it was not moved", error=error)


def _take_back(
    store: WalStore, subjects: Sequence[CleanupFile], way: MoveRoute, holder: LeaseHolder, batch: BatchResult
) -> None:
    """Moves back files that were renamed by mistake: another file took the name between the check and the rename."""
    if not subjects:
        return
    errors = store.move([Move(f"{way.target}/{one.path}", f"{way.origin}/{one.path}") for one in subjects])
    for (subject, source, found), error in zip(_ends(subjects, way, holder), errors, strict=True):
        if source is not None and found is None:
            batch.results.append(FileResult(subject, FileOutcome.CHANGED, why=_changed(source)))
        elif found is not None and error is not None and not parse_failure(error).perhaps_done:
            place = f"{way.place}/{subject.path}"
            why = "another file took its name, was moved in its place, and could not be moved back"
            batch.results.append(FileResult(subject, FileOutcome.FAILED, place, why=why, error=error))
        else:
            batch.open.append(subject)


def _changed(seen: FileState) -> str:
    if not seen.is_file:
        return "it is not a file any more"
    return f"it is not the file that was decided on: {seen.length} bytes, modified at {seen.modification_time} ms"


def batches(subjects: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Divides the subjects into lists of at most `size`."""
    batch: list[_T] = []
    for subject in subjects:
        batch.append(subject)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
