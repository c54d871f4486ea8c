"""Writes the HTML pages: of each run, the latest of each cluster, and the index of all."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from pipelines.common.errors import WalsafeError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.files.text_files import text_files_for, write_text
from pipelines.lake.forecast import Forecast
from pipelines.lake.lake_records import RunRecord, newest_by_cluster, runs_by_cluster
from pipelines.lake.run_summary import FindingRow, RunSummary
from pipelines.reconcile.cluster_cases import UNREADABLE
from pipelines.reconcile.page_head import QUALITY, page_head
from pipelines.reconcile.report import report_html
from pipelines.reconcile.report_index import NIGHTS, index_html
from pipelines.reconcile.report_templates import data_docs, page, resource

_LOG = logging.getLogger(__name__)
FLEET = "fleet"
LATEST_PAGE = "latest"
_WRITERS = 8


class HtmlReports:
    """The folder of the pages.

    `<uri>/<cluster>/<run_id>.html` is the page of a run, or `<uri>/fleet/<run_id>.html` of a run of several clusters,
    with the run id of its newest cluster; `<uri>/<cluster>/latest.html` leads to the newest one.

    Args:
        spark: the session.
        uri: of the folder.
        program: what a person types before the name of a job.
    """

    def __init__(self, spark: SparkSession, uri: str, program: str) -> None:
        self._spark = spark
        self._uri = uri.rstrip("/")
        self._program = program

    def publish(
        self,
        summaries: Sequence[RunSummary],
        forecasts: Mapping[str, Forecast] | None = None,
        quality: Mapping[str, object] | None = None,
    ) -> Mapping[str, str]:
        """Writes the page of a run, and its Data Docs as `<run_id>.quality.html` beside it.

        Args:
            summaries: the clusters of the run.
            forecasts: by cluster.
            quality: see `data_docs`; the page leads to them, or to those that an earlier attempt wrote.

        Returns:
            The URI of each cluster's page, by cluster.

        Raises:
            UnavailableError: the file system failed to write it.
            UsageError: Hadoop has no file system for the name.
        """
        if not summaries:
            return {}
        name = _page_name(summaries)
        uri = f"{self._uri}/{name}.html"
        beside = f"{self._uri}/{name}{QUALITY}"
        if quality:
            write_text(self._spark, beside, data_docs(quality, summaries))
        there = quality or text_files_for(self._spark, beside).exists(beside)  # a run that was already done wrote them
        docs = beside.rpartition("/")[2] if there else None
        write_text(self._spark, uri, report_html(summaries, forecasts or {}, docs, self._program))
        fleet = len(summaries) > 1
        return {one.cluster: f"{uri}#cluster-{one.cluster}" if fleet else uri for one in summaries}

    def publish_index(
        self,
        summaries: Sequence[RunSummary],
        runs: Sequence[RunRecord],
        findings: Mapping[str, Sequence[FindingRow]],
        now: int,
    ) -> None:
        """Writes the index, and leads `latest.html` of each cluster to this run's page if no run is newer.

        Each of these files is derived from the lake, so of two nights that end together the last one may win.

        Args:
            summaries: the clusters of the run, whose page is written.
            runs: the runs of all clusters in the lake, newest first.
            findings: the findings of each cluster's newest DONE run.
            now: ms since the epoch.

        Raises:
            UsageError, UnavailableError: the file system failed to write or list the pages.
        """
        if not summaries:
            return
        name, newest = _page_name(summaries), newest_by_cluster(runs)
        fleet = name.startswith(f"{FLEET}/")
        texts = {
            f"{one.cluster}/{LATEST_PAGE}": latest_html(
                one.cluster, f"../{name}.html#cluster-{one.cluster}" if fleet else f"{name.partition('/')[2]}.html"
            )
            for one in summaries
            if one.cluster in newest and newest[one.cluster].run_id == one.run_id
        }
        pages = self._pages([*newest, FLEET]) | set(texts)
        texts["index"] = index_html(runs, findings, pages, self._of_fleets(pages, runs), now)
        texts["findings"] = findings_html()
        with ThreadPoolExecutor(_WRITERS) as writers:
            list(writers.map(lambda one: write_text(self._spark, f"{self._uri}/{one[0]}.html", one[1]), texts.items()))

    def _pages(self, folders: Iterable[str]) -> set[str]:
        """Returns the pages below these folders as `<folder>/<name>`, without `.html`."""
        hadoop, wanted, found = HadoopJvm.of(self._spark), set(folders), set()
        with java_errors(self._uri):
            files = hadoop.path(self._uri).getFileSystem(hadoop.conf)
            for folder in wanted.intersection(_names(hadoop, files, self._uri)):
                names = _names(hadoop, files, f"{self._uri}/{folder}")
                found |= {f"{folder}/{name.removesuffix('.html')}" for name in names if name.endswith(".html")}
        return found

    def _of_fleets(self, pages: Collection[str], runs: Sequence[RunRecord]) -> Mapping[tuple[str, str], str]:
        """Returns a fleet's page that shows a run, by (cluster, run_id), for the nights that the index shows.

        By default, each cluster of a fleet has a run id of its own, and the page has that of only one of them.

        Args:
            pages: the pages below the folder.
            runs: newest first.
        """
        hadoop, shown = HadoopJvm.of(self._spark), dict[tuple[str, str], str]()
        named = dict.fromkeys(f"{FLEET}/{run.run_id}" for own in runs_by_cluster(runs).values() for run in own[:NIGHTS])
        with java_errors(self._uri):
            files = hadoop.path(self._uri).getFileSystem(hadoop.conf)
        for name in filter(pages.__contains__, named):
            uri = f"{self._uri}/{name}.html"
            try:
                with java_errors(uri):
                    runs_of_page = page_head(files, hadoop.path(uri)).runs
            except WalsafeError as error:  # maintain may have just removed it; a missing link must not fail the night
                _LOG.warning("the index has no link to %s: %s", uri, error)
                continue
            for run in runs_of_page:
                shown.setdefault(run, name)
        return shown


def latest_html(cluster: str, href: str) -> str:
    """Renders the page that leads to the newest page of a cluster."""
    return page("latest.html", title=f"walsafe · {cluster} · latest", href=href)


def findings_html() -> str:
    """Renders the page that explains every finding: docs/findings.md."""
    return page("findings.html", title="walsafe · findings", text=resource("findings_text.html"))


def _page_name(summaries: Sequence[RunSummary]) -> str:
    """Returns the place of the page of a run, without `.html`.

    A cluster whose snapshot could not be read gives the page its name only if there is no other: its run id may be the
    same on every night, and its time is that of the run.
    """
    newest = max(summaries, key=lambda one: (not one.run_id.startswith(UNREADABLE), one.files_started_ms, one.cluster))
    return f"{FLEET if len(summaries) > 1 else newest.cluster}/{newest.run_id}"


def _names(hadoop: HadoopJvm, files: JavaObject, uri: str) -> Sequence[str]:
    """Returns the names in a folder, with a few calls of py4j for all of them; none of a file."""
    if not files.isDirectory(hadoop.path(uri)):
        return ()
    paths = hadoop.view.org.apache.hadoop.fs.FileUtil.stat2Paths(files.listStatus(hadoop.path(uri)))
    objects = hadoop.gateway.new_array(hadoop.view.java.lang.Object, len(paths))
    hadoop.view.java.lang.System.arraycopy(paths, 0, objects, 0, len(paths))
    listed = str(hadoop.view.java.util.Arrays.toString(objects))[1:-1]
    return [path.rpartition("/")[2] for path in listed.split(", ")]
