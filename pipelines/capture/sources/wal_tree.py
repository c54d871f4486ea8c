"""Walks the part of a WAL root that a capture reads, in the order that loses no file, with any directory lister.

HBase archives by rename, from `WALs/<server>/` to `oldWALs/` (or `oldWALs/<server>/` with
`hbase.separate.oldlogdir.by.regionserver`), so a walk that reads the source of the renames first sees every file.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from pipelines.capture.ports import LiveSource
from pipelines.common.errors import UnavailableError, UsageError, WalsafeError
from pipelines.common.progress import Progress
from pipelines.files.file_batch import FileBatch
from pipelines.files.file_status import FileStatus
from pipelines.hbase.server_names import ServerName, server_of_directory
from pipelines.hbase.wal_root import OLD_WALS, REMOTE_WALS, WALS
from pipelines.snapshot.model import WalDirectory

logger = logging.getLogger(__name__)

LIVE_DIRECTORIES = (WALS, REMOTE_WALS)
_WALKS = 5


class WalTreeEntry(NamedTuple):
    """One element of a directory; `modification_time` in ms since the epoch, UTC."""

    name: str
    is_directory: bool
    length: int
    modification_time: int


Listed: TypeAlias = WalTreeEntry | FileStatus
"""An element of a directory as one of the listers tells it; both have the attributes of `WalTreeEntry`."""


class NoSuchDirectoryError(Exception):
    """The directory does not exist, or no longer exists."""


class DirectoryLister(Protocol):
    """Lists the directories of one file system."""

    def pages(self, directory: str) -> Iterator[Sequence[Listed]]:
        """Yields the elements of a directory below the WAL root, in pages of a bounded size.

        Raises:
            NoSuchDirectoryError: the directory does not exist; raised before the first page or later.
            UnavailableError, UsageError: the file system did not answer.
        """
        ...

    def free_bytes(self) -> int | None:
        """Returns the bytes of files that it can still take, replication considered; None = it does not say."""
        ...


class WalTree(LiveSource):
    """Walks a WAL root with a lister; a `FileSource` and `WalDirectorySource`.

    Args:
        lister: lists the directories of the file system.
        wal_root: the WAL root, for messages.
    """

    def __init__(self, lister: DirectoryLister, wal_root: str) -> None:
        self._lister = lister
        self._root = wal_root

    def free_bytes(self) -> int | None:
        """See `DirectoryLister.free_bytes`; whatever keeps the file system from saying it, the capture goes on."""
        try:
            return self._lister.free_bytes()
        except WalsafeError as error:
            logger.warning("the free space of %s is unknown: %s", self._root, error)
            return None

    def files(self) -> Iterator[FileBatch]:
        """See `FileSource.files`.

        The memory needed grows with the live directories and one page, not with `oldWALs/`.
        """
        progress = Progress("listing")
        live = self._live()
        logger.info("%d files below %s", sum(map(len, live.values())), ", ".join(LIVE_DIRECTORIES))
        found = False
        for directory, page in self._walk(OLD_WALS):
            found = True
            for name in live.keys() & {entry.name for entry in page} if live else ():
                del live[name]  # archived meanwhile: the file counts once, in oldWALs
            progress.more(len(page))
            if page:
                yield _batch(directory, page)
        if not found:
            raise UsageError(f"{self._root} has no directory {OLD_WALS}: check wal_root (it is hbase.wal.dir)")
        rest = [file for files in live.values() for file in files]
        if rest:
            progress.more(len(rest))
            yield FileBatch(*(list(column) for column in zip(*rest, strict=True)))
        progress.end()
        logger.info("Listed %s", progress)

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        """See `WalDirectorySource.wal_directories`. A directory that vanishes meanwhile counts as not empty."""
        counts: dict[ServerName, tuple[int, int]] = {}
        try:
            listing = [entry for page in self._lister.pages(WALS) for entry in page]
        except NoSuchDirectoryError:
            raise UsageError(f"{self._root} has no directory WALs: check wal_root (it is hbase.wal.dir)") from None
        for entry in listing:
            server = _server(entry)
            if server is None:
                continue
            try:
                entries = sum(map(len, self._lister.pages(f"{WALS}/{entry.name}")))
            except NoSuchDirectoryError:
                entries = 1  # renamed to -splitting, or removed: its content is no longer known
            before = counts.get(server, (0, 0))
            counts[server] = (before[0] + entries, max(before[1], entry.modification_time))
        return tuple(WalDirectory(server, *counts[server]) for server in sorted(counts))

    def _live(self) -> dict[str, list[tuple[str, int, int]]]:
        """Returns the files of the live directories by `live_key`; walks again if a directory is renamed meanwhile."""
        for _ in range(_WALKS):
            files: dict[str, list[tuple[str, int, int]]] = {}
            try:
                for root in LIVE_DIRECTORIES:
                    for directory, page in self._walk(root, strict=True):
                        for entry in page:
                            row = (f"{directory}/{entry.name}", entry.length, entry.modification_time)
                            files.setdefault(live_key(*row[0].split("/")), []).append(row)
            except NoSuchDirectoryError as gone:
                logger.info("%s was renamed or removed while it was listed; listing once more", gone)
            else:
                return files
        raise UnavailableError(f"directories below {self._root} kept changing while they were listed; try again")

    def _walk(self, root: str, *, strict: bool = False) -> Iterator[tuple[str, Sequence[Listed]]]:
        """Yields pages of files, depth first; yields none if the root does not exist.

        Args:
            root: the directory to start from.
            strict: whether to raise an error if a directory vanishes. Otherwise the directory counts as empty, because
                HBase removes empty directories below oldWALs.
        """
        waiting = [root]
        while waiting:
            directory = waiting.pop()
            below: list[str] = []
            try:
                for page in self._lister.pages(directory):
                    here = [f"{directory}/{entry.name}" for entry in page if entry.is_directory]
                    below += here
                    yield directory, [entry for entry in page if not entry.is_directory] if here else page
                yield directory, []  # the directory exists, empty or not
            except NoSuchDirectoryError:
                if strict and directory != root:
                    raise NoSuchDirectoryError(directory) from None
            waiting += sorted(below, reverse=True)


def live_key(*path: str) -> str:
    """Returns the key by which a file of a live directory is found in the archive; below `WALs/` it is the file's name.

    A copy below `remoteWALs/` is never archived: a file of this name below `oldWALs/` is another file.
    """
    return path[-1] if path[0] == WALS else "/".join(path)


def _server(entry: Listed) -> ServerName | None:
    if not entry.is_directory:
        return None
    server = server_of_directory(entry.name)
    if server is None:
        logger.warning("WALs/%s is not named after a server, so it is ignored", entry.name)
    return server


def _batch(directory: str, page: Sequence[Listed]) -> FileBatch:
    return FileBatch(
        [f"{directory}/{entry.name}" for entry in page],
        [entry.length for entry in page],
        [entry.modification_time for entry in page],
    )
