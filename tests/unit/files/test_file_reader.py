"""What a directory on the local disk has, and files that may not be read."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.common.errors import UnavailableError, UsageError, WalsafeError
from pipelines.files.file_reader import DirectoryEntry, LocalFileReader
from pipelines.files.saved_text import lines_of


def test_a_link_counts_for_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    links = {"a": "folder", "b": "file", "c": "nothing", "d": "file/below", "e": "e"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    directories = {entry.name: entry.is_directory for entry in LocalFileReader().entries(str(tmp_path)) or ()}
    assert directories == {**dict.fromkeys(links, False), "a": True, "folder": True, "file": False}


def test_entries_are_sorted_and_what_is_no_directory_has_none(tmp_path: Path) -> None:
    for name in ("b", "a", "Z"):
        (tmp_path / name).touch()
    assert LocalFileReader().entries(f"file://{tmp_path}") == [DirectoryEntry(name, False) for name in ("Z", "a", "b")]
    assert LocalFileReader().entries(str(tmp_path / "a")) is None
    assert LocalFileReader().entries(str(tmp_path / "none")) is None


@pytest.mark.parametrize(
    "read",
    [
        LocalFileReader().entries,
        LocalFileReader().read,
        LocalFileReader().sha256,
        lambda path: list(lines_of(Path(path), path)),
    ],
)
@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (PermissionError("no answer"), UsageError),
        (OSError(errno.EROFS, "no answer"), UsageError),
        (OSError(errno.EIO, "no answer"), UnavailableError),
        (OSError("no answer"), UnavailableError),
    ],
)
def test_what_the_user_must_mend_is_told_from_what_may_answer_later(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str], object], failure: OSError, error: type[WalsafeError]
) -> None:
    """A mode of a file would not stop root, as whom tests run too."""

    def fails(*_arguments: object, **_options: object) -> None:
        raise failure

    monkeypatch.setattr(Path, "open", fails)
    monkeypatch.setattr(os, "scandir", fails)
    with pytest.raises(error, match=r"/locked.*no answer"):
        read("/locked")
