"""Moves and deletes the files of one file system: local, through Hadoop or through WebHDFS."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Event
from typing import TypeVar

from pipelines.cleanup.ports import FileState, Move
from pipelines.cleanup.stores.file_calls import FileCallError, FileCalls, ManyCalls, SeveralNameNodes
from pipelines.cleanup.stores.store_failures import (
    NOT_TRIED,
    OTHER_KIND,
    Failure,
    failed,
    outcomes,
    parse_failure,
    raise_common,
    to_blame,
)
from pipelines.cleanup.stores.wal_guard import WalGuard
from pipelines.cleanup.stores.wal_walk import directories_without_files, walk_files
from pipelines.common.errors import UnavailableError
from pipelines.files.file_batch import FileBatch
from pipelines.files.file_status import FileStatus

_LOOKS_AT_ONCE, _CHANGES_AT_ONCE, _MOVES_AT_ONCE = 2_000, 100, 1_000
_T = TypeVar("_T")
_R = TypeVar("_R")


class FileSystemWalStore:
    """Implements `WalStore` over one file system.

    Nothing outside `within` is changed, and nothing below a symbolic link. A call that raises UnavailableError may have
    done part of its work; if the connection broke during an element, that element may have been done: check with
    `seen`.

    Args:
        calls: the calls of the file system.
        root: a full URI on the file system.
        within: the full URIs of the directories inside which alone the store may change anything.
        threads: the number of concurrent calls.
        where: the name of the file system in messages; None = the root.

    Raises:
        UsageError: a directory of `within` is not on the file system of `root`.
    """

    def __init__(
        self, calls: FileCalls, root: str, within: Iterable[str], threads: int = 8, where: str | None = None
    ) -> None:
        self._calls = calls
        many = calls if isinstance(calls, ManyCalls) else None
        self._statuses = many.statuses if many else None
        self._rename_files = many.rename_files if many else None
        self._delete_files = many.delete_files if many else None
        self._where = where or root
        before = calls.status_before_change if isinstance(calls, SeveralNameNodes) else calls.status
        self._guard = WalGuard(root, within, lambda uris: self._described(uris, before))
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)

    def seen(self, uris: Sequence[str]) -> list[FileState | None]:
        """See `WalStore.seen`."""
        self._guard.own(uris)
        what = f"looking at {len(uris)} paths on {self._where}"
        answers = self._described(uris, self._calls.status)
        failures = [answer for answer in answers if isinstance(answer, Failure) and not answer.gone]
        if failures:  # an unknown state is an error: the caller would take None for "gone"
            raise_common(failures, len(failures), what)
            raise failed(to_blame(failures), what)
        return [
            None if isinstance(answer, Failure) else FileState(answer.length, answer.modification_time, answer.is_file)
            for answer in answers
        ]

    def move(self, moves: Sequence[Move]) -> list[str | None]:
        """See `WalStore.move`; does not move a directory or a symbolic link."""
        self._guard.allow([path for move in moves for path in (move.source, move.target)])
        answers = self._each(
            lambda move: self._calls.rename_file(move.source, move.target),
            moves,
            self._rename_files,
            min(_MOVES_AT_ONCE, max(_CHANGES_AT_ONCE, -(-len(moves) // self._threads))),  # work for each thread
        )
        return outcomes(_failures(answers), f"moving {len(moves)} files on {self._where}")

    def delete(self, uris: Sequence[str]) -> list[str | None]:
        """See `WalStore.delete`."""
        self._guard.allow(uris)
        answers = self._each(self._calls.delete_file, uris, self._delete_files, _CHANGES_AT_ONCE)
        what = f"deleting {len(uris)} files on {self._where}"
        return outcomes([None if answer and answer.gone else answer for answer in answers], what)

    def walk(self, directory: str) -> Iterator[FileBatch]:
        """See `WalStore.walk`; memory grows with the number of directories, plus one page."""
        return walk_files(self._pages, directory)

    def make_directories(self, uris: Sequence[str]) -> None:
        """See `WalStore.make_directories`."""
        self._guard.allow(uris)
        for uri in uris:
            self._make_directory(uri)

    def remove_empty(self, directory: str) -> bool:
        """See `WalStore.remove_empty`; a file that is created meanwhile stays, with the directories above it."""
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
        what = f"renaming {source} to {target}"
        (before,) = self._described([source], self._calls.status)
        if isinstance(before, Failure):
            if before.gone:
                return False
            raise failed(before, what)
        if not before.is_directory:
            raise UnavailableError(f"{what}: the source is not a directory; find out what has taken its place")
        try:
            self._calls.rename(source, target)
        except FileCallError as error:
            (after,) = self._described([source], self._calls.status)
            if error.failure.gone and isinstance(after, Failure) and after.gone:
                return False
            raise failed(error.failure, what) from error
        return True

    def create(self, uri: str, text: str) -> bool:
        """See `WalStore.create`. A creator that dies may leave an empty file, which then counts as existing."""
        self._guard.allow([uri])
        try:
            self._calls.write_new(uri, text)
        except FileCallError as error:
            if error.failure.exists:
                return False
            raise failed(error.failure, f"creating {uri}") from error
        return True

    def replace(self, uri: str, text: str) -> None:
        """See `WalStore.replace`; writes a temporary file beside the file, then renames it over the file atomically."""
        self._guard.allow([uri])
        parent, _, name = uri.rpartition("/")
        temporary = f"{parent}/.{name}.{uuid.uuid4().hex}"
        try:
            self._calls.write_new(temporary, text)
            self._calls.replace(temporary, uri)
        except BaseException as error:
            with suppress(FileCallError, UnavailableError):
                self._calls.delete_file(temporary)
            if isinstance(error, FileCallError):
                raise failed(error.failure, f"replacing {uri}") from error
            raise

    def read(self, uri: str) -> str | None:
        """See `WalStore.read`; if the creator of the file died, returns what it had written, which may be nothing."""
        self._guard.own([uri])
        what = f"reading {uri}"
        try:
            if not self._calls.status(uri).is_file:
                raise UnavailableError(f"{what}: it is not a file; find out what has taken its place")
            return self._calls.read(uri)
        except FileCallError as error:
            if error.failure.gone:
                return None
            raise failed(error.failure, what) from error

    def close(self) -> None:
        """Ends the threads and closes the connections."""
        self._pool.shutdown()
        self._calls.close()

    def _each(
        self,
        call: Callable[[_T], _R],
        elements: Sequence[_T],
        many: Callable[[Sequence[_T]], list[_R | Failure]] | None,
        at_once: int,
    ) -> list[_R | Failure]:
        """Calls a function for each element; returns the answers in order, with a failure as the answer of its element.

        Once a call fails because the file system does not answer, the elements that have not begun are not tried,
        because each of them could wait for minutes.

        Args:
            call: asks about one element.
            elements: the elements.
            many: asks about many elements; None = the file system has no such call.
            at_once: the largest number of elements for `many`.
        """
        broken = Event()

        def one(element: _T) -> _R | Failure:
            try:
                return call(element)
            except FileCallError as error:
                return error.failure

        def some(part: Sequence[_T]) -> list[_R | Failure]:
            if broken.is_set():
                return [parse_failure(NOT_TRIED)] * len(part)
            try:
                answers = [one(element) for element in part] if many is None else many(part)
            except BaseException:
                broken.set()
                raise
            if any(isinstance(answer, Failure) and answer.unavailable for answer in answers):
                broken.set()
            return answers

        size = 1 if many is None else at_once
        calls: list[Future[list[_R | Failure]]] = []
        try:
            calls.extend(
                self._pool.submit(some, elements[start : start + size]) for start in range(0, len(elements), size)
            )
            return [answer for submitted in calls for answer in submitted.result()]
        except BaseException:
            # whoever handles this failure must find no rename or deletion still under way
            broken.set()
            wait(calls)
            raise

    def _described(self, uris: Sequence[str], status: Callable[[str], FileStatus]) -> list[FileStatus | Failure]:
        # in order, so that a listing shows many of one directory
        places = sorted(range(len(uris)), key=uris.__getitem__)
        answers = self._each(status, [uris[place] for place in places], self._statuses, _LOOKS_AT_ONCE)
        found = dict(zip(places, answers, strict=True))
        return [found[place] for place in range(len(uris))]

    def _make_directory(self, uri: str) -> None:
        try:
            self._calls.make_directory(uri)
        except FileCallError as error:
            raise failed(error.failure, f"making the directory {uri}") from error

    def _remove_directory(self, uri: str) -> bool:
        try:
            self._calls.delete_directory(uri)
        except FileCallError as error:
            # a directory that has become a file meanwhile must stay
            if "NotEmpty" in error.failure.kind or error.failure.kind == OTHER_KIND:
                return False
            if not error.failure.gone:
                raise failed(error.failure, f"removing the empty directory {uri}") from error
        return True

    def _pages(self, directory: str) -> Iterator[Sequence[FileStatus]]:
        """Yields the pages of a directory as `Pages` describes."""
        self._guard.own([directory])
        try:
            if self._calls.status(directory).is_directory:
                yield from self._calls.pages(directory)
        except FileCallError as error:
            if not error.failure.gone:
                raise failed(error.failure, f"listing {directory}") from error


def _failures(answers: Sequence[object]) -> list[Failure | None]:
    return [answer if isinstance(answer, Failure) else None for answer in answers]
