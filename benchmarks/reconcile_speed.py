"""Measures reconcile against HBase's own ReplicationLogCleaner, on the same names and queues, in one run.

    .venv/bin/python benchmarks/reconcile_speed.py --files 10000000      ten million files
    .venv/bin/python benchmarks/reconcile_speed.py --files 1000000       all of it on the same million names

In this order, and never two at a time:
  cleaner   the class itself in the master of a real mini cluster, one thread, warm, best of five; its input is in
            memory already, and the reading of its queues is not counted; first, again before and after the jobs, on the
            first million names; last on all names of the listing, best of two
  decision  read the snapshot, decide, count by reason: `local[2]`, warm, best of five; DuckDB and polars do the same,
            as yardsticks for what two cores can do; then DuckDB writes the rows of wal_verdicts as Parquet
  job       reconcile as in the night: a cold JVM, a fresh lake, every table, the gate, the list and the report; for a
            tenth of the files and for all of them, which shows how cost and memory grow

It stops with exit code 1 when two of them do not give the same answers, DuckDB's rows included. It needs what
./tests/run sets up.
"""

import json
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import pyarrow.dataset as pds
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench import CLUSTER, HEAP, NOW, At, alone, job_speed, make_snapshot, session
from benchmarks.polars_yardstick import PolarsDecision
from benchmarks.records import Run, add, begin, benchmark_parser
from benchmarks.speed_report import CleanerSpeed, DecisionSpeed, Speed, table
from benchmarks.yardsticks import DuckDbDecision, rows_of, warm_seconds
from jobs.cli.config.configuration import Config
from pipelines.common.instants import HOUR_MS
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.spark.decision_frames import decision_frames
from pipelines.decide.spark.lookup import DecisionFrames
from pipelines.decide.spark.summary import answer_key, with_numbers
from pipelines.decide.spark.verdicts import looked_up, with_answers
from pipelines.reconcile.cluster_cases import ClusterCase, cluster_cases
from pipelines.snapshot.reader import SnapshotDirectories
from pipelines.snapshot.snapshot_json import parse_snapshot
from tests.labs.cluster.hbase import Cell, HBaseCluster, start_hbase_jvm
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.jvm import OPTIMIZED
from tests.labs.cluster.oracle import Oracle, write_names

CLEANER_FILES = 1_000_000  # it needs 0.7 GiB of heap a million
REPEATS = 5
EVERY_NAME_REPEATS = 2
ROWS_REPEATS = 3
THREADS = 2


# HBase's own cleaner


def cleaner_speed(work: Path, snapshot: Path, names: Path, heap: str = HEAP, repeats: int = REPEATS) -> CleanerSpeed:
    """Measures ReplicationLogCleaner on these names, with the queues, peers and servers of the snapshot."""
    known = parse_snapshot(json.loads((snapshot / "snapshot.json").read_text(encoding="utf-8")))
    if known.membership is None:
        raise SystemExit(f"{snapshot}: no membership")
    live = sorted(map(str, known.membership.online | known.membership.crashing))
    hdfs = HdfsCluster(work / "hdfs", options=OPTIMIZED)
    try:
        jvm = start_hbase_jvm(work / "hbase", heap=heap, options=OPTIMIZED)
        try:
            oracle = Oracle(HBaseCluster(jvm, hdfs, "hbase", 1))
            oracle.create_queue_table()
            oracle.set_queues(_cells(snapshot / "queues-1.jsonl"))
            oracle.set_peers(peer.peer_id for peer in known.peers)
            _, *timings = [oracle.time(names, live) for _ in range(repeats + 1)]  # the first run warms up
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
    """Writes the first names of the listing, in its order, to a file."""
    listing = pds.dataset(sorted((snapshot / "files").glob("*.parquet")), format="parquet")
    batches = listing.to_batches(columns=["path"])
    write_names(target, islice((path for batch in batches for path in batch["path"].to_pylist()), count))


def every_name(work: Path, snapshot: Path, files: int) -> CleanerSpeed:
    """Measures ReplicationLogCleaner on all names of the listing."""
    names = work / "every-name"
    first_names(snapshot, names, files)
    heap = f"{3 + files // 2_000_000}g"  # 0.4 GiB a million, and room to collect
    return alone(cleaner_speed, work / "cleaner-every-name", snapshot, names, heap, EVERY_NAME_REPEATS)


# walsafe


