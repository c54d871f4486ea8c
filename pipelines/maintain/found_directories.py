"""The entries that maintain finds below a folder of lists, snapshots or pages, and what finds them."""

from dataclasses import dataclass
from typing import Protocol

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


class ExpiringFolder(Protocol):
    """A folder of directories or pages that expire: `HadoopDirectories`, `HadoopPages`."""

    def find(self) -> FoundDirectories:
        """Returns every entry below the folder that may expire, and those that are left alone."""
        ...

    def measure(self, stored: StoredDirectory) -> FileTotals | UntouchedEntry:
        """Returns the size of an entry, or why it is left alone."""
        ...

    def remove(self, stored: StoredDirectory) -> None:
        """Removes an entry; raises `RefusedError` if it is not below the folder."""
        ...
