"""Declares the port through which clean, restore and purge touch files.

No other port of walsafe can move or delete files. `reconcile`, `capture` and `explain` never receive it, and
import-linter keeps its implementations from them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.files.file_batch import FileBatch


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a path in the file system.

    Attributes:
        length: bytes.
        modification_time: ms since the epoch.
        is_file: False for a directory and for a symbolic link, neither of which walsafe ever moves or deletes.
    """

    length: int
    modification_time: int
    is_file: bool = True


@dataclass(frozen=True, slots=True)
class Move:
    """A rename to do, with the full URIs of two files on one file system."""

    source: str
    target: str


class WalStore(Protocol):
    """Reads, moves and deletes files of one file system, by full URI as in the delete-safe list (not percent-encoded).

    A call for many files gives one answer for each element, in order; a bad element never hides the answers of the
    others. Every method raises UnavailableError if the file system does not answer at all or refuses everything (safe
    mode), and UsageError if the user lacks all permission for the call.
    """

    def seen(self, uris: Sequence[str]) -> list[FileState | None]:
        """Returns the state of each path; None = nothing is there. Symbolic links are not followed."""
        ...

    def move(self, moves: Sequence[Move]) -> list[str | None]:
        """Renames each file; never overwrites a file and never creates a parent.

        Returns:
            For each file None if it was renamed, else the reason in one line.
        """
        ...

    def delete(self, uris: Sequence[str]) -> list[str | None]:
        """Deletes each file permanently, never a directory.

        Returns:
            For each file None if it is gone now, else the reason in one line.
        """
        ...

    def walk(self, directory: str) -> Iterator[FileBatch]:
        """Yields all files below a directory with their relative paths.

        Yields nothing if there is no such directory.
        """
        ...

    def make_directories(self, uris: Sequence[str]) -> None:
        """Creates directories with their parents; accepts directories that exist already."""
        ...

    def remove_empty(self, directory: str) -> bool:
        """Removes a tree of directories that contains no file.

        Returns False, and removes nothing, if it contains a file.
        """
        ...

    def names(self, directory: str) -> list[str]:
        """Returns the names of the elements of a directory, sorted; empty if there is no such directory."""
        ...

    def rename_directory(self, source: str, target: str) -> bool:
        """Renames a directory atomically to a name that does not exist yet; returns False if there is no such source.

        Raises:
            UnavailableError: the target exists, or the file system refused the rename.
        """
        ...

    def create(self, uri: str, text: str) -> bool:
        """Creates a small UTF-8 file with its parents; returns False if it exists already.

        Of two callers, only one gets True.
        """
        ...

    def replace(self, uri: str, text: str) -> None:
        """Replaces the content of a small UTF-8 file."""
        ...

    def read(self, uri: str) -> str | None:
        """Returns the text of a small file; None = there is no such file."""
        ...
