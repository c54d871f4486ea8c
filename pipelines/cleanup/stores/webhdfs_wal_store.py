"""Moves and deletes files through WebHDFS: no Hadoop client, no Kerberos."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from pipelines.cleanup.paths import parse_uri
from pipelines.cleanup.ports import Move, Seen
from pipelines.cleanup.stores.store_failures import (
    OTHER,
    Failure,
    failed,
    outcomes,
    parse_failure,
    raise_common,
    to_blame,
)
from pipelines.cleanup.stores.wal_guard import WalGuard
from pipelines.cleanup.stores.wal_walk import Listed, directories_without_files, walk_files
from pipelines.cleanup.stores.webhdfs_calls import WebHdfsCalls, WebHdfsError
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.file_batch import FileBatch

_IGNORED = Failure("UnsupportedOperationException", "the server ignores renameoptions")


class WebHdfsWalStore:
    """`WalStore` over WebHDFS.

    A rename carries `renameoptions`, so that the name node renames as `FileContext` does. HttpFS ignores them: this is
    detected before the first rename, and refused. Nothing is changed outside `within`, nor below a symbolic link. A
    call that raises UnavailableError may have done part of its work, and an element whose connection broke may have
    been done: check with `seen`. Name nodes of Hadoop 3.1.2 and 3.2.0 read `%2C` in a path as `,` (HDFS-14423) and find
    no WAL at all; use `source: hadoop` there.

    Args:
        urls: `http://host:port` of every name node; an observer must not be among them.
        root: full URI on the file system; paths are given with its scheme and authority.
        within: full URIs of the directories inside which alone it may change anything.
        user: `user.name`; None = the user of this process.
        timeout_ms: of each request.
        threads: number of concurrent requests.

    Raises:
        UsageError: `within` is not on the file system of root.
    """

    def __init__(
        self,
        urls: Sequence[str],
        root: str,
        within: Iterable[str],
        user: str | None = None,
        timeout_ms: int = 60_000,
        threads: int = 8,
    ) -> None:
        self._where = f"WebHDFS {', '.join(urls)}"
        self._guard = WalGuard(root, within, self._described)
        self._calls = WebHdfsCalls(urls, user, timeout_ms, threads)
        self._renames_safely = False

    def seen(self, uris: Sequence[str]) -> list[Seen | None]:
        """See `WalStore.seen`."""
        self._guard.own(uris)
        what = f"{self._where}: looking at {len(uris)} paths"
        answers = self._described(uris, what)
        failures = [answer for answer in answers if isinstance(answer, Failure) and not answer.gone]
        if failures:  # an unknown state is an error: the caller would take None for "gone"
            raise_common(failures, len(failures), what)
            raise failed(to_blame(failures), what)
        return [
            None if isinstance(answer, Failure) else Seen(answer.length, answer.modification_time, answer.is_file)
            for answer in answers
        ]

    def move(self, moves: Sequence[Move]) -> list[str | None]:
        """See `WalStore.move`; a directory or a symbolic link is not moved."""
        self._guard.allow([path for move in moves for path in (move.source, move.target)])
        if moves:
            self._prove_rename(moves[0].target)
        answers = self._calls.each(self._move, moves)
        return outcomes(_failures(answers), f"{self._where}: moving {len(moves)} files")

    def delete(self, uris: Sequence[str]) -> list[str | None]:
        """See `WalStore.delete`."""
        self._guard.allow(uris)
        answers = _failures(self._calls.each(self._delete, uris))
        what = f"{self._where}: deleting {len(uris)} files"
        return outcomes([None if answer and answer.gone else answer for answer in answers], what)

    def walk(self, directory: str) -> Iterator[FileBatch]:
        """See `WalStore.walk`; each directory is listed in one answer."""
        return walk_files(self._pages, directory)

    def make_directories(self, uris: Sequence[str]) -> None:
        """See `WalStore.make_directories`."""
        self._guard.allow(uris)
        for uri in uris:
            try:
                made = self._calls.make_directory(_path(uri))
            except WebHdfsError as error:
                raise failed(error.failure, f"{self._where}: making {uri}") from error
            if not made:
                raise UnavailableError(f"{self._where}: {uri} could not be made a directory; see what is in the way")

    def remove_empty(self, directory: str) -> bool:
        """See `WalStore.remove_empty`; a file created meanwhile stays, with the directories above it."""
        self._guard.allow([directory])
        directories = directories_without_files(self._pages, directory)
        if directories is None:
            return False
        self._guard.allow(directories)
        # children before parents
        return all(self._remove_directory(uri) for uri in directories)

    def names(self, directory: str) -> list[str]:
        """See `WalStore.names`."""
        return sorted(entry.name for page in self._pages(directory) for entry in page)

    def rename_directory(self, source: str, target: str) -> bool:
        """See `WalStore.rename_directory`; the parent of the target must exist."""
        self._guard.allow([source, target])
        what = f"{self._where}: renaming {source} to {target}"
        (before,) = self._described([source], what)
        if isinstance(before, Failure):
            if before.gone:
                return False
            raise failed(before, what)
        if not before.is_directory:
            raise UnavailableError(f"{what}: the source is no directory; look what has taken its place")
        self._prove_rename(target)
        try:
            self._rename(source, target)
        except WebHdfsError as error:
            if error.failure.gone and isinstance(self._described([source], what)[0], Failure):
                return False
            raise failed(error.failure, what) from error
        return True

    def create(self, uri: str, text: str) -> bool:
        """See `WalStore.create`. A creator that dies may leave an empty file, which then counts as existing."""
        self._guard.allow([uri])
        try:
            self._calls.write_new(_path(uri), text)
        except WebHdfsError as error:
            if error.failure.exists:
                return False
            raise failed(error.failure, f"{self._where}: creating {uri}") from error
        return True

    def replace(self, uri: str, text: str) -> None:
        """See `WalStore.replace`: writes a temporary file beside it, then renames that over it atomically."""
        self._guard.allow([uri])
        parent, _, name = _path(uri).rpartition("/")
        temporary = f"{parent}/.{name}.{uuid.uuid4().hex}"
        try:
            self._calls.write_new(temporary, text)
            if not self._calls.rename(temporary, _path(uri), overwrite=True):
                raise WebHdfsError(_IGNORED)
        except BaseException as error:
            with suppress(WebHdfsError):
                self._calls.delete(temporary)
            if isinstance(error, WebHdfsError):
                raise failed(error.failure, f"{self._where}: replacing {uri}") from error
            raise

    def read(self, uri: str) -> str | None:
        """See `WalStore.read`; if the creator died, returns what it had written, even if empty."""
        self._guard.own([uri])
        what = f"{self._where}: reading {uri}"
        try:
            if not self._calls.status(_path(uri)).is_file:
                raise UnavailableError(f"{what}: it is no file; look what has taken its place")
            return self._calls.read(_path(uri))
        except WebHdfsError as error:
            if error.failure.gone:
                return None
            raise failed(error.failure, what) from error

    def close(self) -> None:
        """Closes the connections."""
        self._calls.close()

    def _described(self, uris: Sequence[str], _what: str) -> list[Listed | Failure]:
        return self._calls.each(lambda uri: self._calls.status(_path(uri)), uris)

    def _move(self, move: Move) -> None:
        self._check_file(move.source)
        self._rename(move.source, move.target)

    def _delete(self, uri: str) -> None:
        self._check_file(uri)
        self._calls.delete(_path(uri))

    def _remove_directory(self, uri: str) -> bool:
        try:
            # a directory that has become a file meanwhile must stay
            if not self._calls.status(_path(uri)).is_directory:
                return False
            self._calls.delete(_path(uri))
        except WebHdfsError as error:
            if "NotEmpty" in error.failure.kind:
                return False
            if not error.failure.gone:
                raise failed(error.failure, f"{self._where}: removing {uri}") from error
        return True

    def _check_file(self, uri: str) -> None:
        if not self._calls.status(_path(uri)).is_file:
            raise WebHdfsError(parse_failure(OTHER))

    def _rename(self, source: str, target: str) -> None:
        if not self._calls.rename(_path(source), _path(target)):
            raise WebHdfsError(_IGNORED)

    def _prove_rename(self, target: str) -> None:
        """Tests whether the server knows `renameoptions`, by renaming a name that does not exist.

        A name node that knows them answers that there is no such file; HttpFS answers `false`.

        Raises:
            UsageError: the server ignores them, so a rename could replace a file or end inside a directory.
        """
        if self._renames_safely:
            return
        nobody = f"{target.rpartition('/')[0]}/.walsafe-{uuid.uuid4().hex}"
        try:
            self._rename(nobody, f"{nobody}.moved")
        except WebHdfsError as error:
            if error.failure == _IGNORED:
                raise UsageError(
                    f"{self._where} ignores renameoptions, as HttpFS does: a rename could land elsewhere, so none was "
                    "tried. Give the addresses of the name nodes as urls, or use source: hadoop"
                ) from error
            if error.failure.gone:
                self._renames_safely = True
            elif not error.failure.denied:  # a user who lacks permission gets that error for each file
                raise failed(error.failure, f"{self._where}: renaming") from error

    def _pages(self, directory: str) -> Iterator[Sequence[Listed]]:
        """See `Pages`."""
        self._guard.own([directory])
        try:
            elements = self._calls.elements(_path(directory))
        except WebHdfsError as error:
            if error.failure.gone:
                return
            raise failed(error.failure, f"{self._where}: listing {directory}") from error
        if elements and all(element.name for element in elements):  # a file lists itself without a name
            yield elements


def _path(uri: str) -> str:
    return parse_uri(uri).path


def _failures(answers: Sequence[Listed | Failure | None]) -> list[Failure | None]:
    return [answer if isinstance(answer, Failure) else None for answer in answers]
