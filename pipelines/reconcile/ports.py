"""The ports of reconcile: lists, lake, gate and reports."""

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
    """The manifest fields of one cluster's delete-safe list; instants in ms since the epoch."""

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
    """Lines of lists in hidden folders, where nothing can mistake them for lists.

    Attributes:
        requests: the requests of these lists; a request without `files` has no lines.
        folders: the hidden folder of each cluster's lines.
        counts: line count of each file, by the last two names of its path.
    """

    requests: tuple[ListRequest, ...]
    folders: Mapping[str, str]
    counts: Mapping[str, int]


class ListSink(Protocol):
    """Writes delete-safe lists, each complete or not at all."""

    def uri(self, cluster: str, run_id: str) -> str:
        """Returns the folder of one list."""
        ...

    def existing(self, cluster: str, run_id: str) -> Manifest | None:
        """Returns the manifest of a published list, or None."""
        ...

    def stage(self, deletable: DataFrame, requests: Sequence[ListRequest]) -> StagedLists:
        """Writes the lines of these clusters' lists to hidden folders, from `cluster`, `path`."""
        ...

    def publish(self, staged: StagedLists) -> Mapping[str, Manifest]:
        """Publishes staged lines as lists; returns the manifest of each cluster."""
        ...


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of `runs`."""

    status: str
    snapshot_sha256: str | None
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class RecordedRows:
    """The rows of an earlier run in the small tables."""

    totals: tuple[VerdictTotal, ...] = ()
    pinned: tuple[PinnedRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()


class RunHistory(Protocol):
    """Reads what this run and earlier runs wrote."""

    def attempts(self, keys: Collection[RunKey], *, given: bool) -> Mapping[tuple[str, str], Sequence[RunRow]]:
        """Returns the rows of `runs` of each (cluster, run_id), oldest first; `given`: a person chose the run_id."""
        ...

    def before(self, started: Mapping[str, int], nights: int) -> Mapping[str, Sequence[PastNight]]:
        """Returns the last DONE runs of each cluster before an instant (ms), newest first."""
        ...

    def sync_states(self, keys: Collection[RunKey]) -> Mapping[str, Mapping[str, PastSyncState]]:
        """Returns the recorded states of synchronous peers by cluster and peer; empty if the lake has no such table."""
        ...

    def recorded(self, keys: Collection[RunKey]) -> Mapping[str, RecordedRows]:
        """Returns the small tables' rows of DONE runs, by cluster."""
        ...

    def deletable(self, keys: Collection[RunKey], files: int) -> DataFrame:
        """Returns `cluster`, `path` of these runs' DELETABLE rows of `wal_verdicts`; the runs listed `files` files."""
        ...

    def with_reasons(self, keys: Collection[RunKey], files: int, reasons: Collection[str]) -> DataFrame:
        """Returns `cluster`, `path`, `length`, `reason` of the rows with one of the reasons; see `deletable`."""
        ...


class Gate(Protocol):
    """The Great Expectations gate."""

    def check_acceptances(self, accepted: Acceptances, max_deletable_share: float) -> None:
        """Raises UsageError if an `--accept` is unknown, has no reason, or must not be overruled."""
        ...

    def check(
        self, metrics: Sequence[ClusterMetrics], accepted: Acceptances, max_deletable_share: float
    ) -> Sequence[ExpectationResult]:
        """Checks every expectation for every cluster."""
        ...


class Reporter(Protocol):
    """Writes report pages and metrics files after a run."""

    def publish(self, summaries: Sequence[RunSummary]) -> Mapping[str, str]:
        """Writes them; returns the address of each cluster's page."""
        ...

    def failed(self, summaries: Sequence[RunSummary]) -> None:
        """Writes at least to the metrics that a run failed; raises as `publish` does."""
        ...
