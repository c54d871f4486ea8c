"""Reconciles one night of a skewed fleet on any Spark, and compares the results, which must be equal bit for bit."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from benchmarks.generate import write
from jobs.cli.config.configuration import Config
from jobs.cli.context import JobContext
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.common.instants import DAY_MS
from tests.labs.spark.submitter import Submitter, clean_environment
from tests.models.large import Shape, fleet

FILES, CLUSTERS, LARGEST = 12_000, 3, 0.6
TABLES = ("wal_verdicts", "verdict_totals", "queue_offsets", "pinned_bytes", "findings")
MANY_SMALL_TASKS = "--conf spark.sql.files.minPartitionNum=12 --conf spark.sql.shuffle.partitions=5"


def just_now_ms() -> int:
    """Returns the end of a capture that a night takes for new: a quarter of an hour ago."""
    return time.time_ns() // 1_000_000 - 15 * 60_000


def write_fleet(place: Path, days: int = 0) -> Path:
    """Writes the fleet's snapshots as if captured just now, or this many days ago, by the real clock.

    The real clock decides about not_after.
    """
    now = just_now_ms() - days * DAY_MS
    for one in fleet(Shape("fleet", FILES, 30, 3, 2, 7, now), CLUSTERS, LARGEST):
        write(one, place / one.cluster, None)
    return place


@dataclass(frozen=True)
class Night:
    """The results of a run.

    Attributes:
        lists: every file of every list; the manifests lack the instant of the decision.
        rows: the rows of each table, in one order.
        tasks: the tasks that ended, from Spark's event log.
        spark: the version of Spark that ran it.
        java: the version of Java of the driver, from Spark's event log.
    """

    lists: Mapping[str, str]
    rows: Mapping[str, pa.Table]
    tasks: list[dict[str, Any]]
    spark: str
    java: str

    def reasons(self) -> list[str]:
        """Returns the reasons with which tasks ended."""
        return [task["Task End Reason"]["Reason"] for task in self.tasks]

    def speculative(self) -> int:
        """Returns the number of speculative copies of tasks that were begun."""
        return sum(task["Task Info"]["Speculative"] for task in self.tasks)


def reconcile(
    submit: Submitter,
    snapshots: Path | str,
    work: Path,
    spark: str,
    *,
    env: Mapping[str, str] | None = None,
    meanwhile: Callable[[str], None] = lambda _line: None,
) -> Night:
    """Runs `./spark-submit.sh reconcile` once into a fresh lake, and returns its results.

    Args:
        submit: the project.
        snapshots: the fleet: a folder, or a URI.
        work: the directory for lake and lists.
        spark: the value of `SPARK_SUBMIT_ARGS`.
        env: further variables of the environment.
        meanwhile: called with each line of the log as it comes.
    """
    events = work / "events"
    events.mkdir(parents=True)
    log = {"enabled": "true", "dir": f"file:{events}", "compress": "false", "rolling.enabled": "false"}
    told = " ".join(f"--conf spark.eventLog.{name}={value}" for name, value in log.items())
    fleet = snapshots if isinstance(snapshots, str) else f"file:{snapshots}"
    command = submit.command("reconcile", "--fleet", fleet, "--lake", f"file:{work}/lake")
    process = subprocess.Popen(
        [*command, "--lists", f"file:{work}/lists"],
        env={**clean_environment(), "SPARK_SUBMIT_ARGS": f"{spark} {told}", **(env or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines = []
    with process:
        for line in process.stderr or ():
            lines.append(line)
            meanwhile(line)
    assert process.returncode in {0, 5}, "".join(lines)
    return night(work)


def reconcile_here(session: SparkSession, snapshots: Path, work: Path) -> Night:
    """Runs the same night in a session, which logs no events."""
    places = OutputPlaces(f"file:{work}/lake", f"file:{work}/lists")
    outcome = run_reconcile(JobContext("reconcile", spark=session), Config(), places, (), fleet=f"file:{snapshots}")
    assert outcome.exit_code in {0, 5}, outcome.text
    return Night(*results(work), [], session.version, "")


def results(work: Path) -> tuple[dict[str, str], dict[str, pa.Table]]:
    """Reads the lists and the tables below a directory."""
    rows = {name: in_order(DeltaTable(str(work / "lake" / name)).to_pyarrow_table()) for name in TABLES}
    return dict(list_files(work / "lists")), rows


def night(work: Path) -> Night:
    """Reads the results below a directory, and the log of events."""
    logged = list(events_below(work / "events"))
    return Night(
        *results(work),
        [event for event in logged if event["Event"] == "SparkListenerTaskEnd"],
        next(event["Spark Version"] for event in logged if event["Event"] == "SparkListenerLogStart"),
        next(event["JVM Information"]["Java Version"] for event in logged if "JVM Information" in event),
    )


def in_order(table: pa.Table) -> pa.Table:
    """Returns the rows sorted by all columns that can be compared."""
    plain = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    return table.sort_by([(name, "ascending") for name in plain]).combine_chunks()


def list_files(lists: Path) -> Iterator[tuple[str, str]]:
    """Yields every list file that is not hidden."""
    for file in sorted(lists.rglob("*")):
        place = file.relative_to(lists)
        if file.is_dir() or any(part.startswith(".") for part in place.parts):
            continue
        text = file.read_text(encoding="utf-8")
        if file.name == "manifest.json":
            text = json.dumps(json.loads(text) | {"decided_at": None})
        yield str(place), text


def events_below(folder: Path) -> Iterator[dict[str, Any]]:
    """Yields the events of Spark's event log.

    A driver on another host wrote it here too, because all hosts are this machine.
    """
    for file in folder.iterdir():
        if file.is_file() and not file.name.startswith("."):
            with file.open(encoding="utf-8", newline="\n") as lines:
                yield from map(json.loads, lines)


def assert_same(here: Night, there: Night) -> None:
    """Checks that two runs have identical lists and identical rows, without repetitions."""
    assert there.lists.keys() == here.lists.keys()
    assert [name for name in here.lists if there.lists[name] != here.lists[name]] == []
    assert [name for name in TABLES if not there.rows[name].equals(here.rows[name])] == []
    assert there.rows["wal_verdicts"].num_rows == FILES
    paths = there.rows["wal_verdicts"].select(["cluster", "path"]).group_by(["cluster", "path"]).aggregate([])
    assert paths.num_rows == FILES
    lines = [line for name, text in there.lists.items() if "/part-" in name for line in text.split("\n") if line]
    assert len(lines) == len(set(lines)) > FILES / 10
