"""Wires reconcile with its production ports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from getpass import getuser

from jobs.cli.config.configuration import Config
from jobs.cli.context import JobContext
from jobs.reconcile.reporting import ReconcileReports
from pipelines.common.job_result import JobResult
from pipelines.decide.gate import gate
from pipelines.lake.delta_tables import DeltaTables
from pipelines.reconcile.lake_history import LakeHistory
from pipelines.reconcile.list_writer import DeleteListWriter
from pipelines.reconcile.reconcile import reconcile
from pipelines.reconcile.request import ReconcilePorts, ReconcileRequest, Reporter
from pipelines.snapshot.reader import SnapshotDirectories


@dataclass(frozen=True, slots=True)
class OutputPlaces:
    """The places that a run writes to; Hadoop URIs.

    Attributes:
        lake: folder of the Delta tables.
        lists: folder of the delete-safe lists.
        reports: folder of the HTML pages; None = `<lake>/reports`.
    """

    lake: str
    lists: str
    reports: str | None = None


def run_reconcile(
    context: JobContext,
    config: Config,
    places: OutputPlaces,
    snapshots: Sequence[str],
    *,
    fleet: str | None = None,
    cluster: str | None = None,
    run_id: str | None = None,
    acceptances: Mapping[str, str] | None = None,
    reporter: Reporter | None = None,
) -> JobResult:
    """Run reconcile on snapshots with the production ports."""
    gate.preload()
    spark = context.spark
    request = ReconcileRequest(
        snapshots=snapshots,
        fleet=fleet,
        cluster=cluster,
        configured=config.cluster,
        run_id=run_id,
        settings=config.settings(),
        acceptances=acceptances or {},
        config_sha256=config.digest(),
        run_by=getuser(),
        data_docs=config.quality.data_docs,
    )
    ports = ReconcilePorts(
        spark=spark,
        clock=context.clock,
        reader=SnapshotDirectories(spark, config.settings().row_layout),
        tables=DeltaTables(spark, places.lake),
        lake=LakeHistory(spark, places.lake),
        lists=DeleteListWriter(spark, places.lists),
        reporter=reporter or ReconcileReports(context, places.lake, places.reports),
        lake_uri=places.lake,
    )
    return reconcile(request, ports)
