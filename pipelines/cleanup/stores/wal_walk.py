"""Trees of directories, whatever lists them: for the stores that move and delete."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pipelines.files.file_batch import FileBatch


class Listed(NamedTuple):
    """One element of a directory; a symbolic link is neither a file nor a directory."""

    name: str
    is_file: bool
    is_directory: bool
    length: int
    modification_time: int


Pages = Callable[[str], Iterator[Sequence[Listed]]]
"""Lists a directory, given by its URI, in pages; none where there is no such directory (any more)."""


def walk_files(pages: Pages, directory: str) -> Iterator[FileBatch]:
    """All files below a directory, depth first, paths relative to it. Memory grows with directories and one page."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        directories: list[str] = []
        for page in pages(f"{directory}/{below}".removesuffix("/")):
            directories += [f"{below}{entry.name}/" for entry in page if entry.is_directory]
            files = [entry for entry in page if entry.is_file]
            if files:
                yield FileBatch(
                    [f"{below}{entry.name}" for entry in files],
                    [entry.length for entry in files],
                    [entry.modification_time for entry in files],
                )
        waiting += sorted(directories, reverse=True)


def directories_without_files(pages: Pages, directory: str) -> list[str] | None:
    """URIs of a tree of directories, each after all that lie below it; None = something else lies in it."""
    found = [directory]
    for parent in found:  # grows meanwhile
        for page in pages(parent):
            if not all(entry.is_directory for entry in page):
                return None
            found += [f"{parent}/{entry.name}" for entry in page]
    return found[::-1]
