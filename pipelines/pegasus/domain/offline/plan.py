"""Values of an offline split: its input, its options and its result by old partition."""

from dataclasses import dataclass

from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.partitions import is_power_of_two

_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    """Partition counts before and after.

    Raises:
        UsageError: no split leads from the old count to the new one.
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
class OldPartition:
    """One old partition.

    Attributes:
        partition: its index.
        database: directory of its RocksDB, in a replica or in a cold backup.
        logs: directory of its private logs; None = none, as in a cold backup.
        unread: why the file with the table's partition count cannot be parsed; None = the count agrees, or there is no
            such file.
    """

    partition: int
    database: str
    logs: str | None = None
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class OfflineSplitOptions:
    """Options of the split.

    Attributes:
        expired_at_s: rows that have expired at this time (seconds since 1970) are left out; None = all are kept.
        committed: decree up to which the log is applied; None = the largest committed decree in the log.
        cluster_id: cluster id for the time tags of rows from the log.
        file_bytes: approximate size at which a file is closed.
        parquet: write Parquet instead of SST files.
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
        partition: the new partition.
        parent: the old partition.
        file: name in the partition's directory.
        rows: rows in the file.
        bytes: size of the file.
        md5: MD5 of the file.
        raw_bytes: bytes of keys and values before compression.
    """

    partition: int
    parent: int
    file: str
    rows: int
    bytes: int
    md5: str
    raw_bytes: int


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """The result of one source.

    Attributes:
        files: files written, in order.
        read: rows of the database, including those of empty writes.
        logged: row writes and removals that the log added.
        flushed: last flushed decree of the database.
        committed: decree up to which the log was applied.
        expired: rows left out because they had expired.
        stale: rows left out because this partition does not own them: an earlier split left them.
        malformed: rows left out because their keys are malformed.
        empty: records of empty writes, left out.
        resumed: the result is from an earlier attempt.
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
