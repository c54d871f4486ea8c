"""Measures reconcile against HBase's own ReplicationLogCleaner, on the same names and queues, in one run.

    .venv/bin/python benchmarks/reconcile_speed.py --files 10000000      the size of issue #3
    …  --out DIR                                                         results.json and README.md go there

In this order, and never two at a time:
  cleaner   the class itself in the master of a real mini cluster, one thread, warm, best of five; its input is in
            memory already, and the reading of its queues is not counted
  decision  read the snapshot, decide, count by reason: `local[2]`, warm, best of five; DuckDB does the same, as a
            yardstick for what two cores can do
  job       reconcile as in the night: a cold JVM, a fresh lake, every table, the gate, the list and the report; for a
            tenth of the files and for all of them, which shows how cost and memory grow
  nights    the job of a smaller cluster, night after night in one lake, which shows what history costs

It stops with exit code 1 when the two do not give the same answers. It needs what ./tests/run sets up.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

import pyarrow.dataset as pds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.generate import STEP_MS, Shape, write
from benchmarks.speed_report import CleanerSpeed, DecisionSpeed, JobSpeed, NightsSpeed, Speed, publish, table
from benchmarks.yardsticks import DuckDbDecision, warm_seconds
from jobs.config import Config
from jobs.context import JobContext
from jobs.session import local_session
from jobs.wiring import Places, run_reconcile
from pipelines.domain.capture_order import CAPTURE_ORDER
from pipelines.domain.cluster_view import ClusterView
from pipelines.domain.decision_table import DecisionTable
from pipelines.domain.settings import DAY_MS, HOUR_MS
from pipelines.domain.snapshot import parse_snapshot
from pipelines.sources.snapshot_dir import SnapshotDirectories
from pipelines.transforms.decision_frames import decision_frames
from pipelines.transforms.summary import answer_key, with_numbers
from pipelines.transforms.verdicts import DecisionFrames, looked_up, with_answers
from pipelines.use_cases.reconcile_cases import Case, cases
from tests.cluster.hbase import Cell, HBaseCluster, start_hbase_jvm
from tests.cluster.hdfs import HdfsCluster
from tests.cluster.oracle import Oracle, write_names

P = ParamSpec("P")
T = TypeVar("T")

NOW = 1_790_000_000_000
"""Start of step `files` of the first night: fixed, so that every run decides on the same bytes."""
CLUSTER = "bench"
SERVERS, PEERS, GROUPS_PER_SERVER = 300, 4, 4
CLEANER_FILES = 1_000_000  # it needs 0.7 GiB of heap a million, and its speed does not depend on how many
REPEATS = 5
HEAP = "4g"
DONE = (0, 5)  # 5 = a finding that is new: HBase's cleaner, which never ran here, should have


class At:
    """A clock that stands just after a capture."""

    def __init__(self, night: int) -> None:
        self._now = NOW + night * DAY_MS + len(CAPTURE_ORDER) * STEP_MS + 1

    def now_ms(self) -> int:
        return self._now


def make_snapshot(work: Path, files: int, night: int = 0) -> Path:
    """A snapshot directory of the benchmark's cluster."""
    out = work / f"snapshot-{files}-{night}"
    write(Shape(CLUSTER, files, SERVERS, PEERS, GROUPS_PER_SERVER, 1, NOW + night * DAY_MS), out, None)
    return out


# HBase's own cleaner


def cleaner_speed(work: Path, snapshot: Path, names: Path) -> CleanerSpeed:
    """ReplicationLogCleaner on these names, with the queues, peers and servers of the snapshot."""
    known = parse_snapshot(json.loads((snapshot / "snapshot.json").read_text(encoding="utf-8")))
    if known.membership is None:
        raise SystemExit(f"{snapshot}: no membership")
    live = sorted(map(str, known.membership.online | known.membership.crashing))
    hdfs = HdfsCluster(work / "hdfs")
    try:
        jvm = start_hbase_jvm(work / "hbase", heap=HEAP)
        try:
            oracle = Oracle(HBaseCluster(jvm, hdfs, "hbase", 1))
            oracle.create_queue_table()
            oracle.set_queues(_cells(snapshot / "queues-1.jsonl"))
            oracle.set_peers(peer.peer_id for peer in known.peers)
            _, *timings = [oracle.time(names, live) for _ in range(REPEATS + 1)]  # the first one warms up
        finally:
            jvm.close()
    finally:
        hdfs.close()
    return CleanerSpeed(
        files=timings[0].files,
        deletable=timings[0].deletable,
        seconds=[timing.decide_seconds for timing in timings],
        heap_bytes_per_file=min(timing.heap_bytes for timing in timings) / timings[0].files,
    )


