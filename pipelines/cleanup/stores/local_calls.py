"""Makes the clean-up's calls on the local disk."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from pipelines.cleanup.paths import parse_uri
from pipelines.cleanup.stores.file_calls import FileCallError, check_file
from pipelines.cleanup.stores.store_failures import OTHER, Failure, parse_failure
from pipelines.files.file_status import FileStatus

_PAGE = 5_000
# the names that Hadoop gives to these errors
_KINDS = {
    errno.ENOENT: "FileNotFoundException",
    errno.ENOTDIR: "ParentNotDirectoryException",
    errno.EEXIST: "FileAlreadyExistsException",
    errno.EACCES: "AccessControlException",
    errno.EPERM: "AccessControlException",
    errno.ENOTEMPTY: "PathIsNotEmptyDirectoryException",
}


class LocalCalls:
    """Implements `FileCalls` on the local disk."""

    def status(self, uri: str) -> FileStatus:
        """See `FileCalls.status`."""
        with _failures():
            return _described(_path(uri), "")

    def pages(self, uri: str) -> Iterator[Sequence[FileStatus]]:
        """See `FileCalls.pages`; omits an element that vanishes meanwhile."""
        directory = _path(uri)
        with _failures():
            entries = os.scandir(directory)
        with entries:
            while True:
                page = []
                with _failures():
                    names = [entry.name for entry in islice(entries, _PAGE)]
                for name in names:
                    with suppress(FileNotFoundError), _failures(FileNotFoundError):
                        # a name that is not UTF-8 gets a replacement character, and so names no file
                        page.append(_described(directory / name, os.fsencode(name).decode("utf-8", "replace")))
                if not names:
                    return
                if page:
                    yield page

    def rename(self, source: str, target: str) -> None:
        """See `FileCalls.rename`."""
        with _failures():
            # not os.path.lexists, which also reports an error of the disk as "does not exist"
            with suppress(FileNotFoundError):
                _path(target).lstat()
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), _path(target))
            _path(source).rename(_path(target))

    def rename_file(self, source: str, target: str) -> None:
        """See `FileCalls.rename_file`."""
        check_file(self, source)
        self.rename(source, target)

    def replace(self, source: str, target: str) -> None:
        """See `FileCalls.replace`."""
        with _failures():
            _path(source).replace(_path(target))

    def delete_file(self, uri: str) -> None:
        """See `FileCalls.delete_file`."""
        check_file(self, uri)
        with _failures():
            _path(uri).unlink()

    def delete_directory(self, uri: str) -> None:
        """See `FileCalls.delete_directory`."""
        with _failures():
            try:
                _path(uri).rmdir()
            except NotADirectoryError as error:
                raise FileCallError(parse_failure(OTHER)) from error

    def make_directory(self, uri: str) -> None:
        """See `FileCalls.make_directory`."""
        with _failures():
            _path(uri).mkdir(parents=True, exist_ok=True)

    def write_new(self, uri: str, text: str) -> None:
        """See `FileCalls.write_new`."""
        path = _path(uri)
        with _failures():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(text.encode("utf-8"))

    def read(self, uri: str) -> str:
        """See `FileCalls.read`."""
        with _failures():
            return _path(uri).read_bytes().decode("utf-8", "replace")

    def close(self) -> None:
        """Does nothing, because nothing is open."""


def _path(uri: str) -> Path:
    return Path(parse_uri(uri).path)


def _described(path: Path, name: str) -> FileStatus:
    status = path.lstat()
    is_directory = S_ISDIR(status.st_mode)
    length = 0 if is_directory else status.st_size
    return FileStatus(name, S_ISREG(status.st_mode), is_directory, length, status.st_mtime_ns // 1_000_000)


@contextmanager
def _failures(*passed: type[OSError]) -> Iterator[None]:
    """Turns errors of the operating system into FileCallError, except the types in `passed`."""
    try:
        yield
    except passed:
        raise
    except OSError as error:
        kind = _KINDS.get(error.errno or 0, "IOException")
        raise FileCallError(Failure(kind, f"{error.strerror}: {error.filename}")) from error
