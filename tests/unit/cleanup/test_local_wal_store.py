"""The store that moves and deletes, on the local disk; on HDFS: tests/integration/test_wal_store.py."""

import errno
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.cleanup.ports import FileState, Move, WalStore
from pipelines.cleanup.stores.file_calls import FileCallError
from pipelines.cleanup.stores.local_calls import LocalCalls
from pipelines.cleanup.stores.wal_store import FileSystemWalStore
from pipelines.common.errors import RefusedError, UnavailableError, UsageError

NAMES = (
    "h1%2C16020%2C5.7",
    "two words",
    "Größe-数",
    "a,b",
    "true,false",
    "%",
    "x;y",
    "#LATEST",
    "q?a=b&c",
    "back\\slash",
)


@dataclass(frozen=True)
class Disk:
    """A store over a directory with `old` and `quarantine`, the two that it may change."""

    path: Path
    store: WalStore

    def uri(self, path: str) -> str:
        return f"file:{self.path}/{path}"

    def write(self, path: str, text: str = "wal") -> str:
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return self.uri(path)

    def tree(self) -> set[str]:
        return {str(file.relative_to(self.path)) for file in self.path.rglob("*")}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    root = f"file:{tmp_path}"
    store = FileSystemWalStore(LocalCalls(), root, [f"{root}/old", f"{root}/quarantine"], threads=4)
    for name in ("old", "quarantine"):
        (tmp_path / name).mkdir()
    yield Disk(tmp_path, store)
    store.close()


def test_names_of_every_kind_move_and_vanish(disk: Disk) -> None:
    moves = [Move(disk.write(f"old/{name}", name), disk.uri(f"quarantine/{name}")) for name in NAMES]
    before = disk.store.seen([move.source for move in moves])
    assert [seen and seen.length for seen in before] == [len(name.encode()) for name in NAMES]
    assert disk.store.names(disk.uri("old")) == sorted(NAMES)
    assert disk.store.move(moves) == [None] * len(NAMES)
    assert disk.store.seen([move.target for move in moves]) == before
    assert disk.store.seen([move.source for move in moves]) == [None] * len(NAMES)
    (batch,) = disk.store.walk(disk.uri("quarantine"))
    assert sorted(batch.paths) == sorted(NAMES)
    assert disk.store.delete([move.target for move in moves]) == [None] * len(NAMES)
    assert disk.tree() == {"old", "quarantine"}


@pytest.mark.promise("move-is-one-rename")
def test_one_bad_element_hides_no_other(disk: Disk) -> None:
    (disk.path / "quarantine/directory").mkdir()
    (disk.path / "old/tree").mkdir()
    disk.write("quarantine/taken", "first")
    moves = [
        Move(disk.write(f"old/{name}", "second"), disk.uri(f"quarantine/{target}"))
        for name, target in (("a", "taken"), ("b", "directory"), ("c", "none/c"), ("d", "d"))
    ]
    moves += [Move(disk.uri(f"old/{name}"), disk.uri(f"quarantine/{name}")) for name in ("missing", "tree")]
    taken, directory, parent, done, missing, tree = disk.store.move(moves)
    assert done is None
    for answer, words in (
        (taken, "FileAlreadyExists"),
        (directory, "FileAlreadyExists"),
        (parent, "FileNotFound"),
        (missing, "FileNotFound"),
        (tree, "NotAFile"),
    ):
        assert answer is not None
        assert words in answer
        assert "\n" not in answer
    assert (disk.path / "quarantine/taken").read_text() == "first"
    assert disk.tree() == {
        *("old", "old/a", "old/b", "old/c", "old/tree"),
        *("quarantine", "quarantine/taken", "quarantine/directory", "quarantine/d"),
    }


