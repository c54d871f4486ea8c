"""Wires reconcile and its reports with their production ports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from getpass import getuser

from jobs.cli.config.configuration import Config
from jobs.cli.context import JobContext
from jobs.cli.launch.places import PROGRAM
from pipelines.common.job_result import JobResult
from pipelines.decide.gate import gate
from pipelines.lake.cleanup_history import cleanup_steps
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.forecast import Forecast, capacity_of, days_until_full, night_totals
from pipelines.lake.lake_records import newest_by_cluster, newest_done
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import DONE, RunSummary
from pipelines.reconcile.lake_history import LakeHistory
from pipelines.reconcile.list_writer import DeleteListWriter
from pipelines.reconcile.reconcile import reconcile
from pipelines.reconcile.report import DETAILED, by_urgency
from pipelines.reconcile.report_files import HtmlReports
from pipelines.reconcile.request import PublishedPage, ReconcilePorts, ReconcileRequest, Reporter
from pipelines.reconcile.text import cluster_object
from pipelines.snapshot.reader import SnapshotDirectories

NIGHTS = 30
"""Number of earlier nights in the curves."""


class ReconcileReports:
    """The production `Reporter`.

    Args:
        context: of the job.
        lake_uri: the lake with the earlier nights.
        reports_uri: folder of the pages; None = `<lake>/reports`.
    """

    def __init__(self, context: JobContext, lake_uri: str, reports_uri: str | None) -> None:
        self._context = context
        self._lake = LakeReader.of(context.spark, lake_uri)
        self._pages = HtmlReports(context.spark, reports_uri or f"{lake_uri.rstrip('/')}/reports", PROGRAM)

    def failed(self, summaries: Sequence[RunSummary]) -> None:
        """Keep the outcome of each cluster, without sizes, for the metrics of the job."""
        self._context.failed_clusters = [
            cluster_object(replace(one, is_newest=one.mode != "REPLAY")) for one in summaries
        ]

    def publish(self, summaries: Sequence[RunSummary], quality: Mapping[str, object]) -> Mapping[str, PublishedPage]:
        """Write the page of the run with its Data Docs, and the pages of the whole lake; see `Reporter.publish`.

        Raises:
            UnavailableError: a file cannot be written, or the lake cannot be read.
        """
        shown = {one.cluster: one.files_started_ms for one in by_urgency(summaries)[:DETAILED] if one.status == DONE}
        histories = self._lake.histories(shown, NIGHTS)
        runs = self._lake.newest_runs(None)
        newest = {name: run.run_id for name, run in newest_by_cluster(runs).items()}
        told = [
            replace(
                one,
                history=histories.get(one.cluster, one.history),
                is_newest=newest.get(one.cluster, one.run_id) == one.run_id,
            )
            for one in summaries
        ]
        forecasts = {one.cluster: self._forecast(one) for one in told if one.cluster in shown}
        pages = self._pages.publish(told, forecasts, quality)
        findings = self._lake.findings([run.key for run in newest_done(runs).values()])
        self._pages.publish_index(summaries, runs, findings, self._context.clock.now_ms())
        return {
            one.cluster: PublishedPage(pages[one.cluster], forecasts.get(one.cluster), one.is_newest) for one in told
        }

    def _forecast(self, one: RunSummary) -> Forecast:
        steps = cleanup_steps(self._lake, one.cluster, one.key.run_date)
        totals = night_totals(one.files_started_ms, one.totals, one.history, steps)
        return days_until_full(totals, capacity_of(totals, one.capacity_bytes, one.free_bytes))


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
