"""Saved listings: the minutes that they print, and the servers that have a directory below `WALs/`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from pipelines.capture.ports import FileSource
from pipelines.common.errors import MalformedError
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.server_names import ServerName, server_of_directory
from pipelines.hbase.wal_root import WALS
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import WalDirectory

_BELOW_WALS = f"{WALS}/"
_LAST_MS_OF_MINUTE = 59_999


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
                if path.startswith(_BELOW_WALS) and (server := server_of_directory(path.split("/", 2)[1])):
                    entries, newest = self._entries.get(server, (0, 0))
                    self._entries[server] = (entries + 1, max(newest, time))
            yield batch

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        """See `WalDirectorySource.wal_directories`. The result is complete only after `files` has ended.

        A directory gets the time of its newest file.
        """
        return tuple(WalDirectory(server, *seen) for server, seen in sorted(self._entries.items()))


@lru_cache(maxsize=100_000)
def end_of_minute(text: str, zone: ZoneInfo, listed_at: int) -> int:
    """Returns the last millisecond of a minute like `2026-11-21 02:00`: a file never counts as older than it is.

    If the listing ended in that minute, its end counts: a later time would say that the clocks differ. When the clocks
    are set back, the minute occurs twice; the later one counts.

    Args:
        text: the time as `hdfs dfs -ls` and `hdfs oiv -p Delimited` print it.
        zone: the time zone of the process that printed it.
        listed_at: the end of the listing, ms since the epoch.

    Returns:
        Ms since the epoch, UTC.

    Raises:
        MalformedError: the text has another form.
    """
    try:
        local = datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=zone)
        moments = [local.replace(fold=fold).astimezone(UTC).timestamp() for fold in (0, 1)]
    except (ValueError, OverflowError):
        raise MalformedError(f"not a time like 2026-11-21 02:00: {text!r}") from None
    begun = int(max(moments)) * 1000
    end = begun + _LAST_MS_OF_MINUTE
    return min(end, listed_at) if begun <= listed_at else end
