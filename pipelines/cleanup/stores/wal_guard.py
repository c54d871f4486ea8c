"""The last check before a store changes a path: it must lie in an allowed directory, with no symbolic link above it."""

from collections.abc import Callable, Iterable, Sequence

from pipelines.cleanup.paths import check_paths, check_within, folders_above, parse_uri, refuse_outside
from pipelines.cleanup.stores.store_failures import Failure, failed, to_blame
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.files.file_status import FileStatus

Describe = Callable[[Sequence[str]], Sequence[FileStatus | Failure]]
"""Describes each URI without following symbolic links."""


class WalGuard:
    """Checks the paths that one store is about to change.

    Args:
        root: a full URI on the store's file system.
        within: the full URIs of the directories inside which alone the store may change anything.
        describe: returns the status of each URI, without following symbolic links.

    Raises:
        UsageError: a directory of `within` is not on that file system.
    """

    def __init__(self, root: str, within: Iterable[str], describe: Describe) -> None:
        self._root = root
        self._within = check_within(within, root)
        self._home = parse_uri(root.removesuffix("/"))
        self._describe = describe

    def allow(self, uris: Sequence[str]) -> None:
        """Accepts only paths that may be changed; asks the file system once about each directory above them.

        Raises:
            RefusedError: a path lies elsewhere, or a symbolic link is on the way to it.
            UnavailableError: the file system does not answer.
        """
        check_paths(uris, lambda uri: refuse_outside(uri, self._within))
        folders, what = folders_above(uris), f"looking for symbolic links on {self._root}"
        failures = []
        for folder, answer in zip(folders, self._describe(folders), strict=True):
            is_link = isinstance(answer, FileStatus) and not answer.is_file and not answer.is_directory
            if is_link or (isinstance(answer, Failure) and answer.kind == "UnresolvedLinkException"):
                raise RefusedError(
                    Condition.SYMBOLIC_LINK,
                    f"{folder} is a symbolic link, which may lead anywhere: nothing was changed; "
                    "give the path to which it leads",
                )
            # a folder that is missing or not readable is ignored here: the calls on its elements fail then
            if isinstance(answer, Failure) and not answer.gone and not answer.denied:
                failures.append(answer)
        if failures:
            raise failed(to_blame(failures), what)

    def own(self, uris: Iterable[str]) -> None:
        """Checks that paths are on this file system; they are only to be read.

        Raises:
            RefusedError: a path is on another file system, or is invalid.
        """
        check_paths(uris, self._refuse_elsewhere)

    def _refuse_elsewhere(self, uri: str) -> None:
        if parse_uri(uri)[:2] != self._home[:2]:
            raise RefusedError(
                Condition.OUTSIDE_WAL_ROOT,
                f"{uri} is not on the file system of {self._root}; check the list and wal_root",
            )
