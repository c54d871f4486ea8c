"""The ports through which maintain reads and changes the lake, the lists and the snapshots; none touches HBase."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from pipelines.lake.retention import FileTotals, NeededRuns, NightPartition, StoredDirectory
from schemas.table import Table


class NeededReader(Protocol):
    """Reads from the lake which runs must be kept."""

    def needed(self, nights: int) -> NeededRuns:
        """Returns the newest `nights` DONE runs of each cluster, and every run whose files may be in quarantine.

        Raises:
            UsageError: there is no lake, or one of its tables is damaged.
            UnavailableError: the lake did not answer.
        """
        ...


class TableKeeper(Protocol):
    """Maintains one table at a time.

    Every method raises UsageError if a person must act (a damaged log) and UnavailableError if another try may succeed.
    Rows of partitions that are not named are never lost, even with concurrent writers.
    """

    def exists(self, table: Table) -> bool:
        """Whether the lake has this table."""
        ...

    def partitions(self, table: Table) -> tuple[NightPartition, ...]:
        """Returns all nights of the table, from its log alone."""
        ...

    def last_written(self, table: Table, dates: Collection[date]) -> Mapping[date, int]:
        """Returns the newest `at` of each of these nights, ms; empty for a table without that column."""
        ...

    def drop(self, table: Table, dates: Collection[date]) -> None:
        """Deletes whole nights with a commit to the log; their files stay until VACUUM."""
        ...

    def compact(self, table: Table, dates: Collection[date]) -> None:
        """Merges the small files of these nights; the rows do not change."""
        ...

    def grace_ms(self, table: Table) -> int:
        """Returns how long (ms) the table keeps files that its log no longer names."""
        ...

    def set_grace(self, table: Table, grace_ms: int) -> None:
        """Sets `grace_ms` with a commit to the log."""
        ...

    def removable(self, table: Table) -> FileTotals:
        """Returns the size of what VACUUM would remove now; writes nothing."""
        ...

    def vacuum(self, table: Table) -> None:
        """Removes the files that no version within the grace needs."""
        ...


@dataclass(frozen=True, slots=True)
class UntouchedEntry:
    """An entry of a folder of lists or snapshots that maintain does not touch, and the reason."""

    uri: str
    why: str


@dataclass(frozen=True, slots=True)
class FoundDirectories:
    """The entries below a folder."""

    stored: tuple[StoredDirectory, ...]
    left_alone: tuple[UntouchedEntry, ...]


class StoredDirectories(Protocol):
    """The directories below one folder of lists or of snapshots.

    Raises UsageError and UnavailableError as `TableKeeper` does.
    """

    def find(self) -> FoundDirectories:
        """Returns every entry below the folder; those that are not a list, snapshot or leftover are left alone."""
        ...

    def measure(self, stored: StoredDirectory) -> FileTotals | UntouchedEntry:
        """Returns the size of a directory, or `UntouchedEntry` if it contains files that are not part of it."""
        ...

    def remove(self, stored: StoredDirectory) -> None:
        """Removes the whole directory; a reader sees all of it or nothing."""
        ...
