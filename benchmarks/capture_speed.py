"""Measures how long a capture takes, and how much memory.

It captures a million files of a real HDFS, and ten million of a saved listing.

    .venv/bin/python benchmarks/capture_speed.py --source hadoop --files 1000000
    .venv/bin/python benchmarks/capture_speed.py --source webhdfs --files 1000000
    .venv/bin/python benchmarks/capture_speed.py --source fsimage --files 10000000
    .venv/bin/python benchmarks/capture_speed.py --source ls --files 10000000

The names are those of generate.py. For `hadoop` and `webhdfs` they are made, empty, in a MiniDFSCluster, which takes
far longer than to list them; `fsimage` and `ls` are the text that `hdfs oiv -p Delimited` and `hdfs dfs -ls -R` would
print, with nothing in it but the WALs. What HBase would answer is simulated, with the queues of generate.py; how long
that takes depends on HBase and is little beside the listing. Name node, data node, Spark and walsafe share the machine.
Each run adds a line to benchmarks/results/capture.jsonl. It needs what ./tests/run sets up.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench import (
    CLUSTER,
    HEAP,
    alone,
    collections,
    jvm_peak_bytes,
    peak_bytes,
    say,
    session,
    shape,
)
from benchmarks.hdfs_files import make_files
from benchmarks.records import add, begin, benchmark_parser
from jobs.capture import capture_cluster
from jobs.cli.config.configuration import load_config
from jobs.cli.context import JobContext
from jobs.demo.cluster.model import GeneratedCapture
from jobs.demo.cluster.on_disk import write_answers
from pipelines.files.file_batch import FileBatch
from pipelines.snapshot.snapshot_json import parse_snapshot
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.jvm import OPTIMIZED
from tests.models.large import file_batches, queue_cells, snapshot

SOURCES = ("hadoop", "webhdfs", "fsimage", "ls")
IMAGE_HEAD = (
    "Path\tReplication\tModificationTime\tAccessTime\tPreferredBlockSize\tBlocksCount\tFileSize\tNSQUOTA\tDSQUOTA"
    "\tPermission\tUserName\tGroupName\n"
)


@dataclass(frozen=True)
class CaptureSpeed:
    """The measurements of one capture: `listing_seconds` is the part until all files were read.

    Peaks are resident sets.
    """

    source: str
    files: int
    session_seconds: float
    seconds: float
    listing_seconds: float
    jvm_peak_bytes: int
    python_peak_bytes: int
    heap_live_bytes: int
    heap: str


def minute(ms: int) -> str:
    """Formats a time (ms) as both commands print it, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(ms // 1000))


def image_lines(root: str, batches: Iterator[FileBatch]) -> Iterator[str]:
    """Yields the lines that `hdfs oiv -p Delimited` would print."""
    yield IMAGE_HEAD
    for path, length, when in _rows(batches):
        row = (f"{root}/{path}", 3, when, when, 134217728, 1, length, 0, 0, "-rw-r--r--", "hbase", "hbase")
        yield "\t".join(map(str, row)) + "\n"


def ls_lines(root: str, batches: Iterator[FileBatch]) -> Iterator[str]:
    """Yields the lines that `hdfs dfs -ls -R` would print."""
    yield f"drwxr-xr-x   - hbase hbase          0 {minute(0)} {root}/oldWALs\n"
    for path, length, when in _rows(batches):
        yield f"-rw-r--r--   3 hbase hbase {length:>10} {when} {root}/{path}\n"


def _rows(batches: Iterator[FileBatch]) -> Iterator[tuple[str, int, str]]:
    for batch in batches:
        times = map(minute, batch.modification_times)
        yield from zip(batch.paths, batch.lengths, times, strict=True)


def write_text(target: Path, lines: Iterator[str]) -> None:
    with target.open("w", encoding="utf-8") as out:
        out.writelines(lines)


def live_directories(files: int) -> list[str]:
    """Returns the directories below `WALs/`; without them a capture takes the listing for that of another cluster."""
    made = shape(files)
    return [f"WALs/{made.server(number)}" for number in range(made.servers) if not made.is_dead(number)]


def lay_out_hdfs(work: Path, hdfs_root: str, files: int) -> None:
    """Creates the files, and the directories of the live servers, in HDFS.

    It runs in its own process, so that its JVM ends with it.
    """
    spark = session(work)
    make_files(spark, hdfs_root, (f"{directory}/a-wal-under-way" for directory in live_directories(files)))
    make_files(spark, hdfs_root, (path for batch in file_batches(shape(files)) for path in batch.paths))
    spark.stop()


def configuration(work: Path, files: int, section: Mapping[str, object]) -> Path:
    """Writes HBase's simulated answers, and returns the file for --config.

    The file has no root: a configuration cannot have simulated answers together with an HDFS.
    """
    live = work / "live"
    live.mkdir()
    made, cells = shape(files), queue_cells(shape(files))
    write_answers(GeneratedCapture(snapshot(made), (), cells, cells), live)
    simulated = {"source": "simulated", "path": str(live)}
    capture = {"files": dict(section), "queues": simulated, "state": simulated, "quiet_attempts": 1}
    path = work / "bench.yaml"
    path.write_text(json.dumps({"cluster": CLUSTER, "capture": capture}))
    return path


def measured(work: Path, source: str, config_file: Path, wal_root: str, heap: str) -> CaptureSpeed:
    """Measures one capture in a new JVM."""
    started = time.perf_counter()
    spark = session(work / "session", heap)
    session_seconds = time.perf_counter() - started
    context = JobContext("capture", spark=spark)
    config = load_config(str(config_file), context)
    assert config.capture is not None
    began, started = time.time(), time.perf_counter()
    outcome = capture_cluster(CLUSTER, wal_root, config.capture, f"file:{work}/snapshot", context)
    seconds = time.perf_counter() - started
    jvm, python = jvm_peak_bytes(), peak_bytes("self")
    spark.stop()
    written = parse_snapshot(json.loads((work / "snapshot" / "snapshot.json").read_text(encoding="utf-8")))
    # an image shows one moment, so the start of the next step shows how long reading the image took
    listed = written.steps[1].started_at / 1000 - began
    live = collections((work / "session" / "gc.log").read_text(encoding="utf-8")).live_bytes
    files = outcome.result["files"]
    assert isinstance(files, int)
    return CaptureSpeed(source, files, session_seconds, seconds, listed, jvm, python, live, heap)


def of_hdfs(work: Path, source: str, files: int, heap: str) -> CaptureSpeed:
    hdfs = HdfsCluster(work / "hdfs", heap="2g", options=OPTIMIZED)
    try:
        started = time.perf_counter()
        alone(lay_out_hdfs, work / "lay-out", f"{hdfs.uri}/hbase", files)
        say(f"{files:,} files made in {time.perf_counter() - started:.0f} s")
        section = {"source": "webhdfs", "urls": [hdfs.webhdfs()]} if source == "webhdfs" else {"source": "hadoop"}
        config = configuration(work, files, section)
        return alone(measured, work, source, config, f"{hdfs.uri}/hbase", heap)
    finally:
        hdfs.close()


def of_text(work: Path, source: str, files: int, heap: str) -> CaptureSpeed:
    root, text = work / "hbase", work / "listing.txt"
    for name in (*live_directories(files), "oldWALs"):
        (root / name).mkdir(parents=True)
    lines: Callable[[str, Iterator[FileBatch]], Iterator[str]] = image_lines if source == "fsimage" else ls_lines
    write_text(text, lines(str(root), file_batches(shape(files))))
    say(f"a text of {text.stat().st_size:,} bytes")
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    times = {"transaction_time": now} if source == "fsimage" else {"started_at": now, "finished_at": now}
    section = {"source": source, "path": f"file:{text}", "time_zone": "UTC", **times}
    config = configuration(work, files, section)
    return alone(measured, work, source, config, f"file://{root}", heap)


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--source", choices=SOURCES, default="hadoop")
    parser.add_argument("--files", type=int, default=1_000_000, help="files under oldWALs (default: 1,000,000)")
    parser.add_argument("--heap", default=HEAP, help=f"the driver's heap, fixed (default: {HEAP})")
    args = parser.parse_args()
    run = begin(__file__, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="walsafe-capture-", dir=args.work) as scratch:
        take = of_hdfs if args.source in {"hadoop", "webhdfs"} else of_text
        speed = take(Path(scratch), args.source, args.files, args.heap)
    if speed.files < args.files:
        raise SystemExit(f"{speed.files:,} files were captured, {args.files:,} were there")
    say(f"{speed.files:,} files in {speed.seconds:.1f} s, {speed.files / speed.seconds:,.0f} files/s")
    add(run, "capture", asdict(speed), args.out)


if __name__ == "__main__":
    main()
