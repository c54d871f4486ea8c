"""The pages on a real HDFS: `latest.html` and `index.html` are written, and replaced while somebody reads them."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from uuid import uuid4

import pytest
import requests
from pyspark.sql import SparkSession

from pipelines.common.instants import DAY_MS, utc_day
from pipelines.lake.lake_records import RunRecord
from pipelines.lake.run_summary import RunSummary
from pipelines.reconcile.report_files import HtmlReports
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.report_nights import QUIET

pytestmark = pytest.mark.realhbase
REWRITTEN = 15
Fetch = Callable[[str], str]


def summary(cluster: str, night: int) -> RunSummary:
    return replace(
        QUIET, cluster=cluster, run_id=f"night-{night}", files_started_ms=QUIET.files_started_ms + night * DAY_MS
    )


def record(one: RunSummary) -> RunRecord:
    at = one.files_started_ms
    return RunRecord(one.cluster, one.run_id, utc_day(at), "DONE", "NIGHTLY", at, None, at, None, 0, None, bytes=1)


def written(reports: HtmlReports, one: RunSummary, runs: list[RunRecord]) -> None:
    """Ends a night of one cluster, as the job does."""
    runs.insert(0, record(one))
    runs.sort(key=lambda run: run.order, reverse=True)
    reports.publish([one])
    reports.publish_index([one], runs, {}, runs[0].at)


@pytest.fixture
def folder() -> str:
    return f"/reports-{uuid4().hex}"


@pytest.fixture
def fetched(hdfs_cluster: HdfsCluster, folder: str) -> Fetch:
    """The text of a page as a browser gets it: over HTTP, from the servers."""

    def fetch(name: str) -> str:
        answer = requests.get(f"{hdfs_cluster.webhdfs()}/webhdfs/v1{folder}/{name}?op=OPEN", timeout=60)
        answer.raise_for_status()
        return answer.text

    return fetch


def names(hdfs: HdfsCluster, folder: str) -> set[str]:
    listed = hdfs.file_system().listFiles(hdfs.path(folder), True)
    found = set()
    while listed.hasNext():
        found.add(str(listed.next().getPath()).partition(f"{folder}/")[2])
    return found


@pytest.mark.promise("report-index-by-rename")
def test_latest_and_index_follow_the_nights(
    spark: SparkSession, hdfs_cluster: HdfsCluster, folder: str, fetched: Fetch
) -> None:
    reports, runs = HtmlReports(spark, f"{hdfs_cluster.uri}{folder}/", "walsafe"), list[RunRecord]()
    written(reports, summary("prod-a", 1), runs)
    written(reports, summary("prod-b", 1), runs)
    assert 'url=night-1.html"' in fetched("prod-a/latest.html")
    written(reports, summary("prod-a", 2), runs)
    assert 'url=night-2.html"' in fetched("prod-a/latest.html")
    assert 'url=night-1.html"' in fetched("prod-b/latest.html")
    index = fetched("index.html")
    links = {part.partition('"')[0] for part in index.split('href="')[1:]}
    assert links - {"#content", "findings.html"} == {
        *(f"prod-{name}/latest.html" for name in "ab"),
        *("prod-a/night-1.html", "prod-a/night-2.html", "prod-b/night-1.html"),
    }
    written(reports, summary("prod-a", 0), runs)
    assert 'url=night-2.html"' in fetched("prod-a/latest.html"), "an older night that came late"
    assert "prod-a/night-0.html" in fetched("index.html")
    assert names(hdfs_cluster, folder) == {
        *("index.html", "findings.html", "prod-a/latest.html", "prod-b/latest.html", "prod-b/night-1.html"),
        *(f"prod-a/night-{night}.html" for night in range(3)),
    }, "and no temporary file stays"


@pytest.mark.long
@pytest.mark.promise("report-index-by-rename")
def test_a_reader_gets_the_old_page_or_the_new_one(
    spark: SparkSession, hdfs_cluster: HdfsCluster, folder: str, fetched: Fetch
) -> None:
    reports, runs = HtmlReports(spark, f"{hdfs_cluster.uri}{folder}", "walsafe"), list[RunRecord]()
    written(reports, summary("prod-a", 0), runs)
    over = threading.Event()

    def reads(name: str) -> list[str]:
        texts = [fetched(name)]
        while not over.is_set():
            # a DataNode breaks off a file whose blocks are removed while it sends them; the length shows that
            with suppress(requests.exceptions.ChunkedEncodingError):
                texts.append(fetched(name))
        return texts

    with ThreadPoolExecutor(2) as readers:
        read = {name: readers.submit(reads, name) for name in ("index.html", "prod-a/latest.html")}
        try:
            for night in range(1, REWRITTEN):
                written(reports, summary("prod-a", night), runs)
        finally:
            over.set()
    for name, texts in read.items():
        assert all(text.rstrip().endswith("</html>") for text in texts.result()), name
    assert len(set(read["prod-a/latest.html"].result())) > 1, "it was replaced while it was read"
