"""The ports of reconcile: where snapshots come from and where lists go."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.decide.gate.gate_metrics import ClusterMetrics, ExpectationResult
from pipelines.decide.rule.settings import Acceptances
from pipelines.lake.run_summary import FindingRow, PinnedRow, RunKey, RunSummary, VerdictTotal
from pipelines.reconcile.delete_list import Manifest
from pipelines.reconcile.past import PastNight
from pipelines.reconcile.sync_states import PastSyncState


@dataclass(frozen=True, slots=True)
class ListRequest:
    """What one cluster's delete-safe list says besides its lines; instants in ms since the epoch."""

    cluster: str
    cluster_id: str | None
    run_id: str
    wal_root: str
    snapshot_sha256: str
    decided_at: int
    not_after: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StagedLists:
    """Lines of lists that nobody can take for lists yet.

    Attributes:
        requests: what they are lines of; without `files`, there are none.
        folders: the hidden folder of each cluster's lines.
        counts: lines of each file, by the last two names of its path.
    """

    requests: tuple[ListRequest, ...]
    folders: Mapping[str, str]
    counts: Mapping[str, int]


class ListSink(Protocol):
    """Emits delete-safe lists, whole or not at all."""

    def uri(self, cluster: str, run_id: str) -> str:
        """The folder of one list."""
        ...

    def existing(self, cluster: str, run_id: str) -> Manifest | None:
        """The manifest that stands, or None."""
        ...

    def stage(self, deletable: DataFrame, requests: Sequence[ListRequest]) -> StagedLists:
        """Write the lines of these clusters' lists from their `cluster`, `path`, hidden."""
        ...

    def publish(self, staged: StagedLists) -> Mapping[str, Manifest]:
        """Make lists of the lines."""
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """A row of `runs`."""

    status: str
    snapshot_sha256: str | None
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The small tables of an earlier run."""

    totals: tuple[VerdictTotal, ...] = ()
    pinned: tuple[PinnedRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()


class Lake(Protocol):
    """Reads what earlier runs wrote."""

    def attempts(self, keys: Collection[RunKey], *, given: bool) -> Mapping[tuple[str, str], Sequence[Attempt]]:
        """Earlier rows of `runs` of these (cluster, run_id), oldest first; given: a person chose the run_id."""
        ...

    def before(self, started: Mapping[str, int], nights: int) -> Mapping[str, Sequence[PastNight]]:
        """The last DONE runs of each cluster before an instant (ms), newest first."""
        ...

    def sync_states(self, keys: Collection[RunKey]) -> Mapping[str, Mapping[str, PastSyncState]]:
        """What these runs said of synchronous peers, by cluster and peer; nothing in a lake without that table."""
        ...

    def recorded(self, keys: Collection[RunKey]) -> Mapping[str, Recorded]:
        """What runs that are DONE wrote of themselves, by cluster."""
        ...

    def deletable(self, keys: Collection[RunKey], files: int) -> DataFrame:
        """`cluster`, `path` of the DELETABLE rows of `wal_verdicts` of these runs, which listed so many files."""
        ...

    def with_reasons(self, keys: Collection[RunKey], files: int, reasons: Collection[str]) -> DataFrame:
        """`cluster`, `path`, `length`, `reason` of the rows with such a reason; see `deletable`."""
        ...


class Gate(Protocol):
    """The Great Expectations gate."""

    def check_acceptances(self, accepted: Acceptances, max_deletable_share: float) -> None:
        """Hold `--accept` to what a person may overrule."""
        ...

    def check(
        self, metrics: Sequence[ClusterMetrics], accepted: Acceptances, max_deletable_share: float
    ) -> Sequence[ExpectationResult]:
        """Every expectation for every cluster."""
        ...


class Reporter(Protocol):
    """What people look at after a run: report pages, metrics files."""

    def publish(self, summaries: Sequence[RunSummary]) -> Mapping[str, str]:
        """Write them; the address of each cluster's page."""
        ...

    def failed(self, summaries: Sequence[RunSummary]) -> None:
        """Say at least in the metrics that a run failed; raises as `publish` does."""
        ...
