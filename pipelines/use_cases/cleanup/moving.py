"""Batches of files moved from one place to another, each looked at before and after."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from pipelines.domain.cleanup.deletions import FileOutcome, Result, Subject
from pipelines.ports_cleanup import Move, Seen, WalStore

TAKEN = "a file of that name is there already"


def same(subject: Subject, seen: Seen | None) -> bool:
    """Whether what is seen is that very file: length and time of modification, which a rename keeps."""
    return seen is not None and (seen.is_file, seen.length, seen.modification_time) == (
        True, subject.length, subject.modification_time
    )  # fmt: skip


def parents(uris: Iterable[str]) -> list[str]:
    """The directories of some files, each once."""
    return sorted({uri.rpartition("/")[0] for uri in uris})


def move(
    store: WalStore,
    subjects: Sequence[Subject],
    origin: str,
    target: str,
    done: FileOutcome,
    place: str,
    check: Callable[[], None],
) -> list[Result]:
    """Move files by rename, keeping their paths; nothing is overwritten.

    A file that is not the one that was decided on stays; one that changed in the moment of the rename goes back.

    Args:
        store: of both places.
        subjects: the files.
        origin: directory that their paths lie below.
        target: directory that they shall lie below; it exists.
        done: what a file that was moved counts as.
        place: directory below which the audit says that they rest.
        check: raises where another job holds the lease.
    """
    results: dict[str, Result] = {}
    ready: list[Subject] = []
    seen = store.seen([f"{origin}/{one.path}" for one in subjects])
    there = store.seen([f"{target}/{one.path}" for one in subjects])
    for subject, source, taken in zip(subjects, seen, there, strict=True):
        if source is None:
            results[subject.path] = Result(subject, FileOutcome.ALREADY_GONE)
        elif not same(subject, source):
            results[subject.path] = Result(subject, FileOutcome.CHANGED, why=_changed(source))
        elif taken is not None:
            results[subject.path] = Result(subject, FileOutcome.REFUSED, why=TAKEN)
        else:
            ready.append(subject)
    if ready:
        below = parents(f"{target}/{one.path}" for one in ready)
        missing = [one for one, found in zip(below, store.seen(below), strict=True) if found is None]
        if missing:
            store.make_directories(missing)
            # They may have been missing because the next holder renamed the run's directory: then this made it anew,
            # and the renames would find it. A holder that comes after the check renames what was made here.
            check()
        errors = store.move([Move(f"{origin}/{one.path}", f"{target}/{one.path}") for one in ready])
        after = store.seen([f"{target}/{one.path}" for one in ready])
        for subject, error, found in zip(ready, errors, after, strict=True):
            results[subject.path] = _moved(store, subject, error, found, (origin, target), done, place)
    return [results[one.path] for one in subjects]


def _moved(
    store: WalStore,
    subject: Subject,
    error: str | None,
    found: Seen | None,
    ends: tuple[str, str],
    done: FileOutcome,
    place: str,
) -> Result:
    origin, target = (f"{end}/{subject.path}" for end in ends)
    if same(subject, found):  # also where the answer to the rename was lost on its way
        return Result(subject, done, f"{place}/{subject.path}")
    if error is None and done is FileOutcome.RESTORED:
        # nobody else writes to the quarantine: what was renamed is what was seen, and what is there now came after it
        return Result(subject, done, f"{place}/{subject.path}")
    if error is None and found is not None:
        # another file took that name between the look and the rename
        (back,) = store.move([Move(target, origin)])
        if back is None:
            return Result(subject, FileOutcome.CHANGED, why=_changed(found))
        return Result(subject, FileOutcome.FAILED, f"{place}/{subject.path}", why="moved, and not back", error=back)
    if store.seen([origin])[0] is None:
        return Result(subject, FileOutcome.ALREADY_GONE)
    return Result(subject, FileOutcome.FAILED, why="it was not moved", error=error)


def _changed(seen: Seen) -> str:
    if not seen.is_file:
        return "it is no file any more"
    return f"it changed since the second look: {seen.length} bytes, modified at {seen.modification_time} ms"


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
