"""What an offline split is made of: its input, its options, and its result for each old partition."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import gcd

from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.offline.copies import CopyProblem
from pipelines.pegasus.domain.partitions import MOST_PARTITIONS, is_power_of_two
from pipelines.pegasus.domain.private_log.log_file import LogFile

MANIFEST = "_split_manifest.json"
"""Stands beside the output of split-run and split-export. Readers of Parquet ignore files that begin with `_`."""
SAMPLES = 5
"""How many keys a finding names."""


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    """The partition counts before and after the split.

    Raises:
        UsageError: no split leads from the old count to the new one.
    """

    old: int
    new: int

    def __post_init__(self) -> None:
        if not is_power_of_two(self.new) or not 0 < self.old < self.new <= MOST_PARTITIONS:
            raise UsageError(
                f"from {self.old} to {self.new} partitions: the new number must be a power of two above the old one, "
                f"at most {MOST_PARTITIONS}, for servers find a key's owner by hash & (number - 1)"
            )

    def groups(self) -> list[range]:
        """Returns the old partitions in groups; those of a group give rows to the same new partitions.

        If the old count is a power of two, each old partition is a group of its own.
        """
        step = gcd(self.old, self.new)
        return [range(first, self.old, step) for first in range(step)]

    def targets(self, first: int) -> range:
        """Returns the new partitions that get the rows of the group with this first partition."""
        return range(first, self.new, gcd(self.old, self.new))

    @property
    def lowest(self) -> int:
        """Returns the lowest count with which a table of the old count may have been created."""
        return self.old // gcd(self.old, self.new)


@dataclass(frozen=True, slots=True)
class OldPartition:
    """An old partition and the place of its data.

    Attributes:
        partition: the index of the partition.
        database: the directory of its RocksDB, in a replica or in a cold backup; a URI if it is on another file system.
        logs: the directory of its private logs, like `database`; None = it has no logs, as in a cold backup.
        valid_offset: the global offset in the private logs from which mutations count.
        durable_decree: the decree up to which the data must be flushed, by `.init-info`.
        unread: why the file with the table's partition count cannot be read; None = the count agrees.
        created_with: the number of partitions with which the table was created, by the same file; None = unknown.
        lacks_init_info: whether this is a replica without `.init-info`, so that nobody knows what it demands.
    """

    partition: int
    database: str
    logs: str | None = None
    valid_offset: int = 0
    durable_decree: int = 0
    unread: str | None = None
    created_with: int | None = None
    lacks_init_info: bool = False

    @property
    def is_remote(self) -> bool:
        """Returns whether a task must copy the files before it can open them."""
        return "://" in self.database


def created_with(sources: Iterable[OldPartition]) -> int | None:
    """Returns the number of partitions with which a table was created; None = unknown.

    The files of all partitions must state the same number. Pegasus writes -1 for a table that it never split online
    (`local_partition_split`), which says nothing.
    """
    found = {source.created_with or 0 for source in sources}
    return max(found) if len(found) == 1 and max(found) > 0 else None


def backup_began(checkpoints: Iterable[OldPartition]) -> int | None:
    """Returns when a cold backup began, in ms since the epoch; None = unknown.

    That is its id (`policy_context::prepare_current_backup_on_new_unlocked`), the name of the directory above the
    table's. A backup has every write that was acknowledged before.
    """
    found = {path[-4] for source in checkpoints if len(path := source.database.split("/")) > 3}
    if len(found) != 1 or not re.fullmatch(r"[1-9]\d{12}", name := found.pop()):
        return None
    return int(name)


@dataclass(frozen=True, slots=True)
class OfflineSplitOptions:
    """The options of an offline split.

    Attributes:
        now_s: the time that decides which rows have expired, seconds since 1970.
        drop_expired: whether to leave out expired rows.
        created_with: the number of partitions before any split that may have left copies; None = unknown.
        committed: the `last_committed_decree` by old partition, where the operator knows it; the log of a partition
            without an entry counts as far as it is prepared.
        cluster_id: the cluster id for the time tags of rows from the log.
        file_bytes: the approximate size at which a file is closed.
        task_bytes: the approximate size of the old files that one task reads.
        parquet: whether to write Parquet instead of SST files.
    """

    now_s: int
    drop_expired: bool = False
    created_with: int | None = None
    committed: Mapping[int, int] = field(default_factory=dict)
    cluster_id: int = 1
    file_bytes: int = 64 << 20
    task_bytes: int = 1 << 30
    parquet: bool = False


@dataclass(frozen=True, slots=True)
class PartFile:
    """One file of a new partition: the row of `split_manifest`.

    Attributes:
        partition: the new partition.
        parent: the old partition; if several give rows to the new one, the first of them.
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
class UnprovenCopies:
    """Rows of an old partition that it does not own, and that cannot be left out without a doubt.

    Attributes:
        rows: the number of rows.
        samples: the keys of the first rows, as text.
    """

    problem: CopyProblem
    rows: int
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """The result of splitting one old partition.

    Attributes:
        files: the files written, in order; those of several old partitions stand with the first.
        read: the number of rows of the database, including those of empty writes.
        logged: the number of row writes and removals that the log added.
        flushed: the last flushed decree of the database.
        committed: the decree up to which the log was applied.
        owned: the number of rows that this partition owns, including expired ones.
        expired: the number of rows left out because they had expired.
        stale: the number of rows left out because this partition does not own them: an earlier split left them.
        malformed: the number of rows left out because Pegasus does not write such keys or values.
        empty: the number of records of empty writes, which are left out.
        left_out: the decrees of prepared mutations that are not in the output.
        logs: the private logs.
        copies: the rows of other partitions that cannot be left out without a doubt.
        owners: the partitions that own rows of this one; the result depends on their data too.
        resumed: whether the result comes from an earlier attempt.
    """

    partition: int
    files: tuple[PartFile, ...] = ()
    read: int = 0
    logged: int = 0
    flushed: int = 0
    committed: int = 0
    owned: int = 0
    expired: int = 0
    stale: int = 0
    malformed: int = 0
    empty: int = 0
    left_out: tuple[int, ...] = ()
    logs: tuple[LogFile, ...] = ()
    copies: tuple[UnprovenCopies, ...] = ()
    owners: tuple[int, ...] = ()
    resumed: bool = False

    @property
    def rows(self) -> int:
        """Returns the number of rows written."""
        return sum(file.rows for file in self.files)
