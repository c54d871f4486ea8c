"""What an offline split is asked to do, and what came of one source."""

from dataclasses import dataclass

from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.partitions import is_power_of_two

_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Counts:
    """Partitions before and after.

    Raises:
        UsageError: no split leads from the one to the other.
    """

    old: int
    new: int

    def __post_init__(self) -> None:
        if not 0 < self.old <= _MOST or not is_power_of_two(self.new) or not self.old < self.new <= _MOST:
            raise UsageError(
                f"from {self.old} to {self.new} partitions: the new number must be a power of two above the old one, "
                "for servers find a key's owner by hash & (number - 1)"
            )


@dataclass(frozen=True, slots=True)
class Source:
    """One old partition.

    Attributes:
        partition: its index.
        database: directory of its RocksDB: of a replica or of a cold backup.
        logs: directory of its private logs; None = there is none, as in a cold backup.
        unread: what is wrong with the file that counts the table's partitions; None = it agrees, or is not there.
    """

    partition: int
    database: str
    logs: str | None = None
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """How rows are treated.

    Attributes:
        expired_at_s: rows that expired until then, seconds since 1970, are left out; None = all are kept.
        committed: decree up to which the log is applied; None = the largest that the log says is committed.
        cluster_id: for time tags of rows from the log.
        file_bytes: a file is closed at about so many bytes.
        parquet: Parquet instead of SSTs.
    """

    expired_at_s: int | None = None
    committed: int | None = None
    cluster_id: int = 1
    file_bytes: int = 64 << 20
    parquet: bool = False


@dataclass(frozen=True, slots=True)
class PartFile:
    """One file of a new partition: the row of `split_manifest`.

    Attributes:
        partition: the new one.
        parent: the old one.
        file: below the partition's directory.
        rows: rows in it.
        bytes: its size.
        md5: of its bytes.
        raw_bytes: keys and values before compression.
    """

    partition: int
    parent: int
    file: str
    rows: int
    bytes: int
    md5: str
    raw_bytes: int


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one source.

    Attributes:
        files: written, in order.
        read: rows of the database, those of empty writes included.
        logged: row writes and removals that the log added.
        flushed: last flushed decree of the database.
        committed: decree up to which the log was applied.
        expired: rows left out because they had expired.
        stale: rows left out because they are not this partition's: an earlier split left them.
        malformed: rows left out because their keys are none.
        empty: records of empty writes, left out.
        resumed: it was there from an earlier attempt.
    """

    partition: int
    files: tuple[PartFile, ...]
    read: int = 0
    logged: int = 0
    flushed: int = 0
    committed: int = 0
    expired: int = 0
    stale: int = 0
    malformed: int = 0
    empty: int = 0
    resumed: bool = False

    @property
    def rows(self) -> int:
        """Rows written."""
        return sum(file.rows for file in self.files)
