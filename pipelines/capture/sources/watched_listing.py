"""Reads a saved listing that also shows which servers have a directory below `WALs/`."""

from collections.abc import Iterator
from contextlib import suppress

from pipelines.capture.ports import FileSource
from pipelines.capture.sources.wal_tree import LIVE_DIRECTORIES
from pipelines.common.errors import MalformedError
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.server_names import SPLITTING, ServerName
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import WalDirectory

_WALS = f"{LIVE_DIRECTORIES[0]}/"


class WatchedListing:
    """Reads one listing as `FileSource` and `WalDirectorySource`.

    Args:
        listing: the listing, which is read once; it does not contain directories without a file.
    """

    def __init__(self, listing: FileSource) -> None:
        self._listing = listing
        self._entries: dict[str, tuple[int, int]] = {}

    def stamp(self, step: str) -> StepStamp | None:
        """Returns the stamp of the listing."""
        return self._listing.stamp(step)

    def files(self) -> Iterator[FileBatch]:
        """See `FileSource.files`."""
        self._entries.clear()
        for batch in self._listing.files():
            for path, time in zip(batch.paths, batch.modification_times, strict=True):
                if path.startswith(_WALS):
                    directory = path.split("/", 2)[1].removesuffix(SPLITTING)
                    entries, newest = self._entries.get(directory, (0, 0))
                    self._entries[directory] = (entries + 1, max(newest, time))
            yield batch

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        """See `WalDirectorySource.wal_directories`. The result is complete only after `files` has ended.

        A directory gets the time of its newest file.
        """
        found = []
        for directory, (entries, newest) in self._entries.items():
            with suppress(MalformedError):  # not a server's directory: a file directly below WALs/
                found.append(WalDirectory(ServerName.parse(directory), entries, newest))
        return tuple(sorted(found, key=lambda one: one.server))
