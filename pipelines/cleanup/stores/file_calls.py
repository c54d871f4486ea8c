"""What a clean-up asks of one file system about one path: the port below `FileSystemWalStore`."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from pipelines.cleanup.stores.store_failures import OTHER, Failure, parse_failure
from pipelines.files.file_status import FileStatus


class FileCallError(Exception):
    """A call that the file system refused or did not answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class FileCalls(Protocol):
    """Calls on one file system; a path is a full URI that `parse_uri` accepts.

    Every method raises FileCallError, and may be called by several threads at the same time.
    """

    def status(self, uri: str) -> FileStatus:
        """Returns what is at a path, without following symbolic links; without its name."""
        ...

    def pages(self, uri: str) -> Iterator[Sequence[FileStatus]]:
        """Yields the elements of a directory."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Renames a directory; never replaces, never moves into a directory, never makes a parent."""
        ...

    def rename_file(self, source: str, target: str) -> None:
        """Renames a file; never replaces, never moves into a directory, never makes a parent.

        It fails with `OTHER` if the source is a directory or a symbolic link.
        """
        ...

    def replace(self, source: str, target: str) -> None:
        """Renames a file, and replaces the file of that name atomically if there is one."""
        ...

    def delete_file(self, uri: str) -> None:
        """Deletes a file; fails with `OTHER` if the path is a directory or a symbolic link."""
        ...

    def delete_directory(self, uri: str) -> None:
        """Deletes an empty directory; fails with `OTHER` if the path is a file or a symbolic link."""
        ...

    def make_directory(self, uri: str) -> None:
        """Creates a directory with its parents; an existing one is fine."""
        ...

    def write_new(self, uri: str, text: str) -> None:
        """Creates a UTF-8 file with its parents; of several callers one succeeds, and the others fail by `exists`."""
        ...

    def read(self, uri: str) -> str:
        """Returns the text of a file."""
        ...

    def close(self) -> None:
        """Closes the connections."""
        ...


def check_file(calls: FileCalls, uri: str) -> None:
    """Accepts a path only if a file is there.

    Raises:
        FileCallError: `OTHER` for a directory or a symbolic link, else as `FileCalls.status`.
    """
    if not calls.status(uri).is_file:
        raise FileCallError(parse_failure(OTHER))
