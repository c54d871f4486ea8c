"""Copies of saved files: what was copied in part is copied again."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.saved_text import LocalCopies, lines_of

URI = "hdfs://ns1/export/queues ä %41.txt"
"""Hadoop decodes nothing in a path."""
TEXT = "first\nsecond\n"


class Remote:
    """A file system with one file; a copy that is to fail writes half of it first."""

    def __init__(self, *, failures: int = 0) -> None:
        self.failures = failures
        self.copies = 0

    def qualified(self, uri: str) -> str:
        return uri

    def path(self, uri: str) -> Any:  # noqa: ANN401 - Java's
        return SimpleNamespace(uri=uri, getFileSystem=lambda _conf: self)

    conf = None

    def exists(self, path: Any) -> bool:  # noqa: ANN401 - Java's
        return bool(path.uri == URI)

    def copyToLocalFile(self, _delete: bool, _source: object, target: Any, _raw: bool) -> None:  # noqa: ANN401, N802
        self.copies += 1
        file = Path(target.uri.removeprefix("file://"))
        if self.copies <= self.failures:
            file.write_text(TEXT[:6])
            raise UnavailableError("the connection broke")
        file.write_text(TEXT)


def test_a_copy_that_failed_half_way_is_made_again() -> None:
    """Half of it ends with a whole line: a scan of queues would look shorter, a listing older."""
    remote = Remote(failures=1)
    copies = LocalCopies(remote)  # type: ignore[arg-type]
    with pytest.raises(UnavailableError, match="the connection broke"):
        copies.local(URI)
    assert [line for _, line in lines_of(copies.local(URI), URI)] == ["first", "second"]
    assert copies.local(URI) == copies.local(URI)
    assert remote.copies == 2, "what was copied whole is not copied again"
    copies.close()


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match=r"no such file: hdfs://ns1/other\.txt"):
        LocalCopies(Remote()).local("hdfs://ns1/other.txt")  # type: ignore[arg-type]


def test_a_folder_that_may_not_be_searched_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_arguments: object, **_options: object) -> None:
        raise PermissionError("denied")

    copies = LocalCopies()
    monkeypatch.setattr(os, "stat", denied)
    with pytest.raises(UsageError, match=r"no such file: /locked/files\.txt"):
        copies.local("/locked/files.txt")
    monkeypatch.undo()
    copies.close()
