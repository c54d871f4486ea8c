"""The port through which explain and the reports read walsafe's own tables back."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from pipelines.lake.lake_records import FileVerdict, QueueNights, RunRecord
from pipelines.lake.run_summary import FindingRow, History, PinnedRow, QueueRow, RunKey, VerdictTotal


class FindingReader(Protocol):
    """What tells whether the clean-up is paused."""

    def newest_runs(self, cluster: str | None) -> tuple[RunRecord, ...]:
        """Terminal runs of the cluster, or of all, newest first."""
        ...

    def findings(self, runs: Collection[RunKey]) -> Mapping[str, tuple[FindingRow, ...]]:
        """Rows of `findings` by cluster, sorted by key."""
        ...


class AnswerReader(FindingReader, Protocol):
    """What explain asks."""

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
