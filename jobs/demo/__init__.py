"""The demo: captures and reconciles three nights of a generated cluster with the production code."""

import json
import logging
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from jobs.cli.context import JobContext, project_file
from jobs.demo.cluster.capture import capture_at
from jobs.demo.cluster.model import ClusterPlan, GeneratedCapture
from jobs.demo.cluster.on_disk import ROOT, write_cluster_files
from jobs.demo.cluster.parts import DISABLED_PEER
from jobs.demo.cluster.plans import demo_plan
from jobs.demo.cluster.zookeeper import before_upgrade
from jobs.demo.dump import DUMP_TITLE, queue_lines
from jobs.demo.generated_snapshot import write_snapshot
from jobs.demo.migration import MIGRATION_TITLE, migration_lines, write_zookeeper_snapshot
from jobs.demo.queues import AUDIT_TITLE, audit_lines
from jobs.demo.text import DemoCommand, DemoOutput, demo_text, night_line
from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_DONE, RefusedError, UnavailableError, UsageError
from pipelines.common.instants import DAY_MS, utc_day
from pipelines.common.job_result import JobResult
from pipelines.lake.run_summary import DELETABLE, DONE, HELD, RunKey, RunSummary

HELP = "three nights of a generated cluster, an audit and a dump of its queues, a rehearsal of their migration"
DESCRIPTION = """\
Runs the main job on a generated HBase cluster, three nights in a row: some 20,000 WALs, 4 replication peers, 30 region
servers. A peer is disabled, servers have crashed, a queue has stalled, a file blocks HBase's own cleaner. It needs no
cluster and no network, and it deletes nothing.

Of the last night's queues it shows their states and a claim plan (audit-queues), one of them in the words of HBase's
own tool (dump-queues), and what a migration to HBase 3 would make of them, one row of it lost (plan-migration,
verify-migration). Then it says what to try next. Takes about a minute; each night is told when it is decided.
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
    places = _Places(_new_directory(args.out, now))
    first_night = now - _CAPTURE_TAKES_MS - (NIGHTS - 1) * DAY_MS
    plan = replace(demo_plan(first_night), wal_root=places.wal_root)
    places.write_config(plan.cluster)
    nights = []
    import pyspark.sql  # noqa: F401 - its modules import each other, which fails if two threads begin with it

    # Python makes the next files while Spark decides about the last ones
    with ThreadPoolExecutor(1, thread_name_prefix="demo") as beside:
        starts = [first_night + number * DAY_MS for number in range(NIGHTS)]
        made = [beside.submit(_capture, plan, at, places.snapshot(number)) for number, at in enumerate(starts, 1)]
        tastes = beside.submit(lambda: _without_spark(plan, made[-1].result(), places))
        for number, at in enumerate(starts, 1):
            _LOG.info("night %d of %d", number, NIGHTS)
            moment = JobContext("demo", _At(at + _CAPTURE_TAKES_MS), context.spark)
            made[number - 1].result()
            nights.append(_reconcile(places.snapshot(number), places, moment))
            _LOG.info(night_line(number, nights[-1]))
        _LOG.info("the queues of the last night")
        snapshots = [places.snapshot(number) for number in (NIGHTS - 1, NIGHTS)]
        audit = audit_lines(JobContext("demo", _At(now), context.spark), snapshots, places.plan, places.config)
    page = _page(nights[-1], places, context)
    commands = _commands(places, nights, _held_example(nights[-1], places, context))
    shown = [(AUDIT_TITLE, audit), *tastes.result()]
    text = demo_text(nights, time.monotonic() - started, places.shown(nights[-1], page), commands, shown)
    return JobResult(EXIT_DONE, _result(nights, places, page), text)


def _capture(plan: ClusterPlan, at: int, snapshot: Path) -> GeneratedCapture:
    made = capture_at(plan, at)
    write_snapshot(made, snapshot)
    return made


def _without_spark(plan: ClusterPlan, made: GeneratedCapture, places: "_Places") -> list[tuple[str, list[str]]]:
    """Writes the simulated cluster of the last night, and its queues before an upgrade; returns what needs no Spark."""
    write_cluster_files(made, places.cluster)
    old = before_upgrade(plan, made)
    write_zookeeper_snapshot(old, places.old_snapshot)
    return [(DUMP_TITLE, queue_lines(made, DISABLED_PEER)), (MIGRATION_TITLE, migration_lines(old))]


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

    def publish(self, summaries: Sequence[RunSummary]) -> Mapping[str, str]:
        self.summaries.extend(summaries)
        return {}

    def failed(self, summaries: Sequence[RunSummary]) -> None:
        """Does nothing: the error itself ends the demo."""


@dataclass(frozen=True)
class _Places:
    """The paths of the demo, all below one directory."""

    root: Path

    @property
    def lake(self) -> Path:
        return self.root / "lake"

    @property
    def lists(self) -> Path:
        return self.root / "lists"

    @property
    def reports(self) -> Path:
        return self.root / "reports"

    @property
    def plan(self) -> Path:
        return self.root / "plan"

    @property
    def config(self) -> Path:
        return self.root / "demo.yaml"

    @property
    def cluster(self) -> Path:
        """The directory that simulates the live cluster of the last night."""
        return self.root / "cluster"

    @property
    def wal_root(self) -> str:
        return f"file://{self.cluster / ROOT}"

    def write_config(self, cluster: str) -> None:
        """Writes the demo's configuration: its simulated cluster and its places, so that commands need no more."""
        live = {"source": "simulated", "path": str(self.cluster)}
        sections = {
            "cluster": cluster,
            "lake": _uri(self.lake),
            "lists": _uri(self.lists),
            "snapshots": _uri(self.root / "snapshots"),
            "reports": _uri(self.reports),
            "wal_root": self.wal_root,
            "capture": {"files": {"source": "hadoop"}, "queues": live, "state": live},
            "clean": {"quarantine": f"file://{self.root / 'quarantine'}"},
        }
        try:
            with self.config.open("a", encoding="utf-8") as out:
                out.write("\n# the demo's own places, and its cluster: a directory that plays a live one\n")
                out.writelines(f"{key}: {json.dumps(value)}\n" for key, value in sections.items())
        except OSError as error:
            raise UnavailableError(f"{self.config} cannot be written: {error}; give another --out") from error

    def snapshot(self, number: int) -> Path:
        return self.root / "snapshots" / f"night-{number}"

    @property
    def old_snapshot(self) -> Path:
        """The snapshot of the last night with its queues in ZooKeeper."""
        return self.root / "snapshots" / "before-upgrade"

    def shown(self, last: RunSummary, page: Path) -> list[DemoOutput]:
        return [
            DemoOutput("report, for a browser", page.as_uri()),
            DemoOutput("delete-safe list", str(self.lists / last.cluster / last.run_id)),
            DemoOutput("Delta tables", str(self.lake)),
            DemoOutput("snapshots", str(self.root / "snapshots")),
            DemoOutput("the cluster's files", str(self.cluster)),
            DemoOutput("configuration", str(self.config)),
        ]


