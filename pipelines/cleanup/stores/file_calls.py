"""Declares the calls of the clean-up on one path of one file system: the port below `FileSystemWalStore`."""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from pipelines.cleanup.ports import Move
from pipelines.cleanup.stores.store_failures import OTHER, Failure, parse_failure
from pipelines.files.file_status import FileStatus


class FileCallError(Exception):
    """The file system refused a call, or did not answer it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class FileCalls(Protocol):
    """Calls on one file system; a path is a full URI that `parse_uri` accepts.

    Every method raises FileCallError, and may be called by several threads at the same time.
    """

    def status(self, uri: str) -> FileStatus:
        """Returns the status of a path, without its name; does not follow symbolic links."""
        ...

    def pages(self, uri: str) -> Iterator[Sequence[FileStatus]]:
        """Yields the elements of a directory in pages."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Renames a directory; never replaces the target, never moves into a directory, never creates a parent."""
        ...

    def rename_file(self, source: str, target: str) -> None:
        """Renames a file; never replaces the target, never moves into a directory, never creates a parent.

        The call fails with `OTHER` if the source is a directory or a symbolic link.
        """
        ...

    def replace(self, source: str, target: str) -> None:
        """Renames a file; if the target exists, replaces it atomically."""
        ...

    def delete_file(self, uri: str) -> None:
        """Deletes a file; fails with `OTHER` if the path is a directory or a symbolic link."""
        ...

    def delete_directory(self, uri: str) -> None:
        """Deletes an empty directory; fails with `OTHER` if the path is a file or a symbolic link."""
        ...

    def make_directory(self, uri: str) -> None:
        """Creates a directory with its parents; accepts a directory that exists already."""
        ...

    def write_new(self, uri: str, text: str) -> None:
        """Creates a UTF-8 file with its parents.

        Of several callers one succeeds, and the others get a failure that `exists`.
        """
        ...

    def read(self, uri: str) -> str:
        """Returns the text of a UTF-8 file."""
        ...

    def close(self) -> None:
        """Closes the connections."""
        ...


@runtime_checkable
class ManyCalls(Protocol):
    """Calls about many paths at a time, for a file system where a single call costs more on its way than in the end.

    Each answers for the paths in their order, as the call of `FileCalls` does for each alone, with its failure as the
    answer. Once the file system does not answer, the paths that follow are not tried.
    """

    def statuses(self, uris: Sequence[str]) -> list[FileStatus | Failure]:
        """See `FileCalls.status`."""
        ...

    def rename_files(self, moves: Sequence[Move]) -> list[Failure | None]:
        """See `FileCalls.rename_file`."""
        ...

    def delete_files(self, uris: Sequence[str]) -> list[Failure | None]:
        """See `FileCalls.delete_file`."""
        ...


@runtime_checkable
class SeveralNameNodes(Protocol):
    """For a file system whose name nodes the calls choose themselves."""

    def status_before_change(self, uri: str) -> FileStatus:
        """See `FileCalls.status`; if the name node that took the last change is away, another one may answer.

        That one may be behind. So this is for the look before a change, which only the active name node takes; never
        for a look that says where a file is.
        """
        ...


def check_file(calls: FileCalls, uri: str) -> None:
    """Accepts a path only if it is a file.

    Raises:
        FileCallError: `OTHER` for a directory or a symbolic link; otherwise the errors of `FileCalls.status`.
    """
    if not calls.status(uri).is_file:
        raise FileCallError(parse_failure(OTHER))
