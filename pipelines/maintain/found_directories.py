"""The entries that maintain finds below a folder of lists, snapshots or pages, and what finds them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from py4j.protocol import Py4JJavaError

from pipelines.common.errors import UnavailableError
from pipelines.files.hadoop_jvm import JavaObject, java_cause
from pipelines.lake.retention import FileTotals, StoredDirectory


@dataclass(frozen=True, slots=True)
class UntouchedEntry:
    """An entry of a folder of lists, snapshots or pages that maintain does not touch, and the reason."""

    uri: str
    why: str


@dataclass(frozen=True, slots=True)
class FoundDirectories:
    """The entries below a folder."""

    stored: tuple[StoredDirectory, ...]
    left_alone: tuple[UntouchedEntry, ...]

    @classmethod
    def of(cls, found: Sequence[StoredDirectory | UntouchedEntry]) -> "FoundDirectories":
        """Sorts entries into those that may expire and those that are left alone."""
        return cls(
            tuple(one for one in found if isinstance(one, StoredDirectory)),
            tuple(one for one in found if isinstance(one, UntouchedEntry)),
        )


class ExpiringFolder(Protocol):
    """A folder of directories or pages that expire: `HadoopDirectories`, `HadoopPages`."""

    def find(self) -> FoundDirectories:
        """Returns every entry below the folder that may expire, and those that are left alone."""
        ...

    def measure(self, stored: StoredDirectory) -> FileTotals | UntouchedEntry | None:
        """Returns the size of an entry, or why it is left alone; None if it is gone."""
        ...

    def remove(self, stored: StoredDirectory) -> None:
        """Removes an entry; raises `RefusedError` if it is not below the folder."""
        ...


def found_or_untouched(
    files: JavaObject, path: JavaObject, found: Iterator[StoredDirectory | UntouchedEntry]
) -> Iterator[StoredDirectory | UntouchedEntry]:
    """Yields what is found of one entry; an entry that cannot be read is left alone, one that is gone is skipped.

    Args:
        files: Hadoop's file system.
        path: the entry.
        found: reads the entry.

    Raises:
        Py4JJavaError: the file system does not even answer whether the entry exists.
    """
    try:
        yield from found
    except Py4JJavaError as error:
        if files.exists(path):
            yield UntouchedEntry(str(path.toString()), java_cause(error))


def delete(files: JavaObject, path: JavaObject, *, recursive: bool = False) -> None:
    """Deletes an entry; one that is gone already is no error.

    Raises:
        UnavailableError: it is still there. On a local disk, Hadoop raises nothing then.
    """
    if not files.delete(path, recursive) and files.exists(path):
        raise UnavailableError(f"{path.toString()} could not be deleted; check the permissions and try again")
