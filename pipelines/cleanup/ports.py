"""The port through which clean, restore and purge touch files: the only one of walsafe that can move or delete any.

`reconcile`, `capture` and `explain` never receive it, and import-linter keeps its implementations from them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.files.file_batch import FileBatch


@dataclass(frozen=True, slots=True)
class Seen:
    """What the file system shows at a path.

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
    """A rename that is wanted; full URIs of files of one file system."""

    source: str
    target: str


class WalStore(Protocol):
    """Files of one file system, by full URI as in the delete-safe list (not percent-encoded).

    Calls for many files are bulk calls: one answer an element, in order; one bad element never hides the others.
    Every method raises UnavailableError when the file system does not answer at all, or refuses everything (safe
    mode), and UsageError when the user may not do that at all.
    """

    def seen(self, uris: Sequence[str]) -> list[Seen | None]:
        """What is there; None = nothing. Symbolic links are not followed."""
        ...

    def move(self, moves: Sequence[Move]) -> list[str | None]:
        """Rename each file, never overwriting and never creating a parent; None = done, else why not, in one line."""
        ...

    def delete(self, uris: Sequence[str]) -> list[str | None]:
        """Delete each file, for good, never a directory; None = it is gone now, else why not, in one line."""
        ...

    def walk(self, directory: str) -> Iterator[FileBatch]:
        """All files below a directory, paths relative to it; nothing where there is no such directory."""
        ...

    def make_directories(self, uris: Sequence[str]) -> None:
        """Make directories with their parents; those that stand are fine."""
        ...

    def remove_empty(self, directory: str) -> bool:
        """Remove a tree of directories without any file; False = it holds some, and nothing was removed."""
        ...

    def names(self, directory: str) -> list[str]:
        """Names of the elements of a directory, sorted; none where there is no such directory."""
        ...

    def rename_directory(self, source: str, target: str) -> bool:
        """Rename a directory to a name that does not exist yet; False = no such source. Atomic.

        Raises:
            UnavailableError: the target exists, or the file system refused.
        """
        ...

    def create(self, uri: str, text: str) -> bool:
        """Create a small UTF-8 file, parents included; False = it exists already. Of two callers one gets True."""
        ...

    def replace(self, uri: str, text: str) -> None:
        """Write a small UTF-8 file in place of what is there."""
        ...

    def read(self, uri: str) -> str | None:
        """Text of a small file; None = there is none."""
        ...
