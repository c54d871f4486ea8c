"""What the store makes of calls that end in an unexpected way; the file systems themselves are real in other tests."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from threading import Event
from typing import Any

import pytest

from pipelines.cleanup.ports import Move
from pipelines.cleanup.stores import wal_store
from pipelines.cleanup.stores.file_calls import FileCallError
from pipelines.cleanup.stores.store_failures import Failure, parse_failure
from pipelines.cleanup.stores.wal_store import FileSystemWalStore
from pipelines.cleanup.stores.wal_walk import directories_without_files, walk_files
from pipelines.common.errors import UnavailableError
from pipelines.files.file_status import FileStatus
from tests.labs.waiting import wait_until

ROOT = "hdfs://ns1/hbase"
OLD = f"{ROOT}/oldWALs"
FILES = [f"{OLD}/{number}" for number in range(100)]


class Interrupted:
    """A file system on which the first deletion is interrupted while another is under way."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.under_way = Event()
        self.given: list[Future[Any]] = []

    def status(self, _uri: str) -> FileStatus:
        return FileStatus("", False, True, 0, 0)

    def delete_file(self, uri: str) -> None:
        self.begun.append(uri)
        if uri == FILES[0]:
            self.under_way.wait(60)
            raise KeyboardInterrupt
        self.under_way.set()
        self.outlast_the_failure()
        self.ended.append(uri)

    def outlast_the_failure(self) -> None:
        """Waits for a call that has failed, and then for as long as a wrong store would need to begin the next."""
        wait_until(lambda: any(call.done() and call.exception() for call in self.given), "a call has failed")
        time.sleep(0.2)

    def close(self) -> None:
        pass


def store_of(calls: Interrupted) -> FileSystemWalStore:
    """A store with two threads, whose calls know what has been given to these."""
    store = FileSystemWalStore(calls, ROOT, [OLD], threads=2)
    submit = store._pool.submit

    def noted(*call: Any) -> Any:  # noqa: ANN401 - as ThreadPoolExecutor.submit
        calls.given.append(submit(*call))
        return calls.given[-1]

    store._pool.submit = noted  # type: ignore[method-assign]
    return store


@pytest.mark.promise("nothing-else-is-touched")
def test_after_an_interruption_no_call_is_under_way_and_none_begins() -> None:
    calls = Interrupted()
    store = store_of(calls)
    with pytest.raises(KeyboardInterrupt):
        store.delete(FILES)
    assert calls.ended == FILES[1:2]
    assert sorted(calls.begun) == FILES[:2]
    store.close()
    assert sorted(calls.begun) == FILES[:2]


def test_an_error_that_nobody_foresaw_ends_what_has_not_begun_before_its_turn_comes() -> None:
    class Odd(Interrupted):
        """The second deletion fails while the first is under way, for which the caller waits."""

        def delete_file(self, uri: str) -> None:
            self.begun.append(uri)
            if uri == FILES[0]:
                self.under_way.set()
                self.outlast_the_failure()
            if uri == FILES[1]:
                self.under_way.wait(60)
                raise ZeroDivisionError

    calls = Odd()
    store = store_of(calls)
    with pytest.raises(ZeroDivisionError):
        store.delete(FILES)
    assert sorted(calls.begun) == FILES[:2]
    store.close()


class Away(Interrupted):
    """A file system that takes many files a call, and goes away before the last of the first call."""

    def statuses(self, uris: Sequence[str]) -> list[FileStatus | Failure]:
        return [self.status(uri) for uri in uris]

    def rename_files(self, moves: Sequence[Move]) -> list[Failure | None]:
        return [None for _ in moves]

    def delete_files(self, uris: Sequence[str]) -> list[Failure | None]:
        self.begun.extend(uris)
        return [*(None for _ in uris[1:]), Failure("StandbyException", "")]


def test_a_file_system_that_went_away_during_a_call_is_not_called_again() -> None:
    calls = Away()
    store = FileSystemWalStore(calls, ROOT, [OLD], threads=1)
    files = [f"{OLD}/{number}" for number in range(250)]
    answers = store.delete(files)
    assert calls.begun == files[:100]
    assert answers[:99] == [None] * 99
    assert None not in answers[99:]
    store.close()


