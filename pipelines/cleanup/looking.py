"""Looks at the file system that show it as it is now, or fail."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pipelines.cleanup.ports import Seen, WalStore
from pipelines.common.errors import UnavailableError


class FreshLooks:
    """Looks of one job, each held to a file that the job has made just before it.

    A read may be answered by a name node that is behind: an observer, or a standby that allows stale reads. Renames
    that were acknowledged are missing in such an answer, and so are the leases of other jobs. Name nodes apply all
    changes in one order, so an answer that shows the new file shows everything that came before it.

    Args:
        store: of the files.
        folder: where these files are made, and removed again.
        identity: unique for the job.
    """

    def __init__(self, store: WalStore, folder: str, identity: str) -> None:
        self._store = store
        self._folder = folder
        self._identity = identity
        self._looks = 0

    def seen(self, uris: Sequence[str]) -> list[Seen | None]:
        """What is at these paths now; None = nothing.

        Raises:
            UnavailableError: the answers are of an earlier time.
        """
        return self.timed(uris)[0]

    def timed(self, uris: Sequence[str]) -> tuple[list[Seen | None], int]:
        """What is at these paths now, and the time by the file system's clock, ms; raises as `seen`."""
        with self._probe() as probe:
            *found, last = self._store.seen([*uris, probe])
            return found, self._shown(last, probe).modification_time

    def names(self, directory: str) -> list[str]:
        """Names of the elements of a directory now, sorted; raises as `seen`."""
        with self._probe() as probe:
            names = self._store.names(directory)
            folder, _, own = probe.rpartition("/")
            if directory == folder and own not in names:
                self._shown(None, probe)
            return [name for name in names if directory != folder or name != own]

    @contextmanager
    def _probe(self) -> Iterator[str]:
        self._looks += 1  # a name of its own for each look: an old answer may still show the last one
        uri = f"{self._folder}/.now-{self._identity}-{self._looks}"
        self._store.replace(uri, "")
        try:
            # the reads of one client never go back behind this one, and the look itself has to show it again
            self._shown(self._store.seen([uri])[0], uri)
            yield uri
        finally:
            self._store.delete([uri])

    def _shown(self, seen: Seen | None, probe: str) -> Seen:
        if seen is None:
            raise UnavailableError(
                f"the file system does not show {probe}, which this job had just made: its answers are of an earlier "
                "time, so nothing was concluded from them. See that reads go to the active name node, not to an "
                "observer or to a standby with dfs.ha.allow.stale.reads; then try again (clean: with --resume)"
            )
        return seen