def test_directories_and_links_are_never_deleted(disk: Disk) -> None:
    (disk.path / "old/empty").mkdir()
    (disk.path / "old/link").symlink_to(disk.write("old/a").removeprefix("file:"))
    (disk.path / "old/dangling").symlink_to("nowhere")
    uris = [disk.uri(f"old/{name}") for name in ("empty", "link", "dangling", "a", "missing")]
    assert [seen and seen.is_file for seen in disk.store.seen(uris)] == [False, False, False, True, None]
    empty, link, dangling, done, missing = disk.store.delete(uris)
    assert (done, missing) == (None, None)
    assert [str(answer).partition(":")[0] for answer in (empty, link, dangling)] == ["NotAFile"] * 3
    assert disk.tree() == {"old", "old/empty", "old/link", "old/dangling", "quarantine"}
    (only,) = disk.store.move([Move(disk.uri("old/dangling"), disk.uri("old/moved"))])
    assert str(only).startswith("NotAFile")


CHANGES: dict[str, Callable[[WalStore, str, str], object]] = {
    "move from": lambda store, bad, good: store.move([Move(good, f"{good}.2"), Move(bad, f"{good}.3")]),
    "move to": lambda store, bad, good: store.move([Move(good, f"{good}.2"), Move(good, bad)]),
    "delete": lambda store, bad, good: store.delete([good, bad]),
    "make": lambda store, bad, good: store.make_directories([f"{good}.d", bad]),
    "remove": lambda store, bad, _: store.remove_empty(bad),
    "rename from": lambda store, bad, good: store.rename_directory(bad, f"{good}.2"),
    "rename to": lambda store, bad, good: store.rename_directory(good, bad),
    "create": lambda store, bad, _: store.create(bad, "x"),
    "replace": lambda store, bad, _: store.replace(bad, "x"),
}


@pytest.mark.promise("nothing-else-is-touched")
@pytest.mark.parametrize("change", CHANGES)
def test_nothing_outside_is_touched(disk: Disk, change: str) -> None:
    good = disk.write("old/good")
    disk.write("data/precious")
    (disk.path / "old/out").symlink_to(disk.path / "data")
    before = disk.tree()
    for bad in (
        disk.uri("data/precious"),
        disk.uri("old"),
        disk.uri("old/../data/precious"),
        disk.uri("old/./good"),
        disk.uri("old/out/precious"),
        disk.uri("old/a\nb"),
        f"hdfs://ns1{disk.path}/old/good",
        f"file://host{disk.path}/old/good",
        f"{disk.path}/old/good",
    ):
        with pytest.raises(RefusedError):
            CHANGES[change](disk.store, bad, good)
    assert disk.tree() == before


def test_reading_stays_on_the_file_system(disk: Disk) -> None:
    for read in (
        disk.store.read,
        disk.store.names,
        lambda uri: disk.store.seen([uri]),
        lambda uri: list(disk.store.walk(uri)),
    ):
        with pytest.raises(RefusedError, match="not on the file system"):
            read("hdfs://ns1/hbase/oldWALs")


def test_a_directory_of_many_pages_is_walked_whole(disk: Disk) -> None:
    (disk.path / "old/deep/er").mkdir(parents=True)
    for index in range(5_001):
        (disk.path / f"old/deep/w{index}").touch()
    disk.write("old/deep/er/w", "wal")
    (disk.path / "old/deep/loop").symlink_to(disk.path / "old")
    batches = list(disk.store.walk(disk.uri("old")))
    paths = [path for batch in batches for path in batch.paths]
    assert sorted(paths) == sorted([f"deep/w{index}" for index in range(5_001)] + ["deep/er/w"])
    assert max(map(len, batches)) <= 5_000
    assert list(disk.store.walk(disk.uri("old/none"))) == []
    assert disk.store.names(disk.uri("old/none")) == []


def test_only_trees_without_any_file_are_removed(disk: Disk) -> None:
    for name in ("old/full/a/b", "old/empty/a/b", "old/empty/c", "old/linked/a"):
        (disk.path / name).mkdir(parents=True)
    disk.write("old/full/a/b/w")
    (disk.path / "old/linked/a/link").symlink_to("nowhere")
    before = disk.tree()
    assert not disk.store.remove_empty(disk.uri("old/full"))
    assert not disk.store.remove_empty(disk.uri("old/linked"))
    assert not disk.store.remove_empty(disk.uri("old/full/a/b/w"))
    assert disk.tree() == before
    assert disk.store.remove_empty(disk.uri("old/empty"))
    assert disk.store.remove_empty(disk.uri("old/empty"))
    assert disk.tree() == {name for name in before if not name.startswith("old/empty")}


