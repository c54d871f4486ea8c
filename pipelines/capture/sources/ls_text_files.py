"""Parses the saved text of `hdfs dfs -ls -R <wal_root>/WALs <wal_root>/remoteWALs <wal_root>/oldWALs`."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias
from zoneinfo import ZoneInfo

from pipelines.capture.sources.saved_listings import end_of_minute
from pipelines.capture.sources.wal_tree import LIVE_DIRECTORIES, live_key
from pipelines.common.errors import MalformedError, UsageError
from pipelines.common.progress import Progress
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.server_names import ServerName, parse_java_long, server_of_directory
from pipelines.hbase.wal_root import OLD_WALS, REMOTE_WALS, WALS
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import WalDirectory

logger = logging.getLogger(__name__)

NumberedLines: TypeAlias = Callable[[], Iterator[tuple[int, str]]]

_BATCH = 10_000
# owner and group may contain blanks; the path is everything after the one blank
_LINE = re.compile(
    r"([-dl])[-rwxsStT]{9}[+.]? +(?:-|[0-9]+) .+? ([0-9]+) ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}) (.*)",
    re.DOTALL,
)


@dataclass(slots=True)
class LsLine:
    """One parsed line; `path` is relative to the WAL root, `modification_time` in ms since the epoch, UTC."""

    path: str
    is_directory: bool
    length: int
    modification_time: int


class LsText:
    """Parses the text of one listing.

    Args:
        wal_root: a full URI; the text may have full URIs or bare paths.
        zone: the time zone in which the text was printed.
        name: the name of the text, for messages.
        finished_at: the end of the listing, ms since the epoch.
    """

    def __init__(self, wal_root: str, zone: ZoneInfo, name: str, finished_at: int) -> None:
        self._root = wal_root
        self._bare = re.sub(r"^[^:/]+://[^/]*", "", wal_root)
        self._zone = zone
        self._name = name
        self._finished_at = finished_at

    def listed(self, lines: Iterable[tuple[int, str]]) -> Iterator[LsLine]:
        """Parses the lines and yields each.

        Raises:
            UsageError: a line has another form (such as the sizes of `-h`), or a path is outside the WAL root.
        """
        for number, line in lines:
            if not line:
                continue
            match = _LINE.fullmatch(line)
            if match is None:
                raise UsageError(
                    f"{self._name}, line {number}: not a line of `hdfs dfs -ls -R` (no -h, -C or -q): {line[:120]!r}"
                )
            kind, digits, minute, path = match.groups()
            try:
                length, time = parse_java_long(digits), end_of_minute(minute, self._zone, self._finished_at)
            except MalformedError as error:
                raise UsageError(f"{self._name}, line {number}: {error}") from None
            yield LsLine(self._relative(path, number), kind == "d", length, time)

    def _relative(self, path: str, number: int) -> str:
        for root in (self._root, self._bare):
            if path.startswith(f"{root}/"):
                return path[len(root) + 1 :]
        raise UsageError(f"{self._name}, line {number}: {path[:120]!r} is not below wal_root {self._root}")

    def batches(self, lines: Iterable[tuple[int, str]]) -> Iterator[FileBatch]:
        """Yields the listing in the order that `FileSource.files` promises.

        Raises:
            UsageError: for the reasons of `listed`; or a file of `oldWALs` comes before a file of a live directory, or
                a file is in none of these directories.
        """
        progress = Progress("listing")
        live: dict[str, list[tuple[str, int, int]]] = {}
        rows: list[tuple[str, int, int]] = []
        archived = 0
        for file in self.listed(lines):
            top, _, _ = file.path.partition("/")
            if file.is_directory:
                continue
            row = (file.path, file.length, file.modification_time)
            name = file.path.rpartition("/")[2]
            if top in LIVE_DIRECTORIES:
                if archived:
                    raise UsageError(
                        f"{self._name}: {top} was listed after {OLD_WALS}; list {top} first, {OLD_WALS} last"
                    )
                live.setdefault(live_key(*file.path.split("/")), []).append(row)
            elif top == OLD_WALS:
                archived += 1
                live.pop(name, None)
                rows.append(row)
                if len(rows) == _BATCH:
                    progress.more(len(rows))
                    yield batch_of(rows)
                    rows = []
            else:
                raise UsageError(
                    f"{self._name}: {file.path[:120]!r} is below none of {WALS}, {REMOTE_WALS}, {OLD_WALS}"
                )
        rows += [file for files in live.values() for file in files]
        progress.more(len(rows))
        if rows:
            yield batch_of(rows)
        progress.end()
        logger.info("Listed %s", progress)

    def directories(self, lines: Iterable[tuple[int, str]]) -> tuple[WalDirectory, ...]:
        """Returns the directories below `WALs/`, from a text of `hdfs dfs -ls -R <wal_root>/WALs`.

        Raises:
            UsageError: for the reasons of `listed`; or the text has a file but no line for the file's directory. A
                directory proves that its server lives, so none may be missing.
        """
        times: dict[ServerName, int] = {}
        entries: dict[ServerName, int] = {}
        for file in self.listed(lines):
            parts = file.path.split("/")
            server = server_of_directory(parts[1]) if parts[0] == WALS and len(parts) > 1 else None
            if server is None:
                continue
            if len(parts) == 2 and file.is_directory:
                times[server] = max(times.get(server, 0), file.modification_time)
            elif len(parts) == 3:
                entries[server] = entries.get(server, 0) + 1
        for server in sorted(entries.keys() - times.keys()):
            raise UsageError(
                f"{self._name} has files below {WALS}/{server}, but no line for that directory; list {WALS} completely"
            )
        return tuple(WalDirectory(server, entries.get(server, 0), times[server]) for server in sorted(times))


def batch_of(rows: list[tuple[str, int, int]]) -> FileBatch:
    """Converts rows to columns."""
    return FileBatch([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


@dataclass(frozen=True, slots=True)
class SavedListing:
    """A saved text that has been fetched.

    Attributes:
        lines: returns the numbered lines anew at each call.
        text: parses the lines.
        stamp: when the listing was taken, and by whose clock.
    """

    lines: NumberedLines
    text: LsText
    stamp: StepStamp


class LsFiles:
    """Reads a saved text as a `FileSource`.

    Args:
        fetched: fetches the text; called at each use, so that a step whose file system did not answer is repeated.
    """

    def __init__(self, fetched: Callable[[], SavedListing]) -> None:
        self._fetched = fetched

    def stamp(self, _step: str) -> StepStamp:
        """See `CaptureSource.stamp`."""
        return self._fetched().stamp

    def files(self) -> Iterator[FileBatch]:
        """See `FileSource.files`."""
        listing = self._fetched()
        return listing.text.batches(listing.lines())