def _new_directory(given: str | None, now: int) -> Path:
    stamp = f"{datetime.fromtimestamp(now // 1000, timezone.utc):%Y%m%dT%H%M%SZ}"
    out = Path(given or f"walsafe-out/demo-{stamp}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out} exists already; give a directory that does not exist yet, or an empty one")
    try:
        (out / "snapshots").mkdir(parents=True)
        (out / "demo.yaml").write_text(project_file("conf/demo.yaml"), encoding="utf-8")
    except OSError as error:
        raise UnavailableError(f"--out {out} cannot be written: {error}; give another directory") from error
    return out.resolve()


def _uri(path: Path) -> str:
    """Returns a local path as Hadoop spells it: not percent-encoded, and local whatever `fs.defaultFS` is."""
    return f"file:{path}"


def _reconcile(snapshot: Path, places: _Places, context: JobContext) -> RunSummary:
    """Runs reconcile for one night, with the clock of that night."""
    from jobs.cli.config.configuration import load_config
    from jobs.reconcile.wiring import OutputPlaces, run_reconcile

    told = _Keeping()
    where = OutputPlaces(_uri(places.lake), _uri(places.lists))
    run_reconcile(context, load_config(str(places.config), context), where, [_uri(snapshot)], reporter=told)
    (summary,) = told.summaries
    if summary.status != DONE:
        raise RefusedError(
            Condition.SELF_CHECK_FAILED, f"the demo's own cluster was refused, which is a defect: {summary.reason}"
        )
    return summary


def _page(last: RunSummary, places: _Places, context: JobContext) -> Path:
    """Writes the HTML page of the last night, with the curves of all nights."""
    from jobs.reconcile.reporting import ReconcileReports

    reports = ReconcileReports(context, _uri(places.lake), _uri(places.reports))
    (page,) = reports.publish([last]).values()
    return Path(page.removeprefix("file:"))


def _held_example(last: RunSummary, places: _Places, context: JobContext) -> str:
    """Returns the path of a file that the disabled peer still needs, for the example commands."""
    run = RunKey.of(last.cluster, last.run_id, last.files_started_ms)
    (file,) = context.lake(_uri(places.lake)).waiting(run, DISABLED_PEER, 1)
    return file.path


def _commands(places: _Places, nights: Sequence[RunSummary], held: str) -> list[DemoCommand]:
    from jobs.cli.session import DELTA_CATALOG, DELTA_EXTENSION

    project, last = _project(), nights[-1]
    first_day = utc_day(nights[0].files_started_ms).isoformat()
    start, config = f"{project}spark-submit.sh", ("--config", str(places.config))
    totals = f"delta.`{places.lake}/verdict_totals`"
    columns = "run_date, verdict, reason, sum(files) AS files, round(sum(bytes) / pow(1024, 3)) AS gib"
    query = " ".join(("SELECT", columns, "FROM", totals, "GROUP BY ALL ORDER BY ALL"))
    return [
        DemoCommand("What state is the cluster in, and what is new?", (start, "explain", *config)),
        DemoCommand("Who holds this file, since when, and what would free it?", (start, "explain", *config, held)),
        DemoCommand("What does the disabled peer hold?", (start, "explain", *config, "--peer", DISABLED_PEER)),
        DemoCommand("What has changed since the first night?", (start, "explain", *config, "--since", first_day)),
        DemoCommand(
            "Rehearse the clean-up of that list; with --execute files move to a quarantine, restore brings them back.",
            (start, "clean", *config, "--run-id", last.run_id),
        ),
        DemoCommand(
            "Query the tables with nothing but Spark and Delta.",
            (
                *("env", f"PYSPARK_PYTHON={project}.venv/bin/python", f"{project}.venv/bin/spark-sql"),
                *("--driver-class-path", f"{project}.jars/*", "--conf", f"spark.sql.extensions={DELTA_EXTENSION}"),
                *("--conf", f"spark.sql.catalog.spark_catalog={DELTA_CATALOG}"),
                *("--conf", "spark.sql.catalogImplementation=in-memory", "-e", query),
            ),
        ),
    ]


def _project() -> str:
    """Returns the project directory as a prefix of commands: `./` if it is the current directory."""
    root = Path(sys.argv[0]).resolve().parent.parent
    return "./" if root == Path.cwd() or not (root / "spark-submit.sh").is_file() else f"{root}/"


def _result(nights: Sequence[RunSummary], places: _Places, page: Path) -> dict[str, object]:
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
