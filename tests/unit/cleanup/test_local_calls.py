"""Calls on the local disk, one by one; the store over them: test_local_wal_store.py."""

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pipelines.cleanup.stores import local_calls
from pipelines.cleanup.stores.file_calls import FileCallError, check_file
from pipelines.cleanup.stores.local_calls import LocalCalls
from pipelines.files.file_status import FileStatus

CALLS = LocalCalls()


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """A directory with a file, an empty directory and a link that leads nowhere."""
    (tmp_path / "file").write_text("wal")
    os.utime(tmp_path / "file", ns=(0, 1_234_567_890))
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    return f"file:{tmp_path}"


def kind(call: Callable[[], object]) -> str:
    with pytest.raises(FileCallError) as refused:
        call()
    return refused.value.failure.kind


def test_what_is_at_a_path(uri: str) -> None:
    assert CALLS.status(f"{uri}/file") == FileStatus("", True, False, 3, 1_234)
    directory, link = CALLS.status(f"{uri}/empty"), CALLS.status(f"{uri}/link")
    assert (directory.is_file, directory.is_directory, directory.length) == (False, True, 0)
    assert (link.is_file, link.is_directory) == (False, False)
    assert kind(lambda: CALLS.status(f"{uri}/none")) == "FileNotFoundException"
    assert kind(lambda: CALLS.status(f"{uri}/file/none")) == "ParentNotDirectoryException"


def test_a_directory_in_pages(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_calls, "_PAGE", 2)
    pages = list(CALLS.pages(uri))
    assert [len(page) for page in pages] == [2, 1]
    assert {entry.name: entry.is_file for page in pages for entry in page} == {
        "file": True, "empty": False, "link": False,
    }  # fmt: skip
    assert list(CALLS.pages(f"{uri}/empty")) == []
    assert kind(lambda: list(CALLS.pages(f"{uri}/none"))) == "FileNotFoundException"
    # a name that is no UTF-8 is shown, and leads to no file
    (tmp_path / os.fsdecode(b"\xff")).touch()
    assert "\ufffd" in {entry.name for page in CALLS.pages(uri) for entry in page}


def test_what_vanishes_while_a_directory_is_listed_is_left_out(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_calls, "_PAGE", 1)
    look = Path.lstat

    def vanished(path: Path) -> os.stat_result:
        if path.name == "file":
            raise FileNotFoundError(errno.ENOENT, "gone", str(path))
        return look(path)

    monkeypatch.setattr(Path, "lstat", vanished)
    pages = list(CALLS.pages(uri))
    assert sorted(entry.name for page in pages for entry in page) == ["empty", "link"]
    assert all(pages)

    def unreadable(path: Path) -> os.stat_result:
        if path.name == "file":
            raise OSError(errno.EIO, "broken", str(path))
        return look(path)

    monkeypatch.setattr(Path, "lstat", unreadable)
    assert kind(lambda: list(CALLS.pages(uri))) == "IOException"


def test_a_rename_replaces_nothing_and_a_replacement_does(uri: str, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    for target in ("other", "empty", "link"):
        assert kind(partial(CALLS.rename, f"{uri}/file", f"{uri}/{target}")) == "FileAlreadyExistsException"
    assert kind(lambda: CALLS.rename(f"{uri}/none", f"{uri}/new")) == "FileNotFoundException"
    assert kind(lambda: CALLS.rename_file(f"{uri}/empty", f"{uri}/new")) == "NotAFile"
    assert kind(lambda: CALLS.rename_file(f"{uri}/link", f"{uri}/new")) == "NotAFile"
    CALLS.rename_file(f"{uri}/file", f"{uri}/new")
    CALLS.replace(f"{uri}/new", f"{uri}/other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "link", "other"]
    assert (tmp_path / "other").read_text() == "wal"
    assert kind(lambda: CALLS.replace(f"{uri}/none", f"{uri}/other")) == "FileNotFoundException"


def test_files_and_directories_are_deleted_as_what_they_are(uri: str, tmp_path: Path) -> None:
    for name in ("empty", "link"):
        assert kind(partial(CALLS.delete_file, f"{uri}/{name}")) == "NotAFile"
    assert kind(lambda: CALLS.delete_file(f"{uri}/none")) == "FileNotFoundException"
    for name in ("file", "link"):
        assert kind(partial(CALLS.delete_directory, f"{uri}/{name}")) == "NotAFile"
    assert kind(lambda: CALLS.delete_directory(uri)) == "PathIsNotEmptyDirectoryException"
    CALLS.delete_file(f"{uri}/file")
    CALLS.delete_directory(f"{uri}/empty")
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_files_and_directories_are_made_with_their_parents(uri: str, tmp_path: Path) -> None:
    CALLS.make_directory(f"{uri}/a/b")
    CALLS.make_directory(f"{uri}/a/b")
    assert kind(lambda: CALLS.make_directory(f"{uri}/file")) == "FileAlreadyExistsException"
    CALLS.write_new(f"{uri}/c/d/new", "Größe")
    CALLS.write_new(f"{uri}/c/d/newer", "")
    assert (tmp_path / "c/d/new").read_bytes() == "Größe".encode()
    assert CALLS.read(f"{uri}/c/d/new") == "Größe"
    assert kind(lambda: CALLS.write_new(f"{uri}/c/d/new", "other")) == "FileAlreadyExistsException"
    assert CALLS.read(f"{uri}/c/d/new") == "Größe"
    (tmp_path / "file").write_bytes(b"\xffa")
    assert CALLS.read(f"{uri}/file") == "\ufffda"
    assert kind(lambda: CALLS.read(f"{uri}/none")) == "FileNotFoundException"


@pytest.mark.parametrize(
    ("number", "known"),
    [
        (errno.ENOENT, "FileNotFoundException"),
        (errno.ENOTDIR, "ParentNotDirectoryException"),
        (errno.EEXIST, "FileAlreadyExistsException"),
        (errno.EACCES, "AccessControlException"),
        (errno.EPERM, "AccessControlException"),
        (errno.ENOTEMPTY, "PathIsNotEmptyDirectoryException"),
        (errno.EIO, "IOException"),
        (None, "IOException"),
    ],
)
def test_errors_of_the_system_have_the_names_that_hadoop_gives_them(
    uri: str, monkeypatch: pytest.MonkeyPatch, number: int | None, known: str
) -> None:
    def fails(_path: Path) -> os.stat_result:
        raise OSError("words") if number is None else OSError(number, "words", "the path")

    monkeypatch.setattr(Path, "lstat", fails)
    with pytest.raises(FileCallError) as refused:
        check_file(CALLS, f"{uri}/file")
    assert refused.value.failure.kind == known
    if number is not None:
        assert refused.value.failure.message == "words: the path"
    assert str(refused.value) == refused.value.failure.text