class Slow(Interrupted):
    """A file system whose deletions last until the store waits for their end."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited = Event()

    def delete_file(self, uri: str) -> None:
        self.begun.append(uri)
        self.awaited.wait(60)
        time.sleep(0.1)
        self.ended.append(uri)


def test_so_it_is_when_not_all_calls_could_be_given_to_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Slow()
    store = FileSystemWalStore(calls, ROOT, [OLD], threads=2)
    store.seen(FILES[:1])
    submit, given = store._pool.submit, []

    def fails_after_ten(*call: Any) -> Any:  # noqa: ANN401 - as ThreadPoolExecutor.submit
        given.append(call)
        if len(given) > 10:
            wait_until(lambda: len(calls.begun) == 2, "both threads are at work")
            raise RuntimeError("can't start new thread")
        return submit(*call)

    def waits(given: Any) -> Any:  # noqa: ANN401 - as concurrent.futures.wait
        calls.awaited.set()
        return wait(given)

    monkeypatch.setattr(wal_store, "wait", waits)
    store._guard.allow = lambda _uris: None  # type: ignore[method-assign]
    store._pool.submit = fails_after_ten  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        store.delete(FILES)
    assert sorted(calls.ended) == sorted(calls.begun) == FILES[:2]
    store.close()


class Renaming(Interrupted):
    """A file system that does not find the source of a rename, and then does not answer."""

    def __init__(self) -> None:
        super().__init__()
        self.renamed = False

    def status(self, _uri: str) -> FileStatus:
        if self.renamed:
            raise FileCallError(parse_failure("java.net.ConnectException: refused"))
        return FileStatus("", False, True, 0, 0)

    def rename(self, _source: str, _target: str) -> None:
        self.renamed = True
        raise FileCallError(parse_failure("java.io.FileNotFoundException: no such file"))


def test_a_directory_that_cannot_be_looked_at_is_not_gone() -> None:
    store = FileSystemWalStore(Renaming(), ROOT, [OLD])
    with pytest.raises(UnavailableError, match="FileNotFoundException"):
        store.rename_directory(f"{OLD}/a", f"{OLD}/b")
    store.close()


def test_a_walk_asks_for_directories_only() -> None:
    """A question for each file would take minutes."""
    file, link = FileStatus("a", True, False, 1, 2), FileStatus("link", False, False, 1, 2)
    asked: list[str] = []

    def pages(uri: str) -> Iterator[list[FileStatus]]:
        asked.append(uri)
        yield [file, link, *([FileStatus("deep", False, True, 0, 0)] if uri == OLD else [])]

    assert [batch.paths for batch in walk_files(pages, OLD)] == [["a"], ["deep/a"]]
    assert asked == [OLD, f"{OLD}/deep"]


def test_a_walk_goes_deep_first_in_the_order_of_names_and_gives_no_empty_batch() -> None:
    directories = {OLD: "bca", f"{OLD}/a": "d"}

    def pages(uri: str) -> Iterator[list[FileStatus]]:
        names = directories.get(uri, "")
        yield [FileStatus(name, False, True, 0, 0) for name in names] or [FileStatus("file", True, False, 1, 2)]

    assert [batch.paths for batch in walk_files(pages, OLD)] == [["a/d/file"], ["b/file"], ["c/file"]]


@pytest.mark.parametrize("kinds", [(False,), (True, False), (False, True)])
def test_a_tree_with_anything_but_directories_is_not_one_to_remove(kinds: tuple[bool, ...]) -> None:
    def pages(uri: str) -> Iterator[list[FileStatus]]:
        if uri == OLD:
            yield [FileStatus(str(number), False, kind, 0, 0) for number, kind in enumerate(kinds)]

    assert directories_without_files(pages, OLD) is None
    assert directories_without_files(pages, f"{OLD}/none") == [f"{OLD}/none"]