def decision_speed(work: Path, snapshot: Path, names: Path, rows: Path) -> DecisionSpeed:
    """Measures reading, deciding and counting by reason, and counts the files that HBase would delete by our
    prediction.

    It leaves DuckDB's rows in `rows`.
    """
    spark = session(work)
    reader = SnapshotDirectories(spark)
    opened = reader.open([f"file:{snapshot}"])
    frames = decision_frames(spark, _trusted(cluster_cases(opened, None, Config().settings(), At(0).now_ms())))
    counts: dict[str, int] = {}
    seconds = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        counts = _by_reason(reader.files(opened), frames)
        seconds.append(time.perf_counter() - started)
    some = _hbase_deletes(spark.read.text(str(names)).withColumnRenamed("value", "path"), frames)
    every = _hbase_deletes(reader.files(opened), frames)
    duckdb = DuckDbDecision(snapshot, frames, THREADS)
    polars = PolarsDecision(snapshot, frames, THREADS)
    spark.stop()
    return DecisionSpeed(
        files=sum(counts.values()),
        by_reason=counts,
        seconds=seconds[1:],
        hbase_deletes=some,
        hbase_deletes_of_all=every,
        duckdb_seconds=warm_seconds(duckdb, counts, REPEATS),
        polars_seconds=warm_seconds(polars, counts, REPEATS),
        duckdb_rows_seconds=[duckdb.write_rows(rows, CLUSTER) for _ in range(ROWS_REPEATS)],
    )


def _hbase_deletes(names: DataFrame, frames: DecisionFrames) -> int:
    """Counts the names, all old enough, that HBase's cleaner would delete by our prediction."""
    asked = names.select(
        F.lit(CLUSTER).alias("cluster"),
        "path",
        F.lit(1).cast("bigint").alias("length"),
        F.timestamp_millis(F.lit(NOW - HOUR_MS)).alias("modification_time"),
    )
    return with_answers(looked_up(asked, frames), frames).filter("hbase_verdict = 'DELETE'").count()


def _by_reason(files: DataFrame, frames: DecisionFrames) -> dict[str, int]:
    found = looked_up(files, frames)
    by_bucket = with_numbers(found.groupBy(answer_key(found).alias("key")).agg(F.count(F.lit(1)).alias("files")))
    counts: dict[str, int] = {}
    for row in with_answers(by_bucket, frames).select("reason", "files").collect():
        counts[row["reason"]] = counts.get(row["reason"], 0) + row["files"]
    return counts


def _trusted(found: Sequence[ClusterCase]) -> list[tuple[ClusterView, DecisionTable]]:
    """Returns the views and tables of the cases, none of which may be refused.

    A refused case would be decided without looking at the files.
    """
    trusted = [(case.view, case.table) for case in found if not case.refused and case.view and case.table]
    if len(trusted) < len(found):
        raise SystemExit(f"the generated snapshot is refused: {found[0].refused}")
    return trusted


def same_rows(lake: Path, rows: Path) -> None:
    """Checks that DuckDB's rows equal those that the job wrote.

    Raises:
        SystemExit: they differ, so their times are not comparable.
    """
    table_of_job = DeltaTable(str(lake / "wal_verdicts"))
    ours, theirs = rows_of([uri.removeprefix("file://") for uri in table_of_job.file_uris()]), rows_of([str(rows)])
    if ours != theirs:
        raise SystemExit(f"DuckDB's rows are not those of the job: {theirs}, {ours}")


def same_deletes(cleaner: CleanerSpeed, ours: int) -> None:
    """Checks that HBase's cleaner deletes as many of the names as we predict.

    Raises:
        SystemExit: it does not, so its times are not comparable.
    """
    if ours != cleaner.deletable:
        raise SystemExit(
            f"HBase's cleaner would delete {cleaner.deletable:,} of the {cleaner.files:,} files, we say that it would "
            f"delete {ours:,}: times of different answers are not comparable"
        )


# the run


def measure(work: Path, files: int) -> Speed:
    """Measures everything, one after the other."""
    names, rows = work / "names", work / "rows.parquet"
    snapshot = make_snapshot(work, files)
    first_names(snapshot, names, min(files, CLEANER_FILES))
    cleaner = alone(cleaner_speed, work / "cleaner", snapshot, names)
    decision = alone(decision_speed, work / "decision", snapshot, names, rows)
    same_deletes(cleaner, decision.hbase_deletes)
    tenth = make_snapshot(work, files // 10)
    before = alone(cleaner_speed, work / "cleaner-before", snapshot, names)
    jobs = [alone(job_speed, work / "job", snapshot), alone(job_speed, work / "job-tenth", tenth)]
    after = alone(cleaner_speed, work / "cleaner-after", snapshot, names)
    same_rows(work / "job" / "lake", rows)
    every = every_name(work, snapshot, files) if files > CLEANER_FILES else None
    if every:
        same_deletes(every, decision.hbase_deletes_of_all)
    return Speed(cleaner, decision, jobs, [before, after], every)


def record(run: Run, speed: Speed, out: Path) -> None:
    """Appends the run as one line to benchmarks/results/reconcile.jsonl."""
    add(run, "reconcile", {"decision_ratio": speed.decision_ratio, **asdict(speed)}, out)


def main() -> None:
    parser = benchmark_parser(__doc__, ": some 350 bytes a file")
    parser.add_argument("--files", type=int, default=1_000_000, help="files under oldWALs (default: 1,000,000)")
    args = parser.parse_args()
    if args.files < 10_000:
        parser.error("--files must be at least 10,000")
    run = begin(__file__, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="walsafe-speed-", dir=args.work) as scratch:
        speed = measure(Path(scratch), args.files)
    print(table(speed))
    record(run, speed, args.out)


if __name__ == "__main__":
    main()
