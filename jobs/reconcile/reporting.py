"""Wires the reports of a run: the HTML page with its curves, the index of all clusters, and the metrics file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from pipelines.common.clock import Clock
from pipelines.lake.forecast import Forecast, capacity_of, days_until_full, night_totals
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import DONE, RunSummary
from pipelines.reconcile.metrics import MetricsFile
from pipelines.reconcile.report import DETAILED, by_urgency
from pipelines.reconcile.report_files import HtmlReports
from pipelines.reconcile.report_index import newest_done

NIGHTS = 30
"""Number of earlier nights in the curves."""


class ReconcileReports:
    """The production `Reporter`.

    Args:
        spark: the session.
        clock: gives the time at which the metrics are written.
        lake_uri: the lake with the earlier nights.
        reports_uri: folder of the pages; None = `<lake>/reports`.
        metrics_uri: the metrics file; None = no metrics are written.
    """

    def __init__(
        self, spark: SparkSession, clock: Clock, lake_uri: str, reports_uri: str | None, metrics_uri: str | None
    ) -> None:
        self._clock = clock
        self._lake = LakeReader.of(spark, lake_uri)
        self._pages = HtmlReports(spark, reports_uri or f"{lake_uri.rstrip('/')}/reports")
        self._metrics = MetricsFile(spark, metrics_uri) if metrics_uri else None

    def failed(self, summaries: Sequence[RunSummary]) -> None:
        """Write the metrics of a failed run: its outcome, without sizes.

        Raises:
            UnavailableError: the file cannot be written.
        """
        if self._metrics is not None:
            self._metrics.write(summaries, self._clock.now_ms())

    def publish(self, summaries: Sequence[RunSummary]) -> Mapping[str, str]:
        """Write the metrics, then the page of the run, and the pages of the whole lake.

        Returns:
            The URI of the page, by cluster.

        Raises:
            UnavailableError: a file cannot be written, or the lake cannot be read.
        """
        if self._metrics is not None:
            self._metrics.write(summaries, self._clock.now_ms())
        shown = [one for one in by_urgency(summaries)[:DETAILED] if one.status == DONE]
        histories = self._lake.histories({one.cluster: one.files_started_ms for one in shown}, NIGHTS)
        told = [replace(one, history=histories.get(one.cluster, one.history)) for one in summaries]
        forecasts = {one.cluster: self._forecast(one) for one in shown}
        pages = self._pages.publish(told, forecasts)
        runs = self._lake.newest_runs(None)
        findings = self._lake.findings([run.key for run in newest_done(runs).values()])
        self._pages.publish_index(summaries, runs, findings, self._clock.now_ms())
        return pages

    def _forecast(self, one: RunSummary) -> Forecast:
        totals = night_totals(self._lake, one.key, one.files_started_ms)
        return days_until_full(totals, capacity_of(totals, one.capacity_bytes, one.free_bytes))
