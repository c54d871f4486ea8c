"""Batches of files moved from one place to another, each looked at before and after."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pipelines.cleanup.deletions import FileOutcome, Result, Subject
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.ports import Move, Seen, WalStore
from pipelines.cleanup.stores.store_failures import parse_failure
from pipelines.common.errors import UnavailableError

TAKEN = "a file of that name is there already"


@dataclass(frozen=True, slots=True)
class Way:
    """From where to where.

    Attributes:
        origin: directory that the paths of the files lie below.
        target: directory that they shall lie below; it exists.
        done: what a file that was moved counts as.
        place: directory below which the audit says that they rest.
    """

    origin: str
    target: str
    done: FileOutcome
    place: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of the files of a batch.

    Attributes:
        results: of those whose outcome is known.
        open: the others: the file system acknowledged the work on them, or may have done it, and does not show it.
            Their intents get no outcome; the next job of the run looks them up.
    """

    results: list[Result] = field(default_factory=list)
    open: list[Subject] = field(default_factory=list)

    def check(self, work: str, way_out: str) -> None:
        """Stop where a file's outcome is not known.

        Args:
            work: what was to be done to the files.
            way_out: what looks them up.

        Raises:
            UnavailableError: there is such a file.
        """
        if self.open:
            raise UnavailableError(
                f"{work} {len(self.open):,} files was acknowledged, or its answer was lost, and the file system does "
                f"not show it, first {self.open[0].path}: whether it was done is not known, and no outcome was written "
                f"for them. {way_out} looks them up before anything else"
            )


def same(subject: Subject, seen: Seen | None) -> bool:
    """Whether what is seen is that very file: length and time of modification, which a rename keeps."""
    return seen is not None and (seen.is_file, seen.length, seen.modification_time) == (
        True, subject.length, subject.modification_time
    )  # fmt: skip


def parents(uris: Iterable[str]) -> list[str]:
    """The directories of some files, each once."""
    return sorted({uri.rpartition("/")[0] for uri in uris})


def move(store: WalStore, subjects: Sequence[Subject], way: Way, holder: LeaseHolder) -> Batch:
    """Move files by rename, keeping their paths; nothing is overwritten.

    A file that is not the one that was decided on stays; one that changed in the moment of the rename goes back.

    Args:
        store: of both places.
        subjects: the files.
        way: from where to where.
        holder: of the lease; it looks, and raises where another job has taken over.

    Raises:
        UnavailableError: the file system, or the lease; what was renamed until then has no outcome.
    """
    batch = Batch()
    ready: list[Subject] = []
    for subject, source, taken in _ends(subjects, way, holder):
        if source is None:
            batch.results.append(Result(subject, FileOutcome.ALREADY_GONE, why=f"it is not below {way.origin}"))
        elif not same(subject, source):
            batch.results.append(Result(subject, FileOutcome.CHANGED, why=_changed(source)))
        elif taken is not None:
            batch.results.append(Result(subject, FileOutcome.REFUSED, why=TAKEN))
        else:
            ready.append(subject)
    if not ready:
        return batch
    below = parents(f"{way.target}/{one.path}" for one in ready)
    missing = [one for one, found in zip(below, holder.seen(below), strict=True) if found is None]
    if missing:
        store.make_directories(missing)
        # They may have been missing because the next holder renamed the run's directory: then this made it anew,
        # and the renames would find it. A holder that comes after the check renames what was made here.
        holder.check()
    errors = store.move([Move(f"{way.origin}/{one.path}", f"{way.target}/{one.path}") for one in ready])
    strangers: list[Subject] = []
    for (subject, source, found), error in zip(_ends(ready, way, holder), errors, strict=True):
        if error is None and found is not None and not same(subject, found) and way.done is FileOutcome.MOVED:
            strangers.append(subject)
            continue
        result = _moved(subject, error, source, found, way)
        if result is None:
            batch.open.append(subject)
        else:
            batch.results.append(result)
    _take_back(store, strangers, way, holder, batch)
    return batch


def _ends(
    subjects: Sequence[Subject], way: Way, holder: LeaseHolder
) -> Iterator[tuple[Subject, Seen | None, Seen | None]]:
    """Each file with what is at its path below the origin and below the target."""
    uris = [f"{end}/{one.path}" for one in subjects for end in (way.origin, way.target)]
    seen = holder.seen(uris)
    return zip(subjects, seen[::2], seen[1::2], strict=True)


def _moved(subject: Subject, error: str | None, source: Seen | None, found: Seen | None, way: Way) -> Result | None:
    """The outcome of a rename, from what both places show after it; None = not known."""
    if same(subject, found):  # also where the answer to the rename was lost on its way
        return Result(subject, way.done, f"{way.place}/{subject.path}")
    if error is None:
        # nobody else writes to the quarantine: what was renamed is what was seen, and what is there now came after it
        return None if found is None else Result(subject, way.done, f"{way.place}/{subject.path}")
    if parse_failure(error).perhaps_done:
        return None
    if source is None:
        return Result(subject, FileOutcome.ALREADY_GONE, why=f"it is not below {way.origin}", error=error)
    return Result(subject, FileOutcome.FAILED, why="it was not moved", error=error)


def _take_back(store: WalStore, subjects: Sequence[Subject], way: Way, holder: LeaseHolder, batch: Batch) -> None:
    """Move back what was moved in the place of these files: each name was taken between the look and the rename."""
    if not subjects:
        return
    errors = store.move([Move(f"{way.target}/{one.path}", f"{way.origin}/{one.path}") for one in subjects])
    for (subject, source, found), error in zip(_ends(subjects, way, holder), errors, strict=True):
        if source is not None and found is None:
            batch.results.append(Result(subject, FileOutcome.CHANGED, why=_changed(source)))
        elif found is not None and error is not None and not parse_failure(error).perhaps_done:
            place = f"{way.place}/{subject.path}"
            why = "another file took its name, was moved in its place, and could not be moved back"
            batch.results.append(Result(subject, FileOutcome.FAILED, place, why=why, error=error))
        else:
            batch.open.append(subject)


def _changed(seen: Seen) -> str:
    if not seen.is_file:
        return "it is no file any more"
    return f"it is another file than was meant: {seen.length} bytes, modified at {seen.modification_time} ms"


def batches(subjects: Iterable[Subject], size: int) -> Iterator[list[Subject]]:
    """Lists of at most so many."""
    batch: list[Subject] = []
    for subject in subjects:
        batch.append(subject)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
