"""One answer of each job that has metrics, and the metrics of an answer by name and labels."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from jobs.cli.context import JobContext
from jobs.cli.monitoring.metric_names import PREFIX
from jobs.cli.monitoring.metrics import MeasuredRun, samples_of
from jobs.cli.monitoring.publish_metrics import publish_metrics
from pipelines.common.job_result import JobResult
from pipelines.lake.forecast import Forecast
from pipelines.lake.run_summary import FindingRow, PinnedRow, RunSummary, VerdictTotal
from pipelines.reconcile.request import PublishedPage
from pipelines.reconcile.text import reconcile_result

STARTED, ENDED = 1_795_000_040_000, 1_795_000_100_000
FINDING = FindingRow("K", "CLEANER_NOT_RUNNING", "error", "s", None, None, 'a "quoted" message', "{}", "do", 1, 2)
DONE = RunSummary(
    cluster="prod-a",
    run_id="night-1",
    status="DONE",
    mode="NIGHTLY",
    exit_code=5,
    reason=None,
    files_started_ms=1_795_000_000_500,
    totals=(
        VerdictTotal("DELETABLE", "REPLICATED", "DELETE", 3, 300),
        VerdictTotal("HELD", "PENDING", "KEEP", 2, 2**50),
        VerdictTotal("HELD", "PENDING", "THROWS", 1, 50),
    ),
    pinned=(
        PinnedRow("peer", 'p"2\\', "DISABLED", None, None, None, 1, 50, 2, 70, 1, 50, oldest_age_ms=90_500),
        PinnedRow("queue", 'p"2\\', "DISABLED", "h,1,2", "h,1,2", None, 1, 50, 2, 70, 1, 50),
    ),
    findings=(FINDING, replace(FINDING, acknowledged=True), replace(FINDING, code="GROWTH", severity="info")),
    list_uri="file:/lists/prod-a/night-1",
)
REFUSED = replace(DONE, cluster="prod-b", status="REFUSED", exit_code=3, list_uri=None, reason="order")
PAGE = PublishedPage("/page.html", Forecast(14, 350, 2**51, 10, 2.5, 1_795_216_000_500))
TALLY = {"done_files": 7, "done_bytes": 700, "left_files": 1, "left_bytes": 90, "gone_files": 2}
MAINTAINED = {
    "freed_bytes": 10,
    "later_bytes": 20,
    "errors": [],
    "quarantine": [
        {"cluster": "prod-a", "runs": 1, "files": 7, "bytes": 700, "oldest_at": "2026-11-18T02:00:00.000Z"},
        {"cluster": "prod-b", "runs": 0, "files": 0, "bytes": 0, "oldest_at": None},
    ],
}
CAPTURED = {"cluster": "prod-a", "files": 10, "cells": 4, "peers": 2, "quiet": True}
FAILED = {"error": {"kind": "UnavailableError", "message": "no answer", "condition": "UNAVAILABLE"}}
PURGED = {"cluster": "prod-a", "runs": [{"status": "WAITING", **TALLY, "done_files": 0}, {"status": "DONE", **TALLY}]}
NIGHT = (
    ("capture", JobResult(0, CAPTURED, "")),
    ("reconcile", JobResult(5, reconcile_result([DONE], {"prod-a": PAGE}), "")),
    ("clean", JobResult(0, {"cluster": "prod-a", **TALLY}, "")),
    ("purge", JobResult(0, PURGED, "")),
    ("maintain", JobResult(0, MAINTAINED, "")),
    ("night", JobResult(5, {"cluster": "prod-a"}, "")),
)
"""The jobs of a night that has found something, and their answers."""


class Ended:
    """A clock that stands at the end of the job."""

    def now_ms(self) -> int:
        return ENDED


def published(place: Path | str, job: str, outcome: JobResult, **options: object) -> None:
    """Publishes the metrics of one answer, as of a job with `--execute`."""
    args = Namespace(**{"cluster": "prod-a", "execute": True, **options})
    publish_metrics(str(place), job, args, outcome, STARTED, JobContext(job, Ended()))


def metrics_of(job: str, outcome: JobResult, cluster: str | None = None) -> dict[tuple[str, ...], float]:
    """The metrics of an answer: name, labels in the order of their names, value."""
    run = MeasuredRun(job, False, STARTED, ENDED, outcome.exit_code, outcome.result, cluster)
    return {
        key: value
        for samples in samples_of(run).values()
        for part in samples
        if part is not None
        for key, value in parsed(part.text()).items()
    }


def parsed(text: str) -> dict[tuple[str, ...], float]:
    """The samples of a text in Prometheus' format, read by its own parser."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {
        (one.name.removeprefix(PREFIX), *(one.labels[label] for label in sorted(one.labels))): one.value
        for one in samples
    }
    assert len(found) == len(samples), "no sample comes twice"
    return found


def own_metrics(job: str, code: int, result: dict[str, Any]) -> set[str]:
    """The names of the metrics that only this job has, of the answer of a real run."""
    common = {key[0] for key in metrics_of(job, JobResult(4, FAILED, ""), "any")}
    found = metrics_of(job, JobResult(code, result, ""))
    return {key[0] for key in found} - common - {"findings", "job_last_good_timestamp_seconds"}
