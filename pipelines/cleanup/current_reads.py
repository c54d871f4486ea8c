"""Reads the current state of the file system, or fails."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pipelines.cleanup.ports import FileState, WalStore
from pipelines.common.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class _Probe:
    """A probe file, and when it was made (ms, by the file system's clock)."""

    uri: str
    made_at: int


class CurrentReads:
    """Proves each read of one job current with a probe file that the job creates just before the read.

    A name node that is behind may answer a read: an observer, or a standby that allows stale reads. Such an answer
    lacks acknowledged renames and the leases of other jobs. Name nodes apply all changes in one order, so an answer
    that shows the new probe file shows everything that came before it.

    Args:
        store: the store of the files.
        folder: the folder in which the probe files are created and removed again.
        identity: a text that is unique for the job.
    """

    def __init__(self, store: WalStore, folder: str, identity: str) -> None:
        self._store = store
        self._folder = folder
        self._identity = identity
        self._looks = 0

    def seen(self, uris: Sequence[str]) -> list[FileState | None]:
        """Returns what the file system shows at these paths now; None = nothing.

        Raises:
            UnavailableError: the answers are stale.
        """
        return self.timed(uris)[0]

    def timed(self, uris: Sequence[str]) -> tuple[list[FileState | None], int]:
        """Returns what the file system shows at these paths now, and its time (ms); raises the errors of `seen`."""
        with self._probe() as probe:
            *found, last = self._store.seen([*uris, probe.uri])
            return found, self._shown(last, probe.uri).modification_time

    def names(self, directory: str) -> list[str]:
        """Returns the names of the elements of a directory now, sorted; raises the errors of `seen`."""
        return self.timed_names(directory)[0]

    def timed_names(self, directory: str) -> tuple[list[str], int]:
        """Returns the names of the elements of a directory now, sorted, and a time of the file system before it (ms).

        Raises the errors of `seen`.
        """
        with self._probe() as probe:
            names = self._store.names(directory)
            folder, _, own = probe.uri.rpartition("/")
            if directory == folder and own not in names:
                self._shown(None, probe.uri)
            return [name for name in names if directory != folder or name != own], probe.made_at

    @contextmanager
    def _probe(self) -> Iterator[_Probe]:
        self._looks += 1  # a new name for each read, because a stale answer may still show the last probe
        uri = f"{self._folder}/.now-{self._identity}-{self._looks}"
        self._store.replace(uri, "")
        try:
            # a client's reads never go back behind this read, and the read itself must show the probe again
            yield _Probe(uri, self._shown(self._store.seen([uri])[0], uri).modification_time)
        finally:
            self._store.delete([uri])

    def _shown(self, seen: FileState | None, probe: str) -> FileState:
        if seen is None:
            raise UnavailableError(
                f"the file system does not show {probe}, which this job had just made: its answers are stale, "
                "so nothing was concluded from them. Make sure that reads go to the active name node, not to an "
                "observer or to a standby with dfs.ha.allow.stale.reads; then try again (clean: with --resume)"
            )
        return seen
