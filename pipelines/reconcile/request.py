"""The request and the ports of reconcile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import SparkSession

from pipelines.common.clock import Clock
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.forecast import Forecast
from pipelines.lake.run_summary import RunSummary
from pipelines.reconcile.lake_history import LakeHistory
from pipelines.reconcile.list_writer import DeleteListWriter
from pipelines.snapshot.reader import SnapshotDirectories


@dataclass(frozen=True)
class ReconcileRequest:
    """What to reconcile.

    Attributes:
        snapshots: snapshot directories; empty if `fleet` is given.
        fleet: a directory whose sub-directories are snapshots.
        run_id: None = the default of each snapshot.
        settings: from the configuration.
        acceptances: the reason of each expectation that `--accept EXPECTATION=REASON` overrules.
        config_sha256: digest of the effective configuration.
        run_by: the user.
        cluster: of every snapshot; None = any.
        configured: the cluster that the configuration names; a snapshot that is given alone and cannot be read is its.
        data_docs: whether to write what Great Expectations says beside the page.
    """

    snapshots: Sequence[str]
    fleet: str | None
    run_id: str | None
    settings: ReconcileSettings
    acceptances: Mapping[str, str]
    config_sha256: str
    run_by: str
    cluster: str | None = None
    configured: str | None = None
    data_docs: bool = False


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


@dataclass(frozen=True)
class ReconcilePorts:
    """The ports of reconcile; the session is used only to create and combine DataFrames."""

    spark: SparkSession
    clock: Clock
    reader: SnapshotDirectories
    tables: DeltaTables
    lake: LakeHistory
    lists: DeleteListWriter
    reporter: Reporter
    lake_uri: str
