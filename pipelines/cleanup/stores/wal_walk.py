"""Walks directory trees for the stores that move and delete; independent of the file system."""

from collections.abc import Callable, Iterator, Sequence

from pipelines.files.file_batch import FileBatch
from pipelines.files.file_status import FileStatus

Pages = Callable[[str], Iterator[Sequence[FileStatus]]]
"""Lists the directory at a URI in pages; yields no page if there is no such directory (any more)."""


def walk_files(pages: Pages, directory: str) -> Iterator[FileBatch]:
    """Yields all files below a directory, depth first, with relative paths.

    Memory grows with the number of directories, plus one page.
    """
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
    """Returns the URIs of all directories of a tree, children before parents.

    None = the tree contains something else.
    """
    found = [directory]
    for parent in found:  # the list grows in the loop
        for page in pages(parent):
            if not all(entry.is_directory for entry in page):
                return None
            found += [f"{parent}/{entry.name}" for entry in page]
    return found[::-1]
