"""Reads of the file system that are current, or fail."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pipelines.cleanup.ports import FileState, WalStore
from pipelines.common.errors import UnavailableError


class CurrentReads:
    """Reads of one job, each proven current by a probe file that the job creates just before.

    A name node that is behind may answer a read: an observer, or a standby that allows stale reads. Such an answer
    lacks acknowledged renames and the leases of other jobs. Name nodes apply all changes in one order, so an answer
    that shows the new probe file shows everything that came before it.

    Args:
        store: of the files.
        folder: where the probe files are created and removed again.
        identity: unique for the job.
    """

    def __init__(self, store: WalStore, folder: str, identity: str) -> None:
        self._store = store
        self._folder = folder
        self._identity = identity
        self._looks = 0

    def seen(self, uris: Sequence[str]) -> list[FileState | None]:
        """Returns what is at these paths now; None = nothing.

        Raises:
            UnavailableError: the answers are stale.
        """
        return self.timed(uris)[0]

    def timed(self, uris: Sequence[str]) -> tuple[list[FileState | None], int]:
        """Returns what is at these paths now, and the file system's time, ms; raises as `seen`."""
        with self._probe() as probe:
            *found, last = self._store.seen([*uris, probe])
            return found, self._shown(last, probe).modification_time

    def names(self, directory: str) -> list[str]:
        """Returns the names of the elements of a directory now, sorted; raises as `seen`."""
        with self._probe() as probe:
            names = self._store.names(directory)
            folder, _, own = probe.rpartition("/")
            if directory == folder and own not in names:
                self._shown(None, probe)
            return [name for name in names if directory != folder or name != own]

    @contextmanager
    def _probe(self) -> Iterator[str]:
        self._looks += 1  # a new name for each read, because a stale answer may still show the last probe
        uri = f"{self._folder}/.now-{self._identity}-{self._looks}"
        self._store.replace(uri, "")
        try:
            # reads of one client never go back behind this one, and the read itself has to show the probe again
            self._shown(self._store.seen([uri])[0], uri)
            yield uri
        finally:
            self._store.delete([uri])

    def _shown(self, seen: FileState | None, probe: str) -> FileState:
        if seen is None:
            raise UnavailableError(
                f"the file system does not show {probe}, which this job had just made: its answers are of an earlier "
                "time, so nothing was concluded from them. See that reads go to the active name node, not to an "
                "observer or to a standby with dfs.ha.allow.stale.reads; then try again (clean: with --resume)"
            )
        return seen
