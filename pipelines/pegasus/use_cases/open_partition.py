"""Opens old partitions: the rows of their data as their logs leave them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain

from pipelines.pegasus.domain.offline.merge import merged_rows, row_batches
from pipelines.pegasus.domain.offline.model import OfflineSplitOptions, OldPartition
from pipelines.pegasus.domain.offline.ranges import SplitTask
from pipelines.pegasus.domain.offline.tail import log_tail, refuse_incomplete, refuse_missing_log
from pipelines.pegasus.domain.private_log.log_file import LogFile
from pipelines.pegasus.sinks.part_files import PartitionFiles
from pipelines.pegasus.sources.replica_db import ReplicaDb
from pipelines.pegasus.sources.replica_logs import ReplicaLogs

BATCH = 8_000
Row = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class PartitionTools:
    """What a task reads old partitions and their logs with, and what it writes the new ones with."""

    open_db: Callable[[OldPartition], AbstractContextManager[ReplicaDb]]
    logs: Callable[[OldPartition], AbstractContextManager[ReplicaLogs]]
    sink: PartitionFiles


class OpenPartition:
    """The data of an old partition and the tail of its log.

    Attributes:
        read: the number of rows that `batches` has read from the database.
    """

    def __init__(
        self, source: OldPartition, database: ReplicaDb, rules: OfflineSplitOptions, tools: PartitionTools
    ) -> None:
        """Reads the log.

        Raises:
            UsageError, RefusedError: see `refuse_incomplete`, `log_tail` and `refuse_missing_log`.
        """
        self.database, self.read = database, 0
        refuse_incomplete(database.flushed, source.durable_decree, source.database)
        committed, where = rules.committed.get(source.partition), source.logs or source.database
        with nullcontext() if source.logs is None else tools.logs(source) as logs:
            self.tail = log_tail(
                logs or (), database.flushed, committed, database.data_version, rules.cluster_id, where
            )
            self.logs: Sequence[LogFile] = () if logs is None else tuple(logs.files)
        if committed is None:
            refuse_missing_log(self.logs, source.valid_offset, database.flushed, self.tail.last, where)

    def batches(self, task: SplitTask) -> Iterator[list[Row]]:
        """Yields the rows of a task's range as the log leaves them, in key order."""
        below = self._counted(task)
        tail = {key: value for key, value in self.tail.rows.items() if task.has(key)}
        if tail:
            below = row_batches(merged_rows(chain.from_iterable(below), tail), BATCH)
        yield from below

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the value of each key; None = no such row."""
        rows = self.tail.rows
        return [rows.get(key, value) for key, value in zip(keys, self.database.get(keys), strict=True)]

    def _counted(self, task: SplitTask) -> Iterator[list[Row]]:
        for batch in self.database.batches(BATCH, task.begin, task.end):
            self.read += len(batch)
            yield batch
