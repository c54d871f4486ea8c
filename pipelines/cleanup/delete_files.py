"""Archives and deletes batches of quarantined files, and checks each file before and after."""

from collections.abc import Sequence

from pipelines.cleanup.deletions import CleanupFile, FileOutcome, FileResult
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.move_files import BatchResult, is_same_file
from pipelines.cleanup.ports import FileState
from pipelines.cleanup.request import CleanupPlace, CleanupPorts
from pipelines.cleanup.stores.store_failures import parse_failure


def delete_files(
    subjects: Sequence[CleanupFile],
    run_id: str,
    directory: str,
    place: CleanupPlace,
    ports: CleanupPorts,
    holder: LeaseHolder,
) -> BatchResult:
    """Deletes files of a run, each only if it is the file that was decided on and, if configured, has been archived.

    Args:
        subjects: the files.
        run_id: the run of the files.
        directory: the run's directory, with the name that the lease holder gave it.
        place: the cluster, its directories and limits.
        ports: the ports.
        holder: the lease holder, which reads the file system.

    Raises:
        UnavailableError: the file system failed or the lease was lost; files deleted until then have no outcome.
    """
    batch = BatchResult()
    ready = _unchanged(subjects, directory, holder, batch)
    places: dict[str, str] = {}
    if ports.archive is not None:
        kept = ports.archive.keep(_uris(ready, directory), [archive_name(one, run_id, place) for one in ready])
        for subject, (kept_at, problem) in zip(ready, kept, strict=True):
            if problem is None:
                places[subject.path] = kept_at
            else:
                failed = FileResult(subject, FileOutcome.FAILED, why="it was not archived, so it stays", error=problem)
                batch.results.append(failed)
        # copying takes minutes; a file that changed meanwhile is not the file that was archived
        ready = _unchanged([subject for subject in ready if subject.path in places], directory, holder, batch)
    if not ready:
        return batch
    errors = ports.store.delete(_uris(ready, directory))
    after = holder.seen(_uris(ready, directory))
    for subject, error, seen in zip(ready, errors, after, strict=True):
        result = _deleted(subject, error, seen, places.get(subject.path))
        if result is None:
            batch.open.append(subject)
        else:
            batch.results.append(result)
    return batch


def archive_name(subject: CleanupFile, run_id: str, place: CleanupPlace) -> str:
    """Returns the name of a file in the archive, without the archive's folder."""
    return f"{place.cluster}/{run_id}/{subject.path}"


def _unchanged(
    subjects: Sequence[CleanupFile], directory: str, holder: LeaseHolder, batch: BatchResult
) -> list[CleanupFile]:
    """Returns the files that are still the ones that were decided on; adds a result for each of the others."""
    ready: list[CleanupFile] = []
    for subject, seen in zip(subjects, holder.seen(_uris(subjects, directory)), strict=True):
        if seen is None:
            batch.results.append(FileResult(subject, FileOutcome.ALREADY_GONE, why="it is not in the quarantine"))
        elif not is_same_file(subject, seen):
            batch.results.append(FileResult(subject, FileOutcome.CHANGED, why="it is not the file that was looked at"))
        else:
            ready.append(subject)
    return ready


def _deleted(subject: CleanupFile, error: str | None, seen: FileState | None, kept_at: str | None) -> FileResult | None:
    """Returns the outcome of a deletion, judged by what its path shows afterwards; None = unknown."""
    refused = error is not None and not parse_failure(error).perhaps_done
    if seen is None and not refused:
        return FileResult(subject, FileOutcome.ARCHIVED if kept_at else FileOutcome.PURGED, kept_at)
    if seen is None:
        return FileResult(subject, FileOutcome.ALREADY_GONE, why="it is not in the quarantine any more", error=error)
    return FileResult(subject, FileOutcome.FAILED, why="it was not deleted", error=error) if refused else None


def _uris(subjects: Sequence[CleanupFile], directory: str) -> list[str]:
    return [f"{directory}/{one.path}" for one in subjects]
