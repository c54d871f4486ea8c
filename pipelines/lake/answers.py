"""Protocols through which explain and the reports read walsafe's tables back."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from pipelines.lake.lake_records import FileVerdict, QueueNights, RunRecord
from pipelines.lake.run_summary import EarlierNights, FindingRow, PinnedRow, QueueOffsetRow, RunKey, VerdictTotal


class FindingReader(Protocol):
    """Reads what is needed to decide whether the clean-up is paused."""

    def newest_runs(self, cluster: str | None) -> tuple[RunRecord, ...]:
        """Returns the terminal runs of the cluster, or of all clusters, newest first."""
        ...

    def findings(self, runs: Collection[RunKey]) -> Mapping[str, tuple[FindingRow, ...]]:
        """Returns rows of `findings` by cluster, sorted by key."""
        ...


class AnswerReader(FindingReader, Protocol):
    """Reads the answers to the questions of explain."""

    def files(self, runs: Collection[RunKey], paths: Sequence[str], limit: int) -> tuple[FileVerdict, ...]:
        """Returns the files of these runs that match a path: both are equal, or one ends with `/` and the other."""
        ...

    def waiting(self, run: RunKey, peer_id: str, limit: int) -> tuple[FileVerdict, ...]:
        """Returns the first `limit` files that a peer still needs, by timestamp, then path."""
        ...

    def servers(self, runs: Collection[RunKey], name: str, limit: int) -> tuple[tuple[str, str], ...]:
        """Returns (cluster, server) pairs whose server is `name`, or begins with `name` and a comma."""
        ...

    def server_totals(self, run: RunKey, server: str) -> tuple[VerdictTotal, ...]:
        """Returns files and bytes of one server by verdict and reason."""
        ...

    def pinned(self, runs: Collection[RunKey]) -> Mapping[str, tuple[PinnedRow, ...]]:
        """Returns rows of `pinned_bytes` by cluster."""
        ...

    def queues(self, runs: Collection[RunKey]) -> Mapping[str, tuple[QueueOffsetRow, ...]]:
        """Returns rows of `queue_offsets` by cluster."""
        ...

    def queue_nights(self, cluster: str, before: int, nights: int) -> QueueNights:
        """Returns the queues of a cluster on its last DONE runs before an instant (ms), newest first."""
        ...

    def histories(self, before: Mapping[str, int], nights: int) -> Mapping[str, EarlierNights]:
        """Returns totals of the last DONE runs of each cluster before an instant (ms), oldest first."""
        ...
