"""The demo: captures and reconciles three nights of a generated cluster with the production code."""

import logging
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.cli.context import JobContext
from jobs.demo.cluster.capture import capture_at
from jobs.demo.cluster.model import ClusterPlan, GeneratedCapture
from jobs.demo.cluster.on_disk import write_cluster_files, write_snapshot
from jobs.demo.cluster.parts import DISABLED_PEER
from jobs.demo.cluster.plans import demo_plan
from jobs.demo.cluster.zookeeper import before_upgrade
from jobs.demo.excerpts import AUDIT_TITLE, DUMP_TITLE, MIGRATION_TITLE, audit_lines, migration_lines, queue_lines
from jobs.demo.places import DemoPlaces, new_directory
from jobs.demo.text import demo_commands, demo_text, night_line
from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_DONE, RefusedError
from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from pipelines.files.local_paths import local_uri
from pipelines.lake.run_summary import DELETABLE, DONE, HELD, RunKey, RunSummary

if TYPE_CHECKING:
    from pipelines.reconcile.request import PublishedPage

DESCRIPTION = """\
Runs the main job on a generated HBase cluster, three nights in a row: some 20,000 WALs, 4 replication peers, 30 region
servers. A peer is disabled, servers have crashed, a queue has stalled, a file blocks HBase's own cleaner. It needs no
cluster and no network, and it deletes nothing.

Of the last night's queues it shows their states and a claim plan (audit-queues), one of them in the words of HBase's
own tool (dump-queues), and what a migration to HBase 3 would make of them, one row of it lost (plan-migration,
verify-migration). Then it says what to try next. It takes half a minute to two minutes, and
prints a line after each night.
"""
NEEDS_SPARK = True
NIGHTS = 3
_CAPTURE_TAKES_MS = 15_000
_LOG = logging.getLogger(__name__)


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument(
        "--out", metavar="DIR", help="where everything goes; default: walsafe-out/demo-<time> in this directory"
    )


def run(args: Namespace, context: JobContext) -> JobResult:
    """Captures and reconciles three nights and reports the results; exit code 0 whatever the findings."""
    started = time.monotonic()
    now = context.clock.now_ms()
    places = DemoPlaces(new_directory(args.out, now))
    first_night = now - _CAPTURE_TAKES_MS - (NIGHTS - 1) * DAY_MS
    plan = replace(demo_plan(first_night), wal_root=places.wal_root)
    places.write_config(plan.cluster)
    nights = []
    import pyspark.sql  # noqa: F401 - its modules import each other, which fails if two threads begin with it

    # Another thread makes the next files while Spark decides about the last ones. Whenever this thread has waited for
    # Spark, it must get Python's interpreter back, by default after 5 ms; with 0.5 ms the first night comes 2 s sooner.
    sys.setswitchinterval(0.0005)
    beside = ThreadPoolExecutor(1, thread_name_prefix="demo")
    try:
        starts = [first_night + number * DAY_MS for number in range(NIGHTS)]
        made = [beside.submit(_capture, plan, at, places.snapshot(number)) for number, at in enumerate(starts, 1)]
        for number, at in enumerate(starts, 1):
            _LOG.info("night %d of %d", number, NIGHTS)
            moment = JobContext("demo", _At(at + _CAPTURE_TAKES_MS), context.spark)
            made[number - 1].result()
            nights.append(_reconcile(places.snapshot(number), places, moment))
            _LOG.info(night_line(number, nights[-1]))
            if number == 1:  # before, it would delay the first night
                tastes = beside.submit(lambda: _without_spark(plan, made[-1].result(), places))
                audit = beside.submit(_audit, places, JobContext("demo", _At(now), context.spark))
        page = _page(nights[-1], places, context)
        commands = demo_commands(places, nights, _held_example(nights[-1], places, context))
        shown = [(AUDIT_TITLE, audit.result()), *tastes.result()]
    finally:
        beside.shutdown(cancel_futures=True)  # after an error, nothing more is started
    text = demo_text(nights, time.monotonic() - started, places.shown(nights[-1], page), commands, shown)
    return JobResult(EXIT_DONE, _result(nights, places, page), text)


