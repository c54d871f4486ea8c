"""The store on a local disk that fails at one call: what it says then, and what it leaves."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from pipelines.cleanup.stores.file_calls import FileCallError
from pipelines.cleanup.stores.local_calls import LocalCalls
from pipelines.cleanup.stores.store_failures import parse_failure
from pipelines.cleanup.stores.wal_store import FileSystemWalStore
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.files.file_status import FileStatus

DENIED, CONNECT, QUOTA = "AccessControlException: not you", "ConnectException: refused", "QuotaException: full"
GONE = "FileNotFoundException: no such file"


class Failing(LocalCalls):
    """Calls of which some fail, by name: with the text of an exception, after something else was done."""

    def __init__(self, **failures: str) -> None:
        self.failures = failures
        self.first: Callable[[], object] = lambda: None
        self.written: list[str] = []

    def _fails(self, call: str) -> None:
        if call in self.failures:
            self.first()
            raise FileCallError(parse_failure(self.failures[call]))

    def status(self, uri: str) -> FileStatus:
        self._fails(f"status {uri.rpartition('/')[2]}")
        return super().status(uri)

    def rename(self, source: str, target: str) -> None:
        self._fails("rename")
        super().rename(source, target)

    def replace(self, source: str, target: str) -> None:
        self._fails("replace")
        super().replace(source, target)

    def write_new(self, uri: str, text: str) -> None:
        self.written.append(uri)
        super().write_new(uri, text)
        self._fails("write_new")

    def delete_directory(self, uri: str) -> None:
        self._fails("delete_directory")
        super().delete_directory(uri)

    def pages(self, uri: str) -> Iterator[Sequence[FileStatus]]:
        self._fails("pages")
        yield from super().pages(uri)


Opened = Callable[[LocalCalls], FileSystemWalStore]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens stores over `old`, in which there is a directory `tree` with an empty one."""
    (tmp_path / "old/tree/below").mkdir(parents=True)
    stores: list[FileSystemWalStore] = []

    def store(calls: LocalCalls) -> FileSystemWalStore:
        stores.append(FileSystemWalStore(calls, f"file:{tmp_path}", [f"file:{tmp_path}/old"], where="the edge"))
        return stores[-1]

    yield store
    for one in stores:
        one.close()


@pytest.fixture
def old(tmp_path: Path) -> str:
    return f"file:{tmp_path}/old"


def test_a_look_that_found_the_file_system_away_says_so_and_not_who_may(opened: Opened, old: str) -> None:
    calls = Failing(**{"status a": DENIED, "status b": CONNECT})
    with pytest.raises(UnavailableError, match=r"^looking at 2 paths on the edge: ConnectException: refused; "):
        opened(calls).seen([f"{old}/a", f"{old}/b"])
    with pytest.raises(UsageError, match=r"^looking at 3 paths on the edge: AccessControlException: not you; "):
        opened(Failing(**{"status a": DENIED})).seen([f"{old}/a", f"{old}/tree", f"{old}/none"])
    with pytest.raises(UnavailableError, match="QuotaException"):
        opened(Failing(**{"status b": QUOTA})).seen([f"{old}/tree", f"{old}/b"])


def test_a_directory_above_that_may_not_be_looked_at_says_nothing_of_those_below(
    opened: Opened, old: str, tmp_path: Path
) -> None:
    opened(Failing(**{"status old": DENIED})).make_directories([f"{old}/new"])
    assert (tmp_path / "old/new").is_dir()
    with pytest.raises(UnavailableError, match="looking for symbolic links"):
        opened(Failing(**{"status old": CONNECT})).make_directories([f"{old}/newer"])
    assert not (tmp_path / "old/newer").exists()


def test_without_another_word_the_root_names_the_file_system(tmp_path: Path) -> None:
    store = FileSystemWalStore(Failing(**{"status a": CONNECT}), f"file:{tmp_path}", [f"file:{tmp_path}/old"])
    with pytest.raises(UnavailableError, match=rf"^looking at 1 paths on file:{tmp_path}: "):
        store.seen([f"file:{tmp_path}/a"])
    store.close()
    with pytest.raises(RuntimeError):
        store.seen([f"file:{tmp_path}/a"])


@pytest.mark.parametrize(("failure", "error"), [(DENIED, UsageError), (CONNECT, UnavailableError)])
def test_a_directory_that_cannot_be_looked_at_is_not_renamed(
    opened: Opened, old: str, failure: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=rf"^renaming {old}/tree to {old}/new: {failure}"):
        opened(Failing(**{"status tree": failure})).rename_directory(f"{old}/tree", f"{old}/new")


def test_a_directory_that_vanishes_before_its_rename_is_gone(opened: Opened, old: str, tmp_path: Path) -> None:
    calls = Failing(rename=GONE)
    calls.first = lambda: (tmp_path / "old/tree").rename(tmp_path / "old/elsewhere")
    assert opened(calls).rename_directory(f"{old}/tree", f"{old}/new") is False


