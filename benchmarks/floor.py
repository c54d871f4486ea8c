"""Measures where each second of `./spark-submit.sh reconcile` goes.

    .venv/bin/python benchmarks/floor.py --files 1000 --nights 6

Nights of one cluster, each a command of its own as cron starts it; the first one makes the tables. A night is cut
at walsafe's own log lines, as they arrive, and at what Spark's event log says: within each piece, how many Spark jobs
ran and for how long one of them at least was running; the rest is planning, Delta's commits, Python and start-up. Below
stand the queries that took longest, by the line that asked for them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench import SERVERS, say, shape
from benchmarks.generate import write
from benchmarks.records import add, begin, benchmark_parser
from tests.models.large import Shape

PROJECT = Path(__file__).resolve().parent.parent
# a line of progress tells how far a piece is; it does not begin another
LOG_LINE = re.compile(r"\S+Z INFO +(?!pipelines\.common\.progress:)(?:jobs|pipelines)\.\S+: (.*)")
QUERIES = 8
MINUTE_MS = 60_000
EVENT_LOG = {"enabled": "true", "compress": "false", "rolling.enabled": "false"}


@dataclass(frozen=True)
class Piece:
    """A part of a night; a Spark job was running during `job_seconds` of it."""

    name: str
    seconds: float
    jobs: int
    job_seconds: float


@dataclass(frozen=True)
class Floor:
    """The measurements of one night.

    `queries` are the slowest ones, each with the line that started it and its seconds.
    """

    night: int
    files: int
    seconds: float
    pieces: list[Piece] = field(default_factory=list)
    queries: list[tuple[str, float]] = field(default_factory=list)


def pieces(
    began: float, marks: Sequence[tuple[float, str]], ended: float, events: Sequence[Mapping[str, Any]]
) -> list[Piece]:
    """Cuts a night into pieces.

    Args:
        began: when the command began, seconds since the epoch.
        marks: the log lines and the times at which they came, in order.
        ended: when the command ended, seconds since the epoch.
        events: the events of Spark's event log.
    """
    jobs = list(spark_jobs(events))
    told = {"ApplicationStart": "Spark's context", "ApplicationEnd": "end of the processes"}
    own = [(_seconds(event["Timestamp"]), told[name]) for event in events for name in told if _named(event, name)]
    starts = sorted([(began, "shell, arguments, JVM"), *marks, *own])
    ends = [start for start, _ in starts[1:]] + [ended]
    cut = []
    for (start, name), end in zip(starts, ends, strict=True):
        within = [(max(start, one), min(end, two)) for one, two in jobs if one < end and two > start]
        begun = sum(start <= one < end for one, _ in jobs)
        cut.append(Piece(name, round(end - start, 2), begun, round(covered(within), 2)))
    return cut


def spark_jobs(events: Iterable[Mapping[str, Any]]) -> Iterable[tuple[float, float]]:
    """Yields the beginnings and ends of Spark's jobs, in seconds since the epoch."""
    open_at: dict[int, float] = {}
    for event in events:
        if _named(event, "JobStart"):
            open_at[event["Job ID"]] = _seconds(event["Submission Time"])
        elif _named(event, "JobEnd") and event["Job ID"] in open_at:
            yield open_at.pop(event["Job ID"]), _seconds(event["Completion Time"])


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Returns the seconds in which at least one of the spans ran."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total


def slowest(events: Iterable[Mapping[str, Any]], count: int) -> list[tuple[str, float]]:
    """Returns the slowest queries, named by the line of walsafe that started them.

    An inner query counts with the outer one.
    """
    begun: dict[int, tuple[str, float]] = {}
    found = []
    for event in events:
        if (
            _named(event, "SQLExecutionStart")
            and event.get("rootExecutionId", event["executionId"]) == event["executionId"]
        ):
            asked = re.sub(r"\S*\.zip/", "", event["description"].partition("\n")[0])
            begun[event["executionId"]] = asked, _seconds(event["time"])
        elif _named(event, "SQLExecutionEnd") and event["executionId"] in begun:
            asked, start = begun.pop(event["executionId"])
            found.append((asked, round(_seconds(event["time"]) - start, 2)))
    return sorted(found, key=lambda one: -one[1])[:count]


def _named(event: Mapping[str, Any], name: str) -> bool:
    return str(event["Event"]).endswith(f"SparkListener{name}")


def _seconds(milliseconds: int) -> float:
    return milliseconds / 1000


def night(work: Path, number: int, of: Shape) -> Floor:
    """Runs one night of the cluster with the command that cron uses, and returns its measurements."""
    place, log = work / f"snapshot-{number}", work / f"events-{number}"
    write(of, place, None)
    log.mkdir()
    conf = EVENT_LOG | {"dir": f"file:{log}"}
    arguments = " ".join(f"--conf spark.eventLog.{name}={value}" for name, value in conf.items())
    command = [str(PROJECT / "spark-submit.sh"), "reconcile", "--snapshot", f"file:{place}"]
    command += ["--lake", f"file:{work}/lake", "--lists", f"file:{work}/lists"]
    environment = {**os.environ, "SPARK_SUBMIT_ARGS": f"--master local[2] {arguments}"}
    began = time.time()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        marks = [(time.time(), told[1]) for line in process.stderr if (told := LOG_LINE.match(line))]
    ended = time.time()
    if process.returncode not in {0, 5}:
        raise SystemExit(f"exit code {process.returncode} of {command[1]}")
    (file,) = log.iterdir()
    with file.open(encoding="utf-8", newline="\n") as lines:
        events = [json.loads(line) for line in lines]
    shutil.rmtree(place)
    cut = pieces(began, marks, ended, events)
    return Floor(number, of.files, round(ended - began, 2), cut, slowest(events, QUERIES))


def text(floor: Floor) -> str:
    """Formats the measurements for the terminal."""
    lines = [f"night {floor.night}, {floor.files:,} files: {floor.seconds:.1f} s"]
    lines += [f"  {one.seconds:6.1f} s  {one.jobs:3} jobs {one.job_seconds:5.1f} s  {one.name}" for one in floor.pieces]
    return "\n".join([*lines, *(f"  {seconds:6.1f} s  {asked}" for asked, seconds in floor.queries)])


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--files", type=int, default=1000, help="files under oldWALs (default: 1,000)")
    parser.add_argument("--nights", type=int, default=3, help="nights, a command each (default: 3)")
    args = parser.parse_args()
    run = begin(__file__, sys.argv[1:])
    made = shape(args.files)
    with tempfile.TemporaryDirectory(prefix="walsafe-floor-", dir=args.work) as scratch:
        for number in range(args.nights):
            # captured a quarter of an hour ago by the real clock, which the job compares with not_after
            now = time.time_ns() // 1_000_000 - 15 * MINUTE_MS
            servers = min(SERVERS, max(args.files // 100, 3))
            of = Shape(made.cluster, made.files, servers, made.peers, made.groups_per_server, made.seed, now)
            floor = night(Path(scratch), number + 1, of)
            say(text(floor))
            add(run, "floor", asdict(floor), args.out)


if __name__ == "__main__":
    main()
