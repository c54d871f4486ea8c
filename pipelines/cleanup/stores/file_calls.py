"""What a clean-up asks of one file system about one path: the port below `FileSystemWalStore`."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from pipelines.cleanup.stores.store_failures import Failure
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
        """Renames a file in the same way; a failure of kind `OTHER` = a directory or a symbolic link is there."""
        ...

    def replace(self, source: str, target: str) -> None:
        """Renames a file to a name whose present file, if any, it replaces atomically."""
        ...

    def delete_file(self, uri: str) -> None:
        """Deletes a file; a failure of kind `OTHER` = a directory or a symbolic link is there."""
        ...

    def delete_directory(self, uri: str) -> None:
        """Deletes an empty directory."""
        ...

    def make_directory(self, uri: str) -> None:
        """Creates a directory with its parents; an existing one is fine."""
        ...

    def write_new(self, uri: str, text: str) -> None:
        """Creates a UTF-8 file with its parents; only one of several callers succeeds, the others fail by `exists`."""
        ...

    def read(self, uri: str) -> str:
        """Returns the text of a file."""
        ...

    def close(self) -> None:
        """Closes the connections."""
        ...