def _capture(plan: ClusterPlan, at: int, snapshot: Path) -> GeneratedCapture:
    made = capture_at(plan, at)
    write_snapshot(made, snapshot)
    return made


def _without_spark(plan: ClusterPlan, made: GeneratedCapture, places: DemoPlaces) -> list[tuple[str, list[str]]]:
    """Writes the simulated cluster of the last night, and its queues before an upgrade; returns what needs no Spark."""
    write_cluster_files(made, places.cluster)
    old = before_upgrade(plan, made)
    write_snapshot(old, places.old_snapshot)
    return [(DUMP_TITLE, queue_lines(made, DISABLED_PEER)), (MIGRATION_TITLE, migration_lines(old))]


def _audit(places: DemoPlaces, context: JobContext) -> list[str]:
    snapshots = [places.snapshot(number) for number in (NIGHTS - 1, NIGHTS)]
    return audit_lines(context, snapshots, places.plan, places.config)


@dataclass(frozen=True)
class _At:
    """The clock of one night of the demo."""

    instant: int

    def now_ms(self) -> int:
        return self.instant


class _Keeping:
    """A reporter that keeps the summaries it receives."""

    def __init__(self) -> None:
        self.summaries: list[RunSummary] = []

    def publish(self, summaries: Sequence[RunSummary], _quality: Mapping[str, object]) -> Mapping[str, "PublishedPage"]:
        self.summaries.extend(summaries)
        return {}

    def failed(self, summaries: Sequence[RunSummary]) -> None:
        """Does nothing: the error itself ends the demo."""


def _reconcile(snapshot: Path, places: DemoPlaces, context: JobContext) -> RunSummary:
    """Runs reconcile for one night, with the clock of that night."""
    from jobs.cli.config.configuration import load_config
    from jobs.reconcile.wiring import OutputPlaces, run_reconcile

    told = _Keeping()
    where = OutputPlaces(local_uri(places.lake), local_uri(places.lists))
    run_reconcile(context, load_config(str(places.config), context), where, [local_uri(snapshot)], reporter=told)
    (summary,) = told.summaries
    if summary.status != DONE:
        raise RefusedError(
            Condition.SELF_CHECK_FAILED, f"the demo's own cluster was refused, which is a defect: {summary.reason}"
        )
    return summary


def _page(last: RunSummary, places: DemoPlaces, context: JobContext) -> Path:
    """Writes the HTML page of the last night, with the curves of all nights."""
    from jobs.reconcile.wiring import ReconcileReports

    reports = ReconcileReports(context, local_uri(places.lake), local_uri(places.reports))
    (page,) = reports.publish([last], {}).values()
    return Path(page.uri.removeprefix("file:"))


def _held_example(last: RunSummary, places: DemoPlaces, context: JobContext) -> str:
    """Returns the path of a file that the disabled peer still needs, for the example commands."""
    run = RunKey.of(last.cluster, last.run_id, last.files_started_ms)
    (file,) = context.lake(local_uri(places.lake)).waiting(run, DISABLED_PEER, 1)
    return file.path


def _result(nights: Sequence[RunSummary], places: DemoPlaces, page: Path) -> dict[str, object]:
    return {
        "lake": str(places.lake),
        "lists": str(places.lists),
        "config": str(places.config),
        "report": str(page),
        "nights": [
            {
                "run_id": night.run_id,
                "snapshot": str(places.snapshot(number)),
                "list_uri": night.list_uri,
                "exit_code": night.exit_code,
                "deletable_files": night.total(DELETABLE)[0],
                "deletable_bytes": night.total(DELETABLE)[1],
                "held_files": night.total(HELD)[0],
                "held_bytes": night.total(HELD)[1],
                "findings": [finding.key for finding in night.findings],
            }
            for number, night in enumerate(nights, start=1)
        ],
    }
