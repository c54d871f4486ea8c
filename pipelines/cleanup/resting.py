"""Files that rest in the quarantine."""

from pipelines.cleanup.deletions import Subject
from pipelines.cleanup.ports import WalStore
from pipelines.cleanup.request import ARCHIVED_WALS


def resting_files(store: WalStore, directory: str) -> list[Subject]:
    """The files of a quarantined run, sorted by path; what is not below `oldWALs` in it is not ours.

    Args:
        store: of the quarantine.
        directory: of the run, as it is named now.
    """
    found = [
        Subject(f"{ARCHIVED_WALS}/{path}", length, modified)
        for batch in store.walk(f"{directory}/{ARCHIVED_WALS}")
        for path, length, modified in zip(batch.paths, batch.lengths, batch.modification_times, strict=True)
    ]
    return sorted(found, key=lambda one: one.path)
