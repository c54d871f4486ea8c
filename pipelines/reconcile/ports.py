"""The ports of reconcile: lists, lake and reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.lake.forecast import Forecast
from pipelines.lake.run_summary import RunSummary
from pipelines.reconcile.delete_list import ListPart


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
class StagedLines:
    """The lines of one list in a hidden folder, where nothing can mistake them for a list."""

    folder: str
    parts: tuple[ListPart, ...]


@dataclass(frozen=True, slots=True)
class StagedLists:
    """The staged lines by cluster; a request without `files` has none."""

    requests: tuple[ListRequest, ...]
    lines: Mapping[str, StagedLines]


@dataclass(frozen=True, slots=True)
class RunRow:
    """The columns of `runs` that tell of an attempt; `at` in ms since the epoch."""

    status: str
    snapshot_sha256: str | None
    exit_code: int | None
    at: int


@dataclass(frozen=True, slots=True)
class PublishedPage:
    """The page of a cluster.

    Attributes:
        uri: its address.
        forecast: what it shows; None = it shows none.
        is_newest: see `RunSummary`.
    """

    uri: str
    forecast: Forecast | None = None
    is_newest: bool = True


class Reporter(Protocol):
    """Writes report pages after a run, and hears of a run that fails."""

    def publish(self, summaries: Sequence[RunSummary], quality: Mapping[str, object]) -> Mapping[str, PublishedPage]:
        """Writes them.

        Args:
            summaries: the clusters of the run.
            quality: what Data Docs show (`pipelines.decide.gate.validation.documents_of`); empty = there are none.

        Returns:
            The page of each cluster.
        """
        ...

    def failed(self, summaries: Sequence[RunSummary]) -> None:
        """Keeps the outcome of a failed run for its metrics."""
        ...