def _cells(scan: Path) -> list[Cell]:
    rows = [json.loads(line) for line in scan.read_text(encoding="utf-8").splitlines()]
    return [Cell(*(b64decode(row[key]) for key in ("row", "family", "qualifier", "value"))) for row in rows]


def first_names(snapshot: Path, target: Path, count: int) -> None:
    """The first files of the listing, in its order."""
    listing = pds.dataset(sorted((snapshot / "files").glob("*.parquet")), format="parquet")
    write_names(target, listing.head(count, columns=["path"])["path"].to_pylist())


# walsafe


def decision_speed(work: Path, snapshot: Path, names: Path) -> DecisionSpeed:
    """Read → decide → count by reason; and, for the comparison of answers, what we say that HBase says."""
    spark = session(work)
    reader = SnapshotDirectories(spark)
    opened = reader.open([f"file:{snapshot}"])
    frames = decision_frames(spark, _trusted(cases(opened, None, Config().settings(), At(0).now_ms())))
    counts: dict[str, int] = {}
    seconds = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        counts = _by_reason(reader.files(opened), frames)
        seconds.append(time.perf_counter() - started)
    asked = spark.read.text(str(names)).select(
        F.lit(CLUSTER).alias("cluster"),
        F.col("value").alias("path"),
        F.lit(1).cast("bigint").alias("length"),
        F.timestamp_millis(F.lit(NOW - HOUR_MS)).alias("modification_time"),
    )
    deletes = with_answers(looked_up(asked, frames), frames).filter("hbase_verdict = 'DELETE'").count()
    yardstick = DuckDbDecision(snapshot, frames, threads=2)
    spark.stop()
    return DecisionSpeed(
        files=sum(counts.values()),
        by_reason=counts,
        seconds=seconds[1:],
        hbase_deletes=deletes,
        duckdb_seconds=warm_seconds(yardstick, counts, REPEATS),
    )


def _by_reason(files: DataFrame, frames: DecisionFrames) -> dict[str, int]:
    found = looked_up(files, frames)
    by_bucket = with_numbers(found.groupBy(answer_key(found).alias("key")).agg(F.count(F.lit(1)).alias("files")))
    by_bucket = by_bucket.withColumn("cluster", F.lit(CLUSTER))
    counts: dict[str, int] = {}
    for row in with_answers(by_bucket, frames).select("reason", "files").collect():
        counts[row["reason"]] = counts.get(row["reason"], 0) + row["files"]
    return counts


def _trusted(found: Sequence[Case]) -> list[tuple[ClusterView, DecisionTable]]:
    """Cases that nothing speaks against: a refused one would be decided without any look at the files."""
    trusted = [(case.view, case.table) for case in found if not case.refused and case.view and case.table]
    if len(trusted) < len(found):
        raise SystemExit(f"the generated snapshot is refused: {found[0].refused}")
    return trusted


def job_speed(work: Path, snapshot: Path) -> JobSpeed:
    """The whole job in a JVM that has done nothing before, into a lake that does not exist yet."""
    started = time.perf_counter()
    spark = session(work)
    session_seconds = time.perf_counter() - started
    seconds, listed, files = reconcile(spark, snapshot, work / "lake", 0)
    peaks = _peak_bytes(_jvm()), _peak_bytes("self")
    spark.stop()
    return JobSpeed(files, listed, session_seconds, seconds, *peaks)


def nights_speed(work: Path, files: int, nights: int) -> NightsSpeed:
    """The job night after night; one night in another lake first, so that no night pays for a cold JVM."""
    spark = session(work)
    seconds = []
    for night in range(-1, nights):
        snapshot = make_snapshot(work, files, night)
        lake = work / ("lake" if night >= 0 else "warm-up")
        seconds.append(reconcile(spark, snapshot, lake, night)[0])
        shutil.rmtree(snapshot)
    spark.stop()
    return NightsSpeed(files=files, seconds=seconds[1:])


