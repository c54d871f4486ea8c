"""Reads a saved listing that also shows which servers have a directory below `WALs/`."""

from collections.abc import Iterator

from pipelines.capture.ports import FileSource
from pipelines.capture.sources.wal_tree import LIVE_DIRECTORIES
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.server_names import ServerName, server_of_directory
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
        self._entries: dict[ServerName, tuple[int, int]] = {}

    def stamp(self, step: str) -> StepStamp | None:
        """Returns the stamp of the listing."""
        return self._listing.stamp(step)

    def files(self) -> Iterator[FileBatch]:
        """See `FileSource.files`."""
        self._entries.clear()
        for batch in self._listing.files():
            for path, time in zip(batch.paths, batch.modification_times, strict=True):
                # a file directly below WALs/ belongs to no server
                if path.startswith(_WALS) and (server := server_of_directory(path.split("/", 2)[1])):
                    entries, newest = self._entries.get(server, (0, 0))
                    self._entries[server] = (entries + 1, max(newest, time))
            yield batch

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        """See `WalDirectorySource.wal_directories`. The result is complete only after `files` has ended.

        A directory gets the time of its newest file.
        """
        return tuple(WalDirectory(server, *seen) for server, seen in sorted(self._entries.items()))
