"""The ports through which maintain reads and changes the lake, the lists and the snapshots; nothing of HBase's."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from pipelines.lake.retention import Needed, Partition, Size, Stored
from schemas.table import Table


class NeededReader(Protocol):
    """Asks the lake what must stay."""

    def needed(self, nights: int) -> Needed:
        """The newest `nights` DONE runs of each cluster, and every run whose files may be in quarantine.

        Raises:
            UsageError: the lake is not there, or a table of it is damaged.
            UnavailableError: it did not answer.
        """
        ...


class TableKeeper(Protocol):
    """Maintains one table at a time.

    Every method raises UsageError where a person must act (a damaged log) and UnavailableError where another try may
    succeed. No row of a partition that is not named is ever lost, whoever writes at the same time.
    """

    def exists(self, table: Table) -> bool:
        """Whether the lake has this table."""
        ...

    def partitions(self, table: Table) -> tuple[Partition, ...]:
        """All nights of the table, from its log alone."""
        ...

    def last_written(self, table: Table, dates: Collection[date]) -> Mapping[date, int]:
        """The newest `at` of these nights, ms; empty for a table without that column."""
        ...

    def drop(self, table: Table, dates: Collection[date]) -> None:
        """Delete whole nights: a commit of the log; their files stay until VACUUM."""
        ...

    def compact(self, table: Table, dates: Collection[date]) -> None:
        """Merge the small files of these nights; the rows stay as they are."""
        ...

    def grace_ms(self, table: Table) -> int:
        """How long the table keeps files that its log no longer names."""
        ...

    def set_grace(self, table: Table, grace_ms: int) -> None:
        """Change that: a commit of the log."""
        ...

    def removable(self, table: Table) -> Size:
        """What VACUUM would remove now; writes nothing."""
        ...

    def vacuum(self, table: Table) -> None:
        """Remove the files that no version within the grace needs."""
        ...


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Something in a folder of lists or snapshots that maintain does not touch, and why."""

    uri: str
    why: str


@dataclass(frozen=True, slots=True)
class Found:
    """What is below a folder."""

    stored: tuple[Stored, ...]
    left_alone: tuple[LeftAlone, ...]


class StoredDirectories(Protocol):
    """The directories below one folder of lists or of snapshots.

    Raises UsageError and UnavailableError as `TableKeeper` does.
    """

    def find(self) -> Found:
        """Everything below the folder; what is no list, snapshot or left-over is left alone."""
        ...

    def measure(self, stored: Stored) -> Size | LeftAlone:
        """How large it is; left alone when it holds files that are no part of it."""
        ...

    def remove(self, stored: Stored) -> None:
        """Remove the whole directory; a reader sees all of it or nothing."""
        ...