def reconcile(spark: SparkSession, snapshot: Path, lake: Path, night: int) -> tuple[float, int, int]:
    """One run as production wires it: seconds, files on the list, files decided."""
    started = time.perf_counter()
    outcome = run_reconcile(
        JobContext("reconcile", At(night), spark),
        Config(),
        Places(f"file:{lake}", f"file:{lake}-lists"),
        [f"file:{snapshot}"],
    )
    seconds = time.perf_counter() - started
    (cluster,) = json.loads(json.dumps(outcome.result))["clusters"]
    if outcome.exit_code not in DONE or not cluster["list_uri"]:
        raise SystemExit(f"no list was written:\n{outcome.text}")
    return seconds, cluster["deletable_files"], cluster["deletable_files"] + cluster["held_files"]


def session(work: Path) -> SparkSession:
    """`local[2]`, the driver's heap of the issue, and the flags of conf/spark-defaults.conf."""
    return local_session(work, cores=2, memory=HEAP, quick_start=False)


def _jvm() -> str:
    """Process id of the one Java child of this process."""
    children = " ".join(file.read_text() for file in Path("/proc/self/task").glob("*/children")).split()
    (jvm,) = [child for child in children if _status(child)["Name"] == "java"]
    return jvm


def _peak_bytes(process: str) -> int:
    """Largest resident set so far; getrusage would give that of the parent, which outlives the exec."""
    return int(_status(process)["VmHWM"].split()[0]) << 10


def _status(process: str) -> dict[str, str]:
    lines = Path("/proc", process, "status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


# the run


def alone(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call it in a Python process, and so with a JVM, of its own."""
    print(f"{function.__name__.replace('_', ' ')} …", file=sys.stderr, flush=True)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def measure(work: Path, files: int, nights: int, night_files: int) -> Speed:
    """Everything, one after the other."""
    load = os.getloadavg()[0]
    names = work / "names"
    snapshot = make_snapshot(work, files)
    first_names(snapshot, names, min(files, CLEANER_FILES))
    cleaner = alone(cleaner_speed, work / "cleaner", snapshot, names)
    decision = alone(decision_speed, work / "decision", snapshot, names)
    if decision.hbase_deletes != cleaner.deletable:
        raise SystemExit(
            f"HBase's cleaner would delete {cleaner.deletable:,} of the {cleaner.files:,} files, we say that it would "
            f"delete {decision.hbase_deletes:,}: times of different answers are not comparable"
        )
    tenth = make_snapshot(work, files // 10)
    jobs = [alone(job_speed, work / "job-tenth", tenth), alone(job_speed, work / "job", snapshot)]
    shutil.rmtree(snapshot)
    night_after_night = alone(nights_speed, work / "nights", night_files, nights) if nights else None
    return Speed(os.cpu_count() or 1, load, cleaner, decision, jobs, night_after_night)


def main() -> None:
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1_000_000, help="files under oldWALs (default: 1,000,000)")
    parser.add_argument("--nights", type=int, default=0, help="nights in one lake; 0 = leave that part out (default)")
    parser.add_argument("--night-files", type=int, default=200_000, help="files a night (default: 200,000)")
    parser.add_argument("--out", type=Path, default=here, help="where results.json and README.md go (default: here)")
    parser.add_argument(
        "--work", type=Path, help="parent of the scratch directory: some 350 bytes a file (default: TMPDIR)"
    )
    args = parser.parse_args()
    if args.files < 10_000 or (args.nights and args.nights < 4):
        parser.error("--files must be at least 10,000; --nights 0, or at least 4")
    with tempfile.TemporaryDirectory(prefix="walsafe-speed-", dir=args.work) as scratch:
        speed = measure(Path(scratch), args.files, args.nights, args.night_files)
    print(table(speed))
    options = f" --nights {args.nights} --night-files {args.night_files}" if args.nights else ""
    publish(speed, f".venv/bin/python benchmarks/reconcile_speed.py --files {args.files}{options}", args.out, here)


if __name__ == "__main__":
    main()
