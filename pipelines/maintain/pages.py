"""Removes expired pages of runs, and what killed writers of pages left, below the folder of the reports.

A page is removed only if it says itself of which runs it is (pipelines/reconcile/page_head.py).
The index, the pages `latest.html` and every file of somebody else stay.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.lake.retention import LEFTOVER, PAGE, FileTotals, StoredDirectory
from pipelines.maintain.found_directories import FoundDirectories, UntouchedEntry, delete, found_or_untouched
from pipelines.reconcile.page_head import QUALITY, page_head

_TEMPORARY = re.compile(r"\..+\.html\.[0-9a-f]{32}")
"""How pipelines/files/text_files.py names a page that it is writing."""


class HadoopPages:
    """The pages below one folder: `<root>/<folder>/<name>.html`.

    Args:
        hadoop: the interface to Spark's JVM.
        root: the folder, as any Hadoop URI.
    """

    def __init__(self, hadoop: HadoopJvm, root: str) -> None:
        self._hadoop = hadoop
        with java_errors(root):
            path = hadoop.path(root)
            self._files: JavaObject = path.getFileSystem(hadoop.conf)
            self._root: JavaObject = self._files.makeQualified(path)

    def find(self) -> FoundDirectories:
        """Returns the pages of runs and the left-over files; a missing folder has none."""
        with java_errors(str(self._root.toString())):
            found = list(self._below(self._root, 1)) if self._files.exists(self._root) else []
        return FoundDirectories.of(found)

    def measure(self, stored: StoredDirectory) -> FileTotals | None:
        """Returns the size of a page; None if it is gone."""
        with java_errors(stored.uri):
            path = self._hadoop.path(stored.uri)
            return FileTotals(1, int(self._files.getFileStatus(path).getLen())) if self._files.exists(path) else None

    def remove(self, stored: StoredDirectory) -> None:
        """Removes a page, and the Data Docs of its night beside it.

        Raises:
            RefusedError: it is not in a place where `find` looks.
            UnavailableError: the file system did not delete it.
        """
        with java_errors(stored.uri):
            path = self._files.makeQualified(self._hadoop.path(stored.uri))
            folder = path.getParent()
            below = folder.equals(self._root) or folder.getParent().equals(self._root)
            if not below or _is_link(path) or _is_link(folder):
                raise RefusedError(
                    Condition.DIRECTORY_UNKNOWN,
                    f"{stored.uri} is not below {self._root.toString()}; nothing was removed",
                )
            quality = f"{path.getName().removesuffix('.html')}{QUALITY}"
            delete(self._files, self._hadoop.view.org.apache.hadoop.fs.Path(folder, quality))
            delete(self._files, path)

    def _below(self, folder: JavaObject, depth: int) -> Iterator[StoredDirectory | UntouchedEntry]:
        found = self._files.listStatus(folder)
        names = {str(status.getPath().getName()) for status in found}
        for status in found:
            path = status.getPath()
            name, uri = str(path.getName()), str(path.toString())
            beside_page = name.endswith(QUALITY) and f"{name.removesuffix(QUALITY)}.html" in names
            if _is_link(path) or beside_page:  # Data Docs go with their page
                continue
            if status.isDirectory():
                if depth == 1 and not name.startswith("."):
                    yield from found_or_untouched(self._files, path, self._below(path, 2))
            elif _TEMPORARY.fullmatch(name):
                yield StoredDirectory(LEFTOVER, uri, int(status.getModificationTime()))
            elif depth == 2 and name.endswith(".html"):
                yield from found_or_untouched(self._files, path, self._page(uri, name))

    def _page(self, uri: str, name: str) -> Iterator[StoredDirectory | UntouchedEntry]:
        head = page_head(self._files, self._hadoop.path(uri))
        if not head.of_walsafe or name == "latest.html":
            return
        if not head.runs:
            yield UntouchedEntry(uri, "it does not say of which run it is")
            return
        yield StoredDirectory(PAGE, uri, head.newest, shows=head.runs)


def _is_link(path: JavaObject) -> bool:
    return path.toUri().getScheme() == "file" and Path(str(path.toUri().getPath())).is_symlink()