def test_directories_are_made_and_renamed(disk: Disk) -> None:
    disk.store.make_directories([disk.uri("quarantine/c/run/old"), disk.uri("quarantine/c/other")])
    disk.store.make_directories([disk.uri("quarantine/c/run/old")])
    disk.write("quarantine/c/run/old/w")
    run, work = disk.uri("quarantine/c/run"), disk.uri("quarantine/c/.at-work")
    assert disk.store.rename_directory(run, work)
    assert not disk.store.rename_directory(run, work)
    assert disk.store.names(disk.uri("quarantine/c")) == [".at-work", "other"]
    with pytest.raises(UnavailableError, match="AlreadyExists"):
        disk.store.rename_directory(work, disk.uri("quarantine/c/other"))
    with pytest.raises(UnavailableError, match="not a directory"):
        disk.store.rename_directory(f"{work}/old/w", f"{work}/old/v")
    with pytest.raises(UnavailableError):
        disk.store.make_directories([f"{work}/old/w/x"])
    assert disk.store.seen([f"{work}/old/w"])[0] is not None


def test_of_many_creators_one_succeeds(disk: Disk) -> None:
    uri = disk.uri("quarantine/c/.leases/0000000001.json")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda index: disk.store.create(uri, f"holder {index} ü"), range(8)))
    assert sorted(answers) == [False] * 7 + [True]
    assert disk.store.read(uri) == f"holder {answers.index(True)} ü"
    disk.store.replace(uri, "renewed")
    disk.store.replace(disk.uri("quarantine/new"), "first")
    assert (disk.store.read(uri), disk.store.read(disk.uri("quarantine/new"))) == ("renewed", "first")
    assert disk.store.names(disk.uri("quarantine/c/.leases")) == ["0000000001.json"]
    assert disk.store.read(disk.uri("quarantine/none")) is None
    (disk.path / "quarantine/dead").touch()
    assert disk.store.read(disk.uri("quarantine/dead")) == ""
    assert not disk.store.create(disk.uri("quarantine/dead"), "x")
    with pytest.raises(UnavailableError, match="not a file"):
        disk.store.read(disk.uri("quarantine/c"))


def test_an_error_of_the_disk_is_not_an_empty_place(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = disk.write("old/a", "new"), disk.write("quarantine/a", "kept")
    look = Path.lstat

    def stale(path: Path) -> os.stat_result:
        if path.parent.name == "quarantine":
            raise OSError(errno.ESTALE, "Stale file handle", str(path))
        return look(path)

    monkeypatch.setattr(Path, "lstat", stale)
    with pytest.raises(FileCallError, match="IOException: Stale file handle"):
        LocalCalls().rename_file(source, target)
    assert (disk.path / "quarantine/a").read_text() == "kept"


def test_a_directory_that_has_become_a_file_stays(disk: Disk) -> None:
    file = disk.write("old/a")
    with pytest.raises(FileCallError, match="NotAFile"):
        LocalCalls().delete_directory(file)
    assert (disk.path / "old/a").is_file()


def test_calls_about_nothing(disk: Disk) -> None:
    assert disk.store.seen([]) == []
    assert disk.store.move([]) == []
    assert disk.store.delete([]) == []
    disk.store.make_directories([])


def test_answers_keep_their_order(disk: Disk) -> None:
    uris = [
        disk.write(f"old/w{index}", "x" * index) if index % 3 else disk.uri(f"old/w{index}") for index in range(200)
    ]
    assert [seen and seen.length for seen in disk.store.seen(uris)] == [
        index if index % 3 else None for index in range(200)
    ]
    seen = disk.store.seen(uris[1:2])[0]
    assert isinstance(seen, FileState)
    assert seen.modification_time == (disk.path / "old/w1").stat().st_mtime_ns // 1_000_000


def test_directories_of_another_file_system_are_no_home(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not on the file system"):
        FileSystemWalStore(LocalCalls(), f"file:{tmp_path}", ["hdfs://ns1/hbase/oldWALs"])
