"""The ports to walsafe's own Delta tables: one that reads them back, one that writes them. Neither deletes a file."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.domain.lake_records import FileVerdict, QueueNights, RunRecord
from pipelines.domain.past import PastNight
from pipelines.domain.run_summary import History, PinnedRow, QueueRow, RunKey, VerdictTotal
from schemas.table import Table


class TableSink(Protocol):
    """Writes tables; every error is an `UnavailableError` or a `UsageError` that names the path."""

    def ensure(self) -> None:
        """Create what is missing, add columns that are new."""
        ...

    def replace(self, writes: Mapping[str, DataFrame], runs: Collection[RunKey]) -> None:
        """Make the frames, by table name, the whole of what the tables hold of these runs."""
        ...

    def append_rows(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Append a few rows in one commit."""
        ...

    def frame(self, table: Table, rows: Sequence[Mapping[str, object]]) -> DataFrame:
        """Rows of the driver as a frame of the table's columns; timestamps as ms since the epoch."""
        ...


class PastReader(Protocol):
    """What reconcile asks of earlier nights; the cost does not grow with the history in the lake."""

    def terminal(self, runs: Collection[RunKey]) -> Mapping[RunKey, RunRecord]:
        """The last terminal row of these runs; runs without one are left out."""
        ...

    def past_nights(self, before: Mapping[str, int], nights: int) -> Mapping[str, tuple[PastNight, ...]]:
        """The last DONE runs of each cluster before an instant (ms), newest first."""
        ...

    def histories(self, before: Mapping[str, int], nights: int) -> Mapping[str, History]:
        """Curves of the last DONE runs of each cluster before an instant (ms), oldest first."""
        ...


class AnswerReader(Protocol):
    """What explain asks."""

    def newest_runs(self, cluster: str | None) -> tuple[RunRecord, ...]:
        """Terminal runs of the cluster, or of all, newest first."""
        ...

    def files(self, runs: Collection[RunKey], paths: Sequence[str], limit: int) -> tuple[FileVerdict, ...]:
        """Files of these runs that a path means: equal, or one ends with the other at a slash."""
        ...

    def waiting(self, run: RunKey, peer_id: str, limit: int) -> tuple[FileVerdict, ...]:
        """The first files that a peer still needs, by timestamp, then path."""
        ...

    def servers(self, runs: Collection[RunKey], name: str, limit: int) -> tuple[tuple[str, str], ...]:
        """(cluster, server) pairs whose server is `name`, or begins with `name` and a comma."""
        ...

    def server_totals(self, run: RunKey, server: str) -> tuple[VerdictTotal, ...]:
        """Files of one server by verdict and reason."""
        ...

    def pinned(self, runs: Collection[RunKey]) -> Mapping[str, tuple[PinnedRow, ...]]:
        """Rows of `pinned_bytes` by cluster."""
        ...

    def queues(self, runs: Collection[RunKey]) -> Mapping[str, tuple[QueueRow, ...]]:
        """Rows of `queue_offsets` by cluster."""
        ...

    def queue_nights(self, cluster: str, before: int, nights: int) -> QueueNights:
        """How the queues of a cluster stood on its last DONE runs before an instant (ms), newest first."""
        ...

    def histories(self, before: Mapping[str, int], nights: int) -> Mapping[str, History]:
        """Curves of the last DONE runs of each cluster before an instant (ms), oldest first."""
        ...
