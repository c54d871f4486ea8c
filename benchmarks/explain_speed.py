"""How long `explain` takes on a lake of many large nights, process and imports included, the best of three.

    .venv/bin/python benchmarks/explain_speed.py --files 1000000 --nights 30 --hdfs

reconcile writes the two newest nights, on the listings of generate.py. The older nights are copies of the first one
with another date and run id, which deltalake appends, because only two nights are ever read as a whole; each of them
says that some files came and as many went. With --hdfs the same lake is asked again on a real HA HDFS of one machine.
"""

import os
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder, write_deltalake

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench import CLUSTER, NOW, make_snapshot, reconcile, session
from benchmarks.records import add, begin, benchmark_parser
from pipelines.common.instants import DAY_MS, utc_day
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.verdict_changes import VERDICT_CHANGES
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.cluster.hdfs import HdfsCluster

PROJECT = Path(__file__).resolve().parent.parent
_COPIED = (RUNS, VERDICT_TOTALS, PINNED_BYTES, QUEUE_OFFSETS, FINDINGS, WAL_VERDICTS)
_LAUNCH = "from jobs.cli.launch.console import launch; launch()"


def make_lake(work: Path, files: int, nights: int) -> Path:
    """Returns a lake whose last two nights are decided, and whose earlier ones are copies of the first of these."""
    lake = work / "lake"
    spark = session(work)
    try:
        for night in (0, 1):
            print(f"night {night + 1} of 2", file=sys.stderr, flush=True)
            reconcile(spark, make_snapshot(work, files, night), lake, night)
    finally:
        spark.stop()
    for table in _COPIED:
        there = DeltaTable(lake / table.name)
        rows = _night(there, NOW)
        for back in range(1, nights - 1):
            write_deltalake(there, _copy(rows, back), mode="append", partition_by=["run_date"])
    changes = DeltaTable(lake / VERDICT_CHANGES.name)
    for back in range(1, nights - 2):
        write_deltalake(changes, _turnover(changes, back), mode="append", partition_by=["run_date"])
    return lake


def _turnover(table: DeltaTable, back: int) -> pa.Table:
    """Returns rows of `verdict_changes` of a night: files that came and as many that went."""
    day = utc_day(NOW) - timedelta(days=back)
    run = {"cluster": CLUSTER, "run_id": f"copy-{back}", "run_date": day, "previous_run_id": f"copy-{back + 1}"}
    size = {"files": 1000, "bytes": 1 << 30}
    came = {**run, **size, "to_verdict": "HELD", "to_reason": "PENDING"}
    went = {**run, **size, "from_verdict": "HELD", "from_reason": "PENDING"}
    return pa.Table.from_pylist([came, went], schema=pa.schema(table.schema().to_arrow()))


def _night(table: DeltaTable, night: int) -> pa.Table:
    query = " ".join(("SELECT * FROM there WHERE run_date =", f"DATE'{utc_day(night)}'"))
    return pa.RecordBatchReader.from_stream(QueryBuilder().register("there", table).execute(query)).read_all()


def _copy(rows: pa.Table, back: int) -> pa.Table:
    """Returns the rows of a night so many days earlier."""
    for name in ("run_date", "at", "files_started_at"):
        if name in rows.column_names:
            column = rows.schema.field(name)
            earlier = pc.subtract(rows[name], pa.scalar(timedelta(days=back)))
            rows = rows.set_column(rows.schema.get_field_index(name), column, earlier.cast(column.type))
    ids = pa.array([f"copy-{back}"] * len(rows), rows.schema.field("run_id").type)
    return rows.set_column(rows.schema.get_field_index("run_id"), rows.schema.field("run_id"), ids)


def ask(lake: str, conf: Path | None, *words: str) -> tuple[float, str]:
    """Runs explain in a process of its own without a JVM; returns its seconds and its answer.

    Args:
        lake: a path, or a path of the HDFS of `conf`.
        conf: a HADOOP_CONF_DIR; None = the local file system.
        words: the question.
    """
    command = [sys.executable, "-c", _LAUNCH, "explain", "--lake", lake, "--cluster", CLUSTER, *words]
    left_out = {"JAVA_HOME", "WALSAFE_CONFIG", "HADOOP_CONF_DIR"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    kept |= {} if conf is None else {"HADOOP_CONF_DIR": str(conf)}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=PROJECT, env=kept, capture_output=True, text=True, check=True)
    return time.perf_counter() - started, done.stdout


def questions(lake: Path, nights: int) -> dict[str, tuple[str, ...]]:
    """Returns the questions, by name; they name a held file and its server."""
    rows = _night(DeltaTable(lake / WAL_VERDICTS.name), NOW + DAY_MS).select(["path", "server", "verdict"])
    row = next(row for batch in rows.to_batches() for row in batch.to_pylist() if row["verdict"] == "HELD")
    back = min(21, nights - 1)
    before, long_ago = str(utc_day(NOW)), str(utc_day(NOW - (back - 1) * DAY_MS))
    return {
        "state": (),
        "file": (row["path"],),
        "peer": ("--peer", "4"),
        "server": ("--server", row["server"]),
        "since the night before": ("--since", before),
        f"since {back} nights ago": ("--since", long_ago),
        "peer since": ("--peer", "4", "--since", before),
        "server since": ("--server", row["server"], "--since", before),
    }


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--files", type=int, default=1_000_000, help="files under oldWALs (default: 1,000,000)")
    parser.add_argument("--nights", type=int, default=30, help="nights (default: 30)")
    parser.add_argument("--hdfs", action="store_true", help="also ask the lake on a real HA HDFS")
    args = parser.parse_args()
    run = begin(__file__, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="walsafe-explain-", dir=args.work) as scratch:
        lake = make_lake(Path(scratch), args.files, args.nights)
        asked = questions(lake, args.nights)

        def measure(place: str, where: str, conf: Path | None = None) -> None:
            for name, words in asked.items():
                seconds = min(ask(where, conf, *words)[0] for _ in range(3))
                print(f"{place:8} {name:24} {seconds:6.2f} s", flush=True)
                size = {"files": args.files, "nights": args.nights}
                add(run, "explain", {"place": place, "question": name, **size, "seconds": seconds}, args.out)

        measure("disk", str(lake))
        if args.hdfs:
            hdfs = HdfsCluster(Path(scratch) / "hdfs", ha=True)
            try:
                hdfs.file_system().copyFromLocalFile(hdfs.path(f"file://{lake}"), hdfs.path("/lake"))
                measure("HA HDFS", "/lake", hdfs.write_conf(Path(scratch) / "conf"))
            finally:
                hdfs.close()


if __name__ == "__main__":
    main()
