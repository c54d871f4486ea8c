"""Lists the files of a quarantined run."""

from pipelines.cleanup.deletions import CleanupFile
from pipelines.cleanup.ports import WalStore
from pipelines.hbase.wal_root import OLD_WALS

STRAY = "it is not below oldWALs, so clean did not put it here; move it out of the quarantine"


def resting_files(store: WalStore, directory: str) -> list[CleanupFile]:
    """Returns the files of a quarantined run, sorted by path, also those that are not below its `oldWALs`.

    Args:
        store: the store of the quarantine.
        directory: the run's directory, with its current name.
    """
    found = [
        CleanupFile(path, length, modified)
        for batch in store.walk(directory)
        for path, length, modified in zip(batch.paths, batch.lengths, batch.modification_times, strict=True)
    ]
    return sorted(found, key=lambda one: one.path)


def is_stray(file: CleanupFile) -> bool:
    """Tells whether a file of a quarantined run is not below its `oldWALs`; no job moves or deletes such a file."""
    return not file.path.startswith(f"{OLD_WALS}/")
