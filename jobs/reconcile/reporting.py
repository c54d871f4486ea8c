"""Wires the reports of a run: the HTML page with its curves, and the metrics file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from pipelines.common.clock import Clock
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import DONE, RunSummary
from pipelines.reconcile.metrics import MetricsFile
from pipelines.reconcile.report import DETAILED, HtmlReports, by_urgency

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
        """Write the metrics, then the page of the run.

        Returns:
            The URI of the page, by cluster.

        Raises:
            UnavailableError: a file cannot be written, or the lake cannot be read.
        """
        if self._metrics is not None:
            self._metrics.write(summaries, self._clock.now_ms())
        shown = [one for one in by_urgency(summaries)[:DETAILED] if one.status == DONE]
        histories = self._lake.histories({one.cluster: one.files_started_ms for one in shown}, NIGHTS)
        return self._pages.publish([replace(one, history=histories.get(one.cluster, one.history)) for one in summaries])
