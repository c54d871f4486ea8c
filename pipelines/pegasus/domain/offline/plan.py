"""Values of an offline split: its input, its options, and its result for each old partition."""

from dataclasses import dataclass

from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.partitions import is_power_of_two

_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    """The partition counts before and after the split.

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
    """An old partition and the place of its data.

    Attributes:
        partition: the index of the partition.
        database: the directory of its RocksDB, in a replica or in a cold backup.
        logs: the directory of its private logs; None = it has no logs, as in a cold backup.
        unread: why the file with the table's partition count cannot be parsed; None = the count agrees, or there is no
            such file.
    """

    partition: int
    database: str
    logs: str | None = None
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class OfflineSplitOptions:
    """The options of an offline split.

    Attributes:
        expired_at_s: rows that have expired at this time (seconds since 1970) are left out; None = all are kept.
        committed: the decree up to which the log is applied; None = up to the largest committed decree in the log.
        cluster_id: the cluster id for the time tags of rows from the log.
        file_bytes: the approximate size at which a file is closed.
        parquet: whether to write Parquet instead of SST files.
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
    """The result of splitting one old partition.

    Attributes:
        files: the files written, in order.
        read: the number of rows of the database, including those of empty writes.
        logged: the number of row writes and removals that the log added.
        flushed: the last flushed decree of the database.
        committed: the decree up to which the log was applied.
        expired: the number of rows left out because they had expired.
        stale: the number of rows left out because this partition does not own them: an earlier split left them.
        malformed: the number of rows left out because their keys are malformed.
        empty: the number of records of empty writes, which are left out.
        resumed: whether the result comes from an earlier attempt.
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
        """Returns the number of rows written."""
        return sum(file.rows for file in self.files)