def test_a_rename_that_failed_for_another_reason_is_no_answer(opened: Opened, old: str, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="FileNotFoundException"):  # the parent of the target
        opened(LocalCalls()).rename_directory(f"{old}/tree", f"{old}/none/new")
    calls = Failing(rename=QUOTA)
    calls.first = lambda: (tmp_path / "old/tree").rename(tmp_path / "old/elsewhere")
    with pytest.raises(UnavailableError, match="QuotaException"):
        opened(calls).rename_directory(f"{old}/tree", f"{old}/new")


def test_a_file_that_cannot_be_made_does_not_exist(opened: Opened, old: str) -> None:
    with pytest.raises(UnavailableError, match=rf"^creating {old}/new: QuotaException: full"):
        opened(Failing(write_new=QUOTA)).create(f"{old}/new", "x")


@pytest.mark.parametrize("call", ["write_new", "replace"])
def test_a_replacement_that_failed_leaves_what_was_there(opened: Opened, old: str, tmp_path: Path, call: str) -> None:
    (tmp_path / "old/lease").write_text("first")
    calls = Failing(**{call: QUOTA})
    with pytest.raises(UnavailableError, match=rf"^replacing {old}/lease: QuotaException: full"):
        opened(calls).replace(f"{old}/lease", "second")
    (temporary,) = calls.written
    assert temporary.startswith(f"{old}/.lease.")
    assert sorted(path.name for path in (tmp_path / "old").iterdir()) == ["lease", "tree"]
    assert (tmp_path / "old/lease").read_text() == "first"


def test_a_replacement_that_is_interrupted_says_so_and_leaves_nothing(opened: Opened, old: str, tmp_path: Path) -> None:
    class Interrupted(LocalCalls):
        def replace(self, _source: str, _target: str) -> None:
            raise KeyboardInterrupt

        def delete_file(self, uri: str) -> None:
            super().delete_file(uri)
            raise FileCallError(parse_failure(CONNECT))  # of the cleaning up nobody hears

    with pytest.raises(KeyboardInterrupt):
        opened(Interrupted()).replace(f"{old}/lease", "second")
    assert [path.name for path in (tmp_path / "old").iterdir()] == ["tree"]


@pytest.mark.promise("nothing-else-is-touched")
def test_a_directory_that_becomes_a_link_while_it_is_listed_leads_nowhere(
    opened: Opened, old: str, tmp_path: Path
) -> None:
    (tmp_path / "data/below").mkdir(parents=True)

    class Swapped(LocalCalls):
        def pages(self, uri: str) -> Iterator[Sequence[FileStatus]]:
            yield from super().pages(uri)
            if uri.endswith("/tree/below"):
                (tmp_path / "old/tree/below").rmdir()
                (tmp_path / "old/tree").rmdir()
                (tmp_path / "old/tree").symlink_to(tmp_path / "data")

    with pytest.raises(RefusedError) as refused:
        opened(Swapped()).remove_empty(f"{old}/tree")
    assert refused.value.condition is Condition.SYMBOLIC_LINK
    assert (tmp_path / "data/below").is_dir()


def test_a_directory_that_cannot_be_removed_is_told_and_one_that_fills_meanwhile_stays(
    opened: Opened, old: str, tmp_path: Path
) -> None:
    with pytest.raises(UnavailableError, match=rf"^removing the empty directory {old}/tree/below: QuotaException"):
        opened(Failing(delete_directory=QUOTA)).remove_empty(f"{old}/tree")
    for kind in ("PathIsNotEmptyDirectoryException: full", "NotAFile: it became one"):
        assert opened(Failing(delete_directory=kind)).remove_empty(f"{old}/tree") is False
    assert opened(Failing(delete_directory=GONE)).remove_empty(f"{old}/tree") is True
    assert (tmp_path / "old/tree/below").is_dir()


@pytest.mark.parametrize(("failure", "error"), [(DENIED, UsageError), (QUOTA, UnavailableError)])
def test_a_directory_that_cannot_be_listed_is_not_empty(
    opened: Opened, old: str, failure: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=rf"^listing {old}/tree: {failure}"):
        opened(Failing(pages=failure)).names(f"{old}/tree")
    assert opened(Failing(pages=GONE)).names(f"{old}/tree") == []


def test_a_file_is_no_directory_however_it_is_listed(opened: Opened, old: str, tmp_path: Path) -> None:
    class LikeHdfs(LocalCalls):
        """Lists a file as its own element."""

        def pages(self, uri: str) -> Iterator[Sequence[FileStatus]]:
            yield [self.status(uri)]

    (tmp_path / "old/a").touch()
    assert opened(LikeHdfs()).names(f"{old}/a") == []
    assert list(opened(LikeHdfs()).walk(f"{old}/a")) == []


def test_the_connections_are_closed_with_the_store(opened: Opened) -> None:
    class Closed(LocalCalls):
        closed = False

        def close(self) -> None:
            self.closed = True

    calls = Closed()
    opened(calls).close()
    assert calls.closed


def test_only_what_is_not_there_is_read_as_nothing(opened: Opened, old: str, tmp_path: Path) -> None:
    (tmp_path / "old/lease").write_text("text")
    with pytest.raises(UsageError, match=rf"^reading {old}/lease: AccessControlException"):
        opened(Failing(**{"status lease": DENIED})).read(f"{old}/lease")
    assert opened(LocalCalls()).read(f"{old}/lease") == "text"
