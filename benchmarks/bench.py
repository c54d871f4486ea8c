"""Shared by the benchmarks: a generated cluster, its clock, a session, a run of reconcile, and measuring a process."""

import json
import multiprocessing
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from pyspark.sql import SparkSession

from benchmarks.generate import write
from benchmarks.speed_report import JobSpeed
from jobs.cli.config.configuration import Config
from jobs.cli.context import JobContext
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.common.instants import DAY_MS
from pipelines.snapshot.capture_order import CAPTURE_ORDER
from tests.labs.spark.local_session import local_session
from tests.models.large import STEP_MS, Shape

P = ParamSpec("P")
T = TypeVar("T")

NOW = 1_790_000_000_000
"""Start of step `files` of the first night: fixed, so that every run decides on the same bytes."""
CLUSTER = "bench"
SERVERS, PEERS, GROUPS_PER_SERVER = 300, 4, 4
HEAP = "4g"
DONE = (0, 5)  # 5 = a finding that is new: HBase's cleaner, which never ran here, should have
_PAUSE = re.compile(r"Pause .* (\d+)M->(\d+)M\((\d+)M\) ([0-9.]+)ms")


class At:
    """A clock that always shows the time just after a capture."""

    def __init__(self, night: int) -> None:
        self._now = NOW + night * DAY_MS + len(CAPTURE_ORDER) * STEP_MS + 1

    def now_ms(self) -> int:
        return self._now


@dataclass(frozen=True)
class Ran:
    """The result of one run of reconcile.

    Attributes:
        listed: the number of files on its lists.
        files: the number of files that were decided.
    """

    seconds: float
    listed: int
    files: int


@dataclass(frozen=True)
class Collections:
    """The numbers in a garbage collector's log.

    Attributes:
        live_bytes: the most heap that was still in use after a collection: an upper bound of what the program really
            held.
        seconds: how long the collections stopped the program.
    """

    live_bytes: int
    seconds: float


def shape(files: int, night: int = 0) -> Shape:
    """Returns the shape of the benchmark's cluster."""
    return Shape(CLUSTER, files, SERVERS, PEERS, GROUPS_PER_SERVER, 1, NOW + night * DAY_MS)


def make_snapshot(work: Path, files: int, night: int = 0) -> Path:
    """Writes a snapshot directory of the benchmark's cluster, and returns its path."""
    out = work / f"snapshot-{files}-{night}"
    write(shape(files, night), out, None)
    return out


def session(work: Path, heap: str = HEAP) -> SparkSession:
    """Builds a session with `local[2]`, a fixed heap, the flags of conf/spark-defaults.conf, and a log of the
    collector.
    """
    work.mkdir(parents=True, exist_ok=True)
    log = {"spark.driver.extraJavaOptions": f"-Xlog:gc:file={work / 'gc.log'}"}
    return local_session(work, cores=2, memory=heap, quick_start=False, extra=log)


def reconcile(spark: SparkSession, place: Path, lake: Path, night: int, *, fleet: bool = False) -> Ran:
    """Runs reconcile once, wired as in production.

    Args:
        spark: the session.
        place: a snapshot, or a folder of snapshots.
        lake: the lake, which need not exist yet; lists go to a folder beside it.
        night: the number of the night, which sets the clock.
        fleet: whether `place` is a folder of snapshots.

    Raises:
        SystemExit: a cluster was refused or got no list.
    """
    started = time.perf_counter()
    outcome = run_reconcile(
        JobContext("reconcile", At(night), spark),
        Config(),
        OutputPlaces(f"file:{lake}", f"file:{lake}-lists"),
        [] if fleet else [f"file:{place}"],
        fleet=f"file:{place}" if fleet else None,
    )
    seconds = time.perf_counter() - started
    clusters = json.loads(json.dumps(outcome.result))["clusters"]
    if outcome.exit_code not in DONE or not all(one["list_uri"] for one in clusters):
        raise SystemExit(f"no list was written:\n{outcome.text}")
    listed = sum(one["deletable_files"] for one in clusters)
    return Ran(seconds, listed, listed + sum(one["held_files"] for one in clusters))


def job_speed(work: Path, place: Path, heap: str = HEAP, fleet: bool = False) -> JobSpeed:
    """Measures the whole job in a new JVM, with a lake that does not exist yet."""
    started = time.perf_counter()
    spark = session(work, heap)
    session_seconds = time.perf_counter() - started
    ran = reconcile(spark, place, work / "lake", 0, fleet=fleet)
    jvm, python = jvm_peak_bytes(), peak_bytes("self")
    spark.stop()
    heaped = collections((work / "gc.log").read_text(encoding="utf-8"))
    return JobSpeed(
        ran.files, ran.listed, session_seconds, ran.seconds, jvm, python, heaped.live_bytes, heaped.seconds, heap
    )


def collections(log: str) -> Collections:
    """Parses the log that `-Xlog:gc` wrote."""
    pauses = _PAUSE.findall(log)
    live = max((int(after) for _, after, _, _ in pauses), default=0) << 20
    return Collections(live, sum(float(ms) for *_, ms in pauses) / 1000)


def jvm_peak_bytes() -> int:
    """Returns the largest resident set of the one Java child of this process, in bytes."""
    children = " ".join(file.read_text() for file in Path("/proc/self/task").glob("*/children")).split()
    (jvm,) = [child for child in children if _status(child)["Name"] == "java"]
    return peak_bytes(jvm)


def peak_bytes(process: str) -> int:
    """Returns the largest resident set of a process so far, in bytes.

    `getrusage` would return that of the parent, which outlives the exec.
    """
    return int(_status(process)["VmHWM"].split()[0]) << 10


def _status(process: str) -> dict[str, str]:
    lines = Path("/proc", process, "status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def alone(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls a function in a new Python process, and so with a new JVM, and returns its result."""
    say(f"{function.__name__.replace('_', ' ')} …")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def say(words: str) -> None:
    """Prints the progress of the benchmark."""
    print(words, file=sys.stderr, flush=True)


def bytes_below(folder: Path) -> int:
    """Returns the bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
