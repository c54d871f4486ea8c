"""Measures how many files per second clean moves, and purge deletes, on a real HDFS on this machine.

    .venv/bin/python benchmarks/clean_speed.py --files 100000

    .venv/bin/python benchmarks/clean_speed.py --files 100000 --webhdfs

The peer is a plain Java client that only renames: as many files, as many threads, the same name node, no look before or
after, no audit. It runs first and last, and its quicker run counts: so neither a cold nor a warm name node favours a
side. Empty WALs of two servers lie below oldWALs of a MiniDFSCluster; what HBase would answer is simulated: no peers,
so every file is DELETABLE. One night lists them; then clean rehearses and executes, and purge --before-grace deletes
them. "Seconds" are those of the whole job without the start of Spark: list, digests, second look, lease, audit,
renames. "Moving" is from the first intent to the last outcome, audit included. Name node, data node, Spark and walsafe
share the machine. It stops with exit code 1 when a file was not moved or not deleted. Each run adds lines to
benchmarks/results/clean.jsonl. It needs what ./tests/run sets up.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.hdfs_files import CHUNK, THREADS, make_files
from benchmarks.records import add, begin, benchmark_parser
from jobs.capture import capture_cluster
from jobs.cleanup.settings import checked_configuration
from jobs.cleanup.wiring import open_cleanup
from jobs.cli.config.configuration import Config, load_config
from jobs.cli.context import JobContext
from jobs.demo.cluster.on_disk import write_answers
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.request import CleanupPlace, CleanupPorts
from pipelines.common.job_result import JobResult
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.snapshot.model import Retention
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.jvm import OPTIMIZED
from tests.labs.small_cluster import H1, H2, group, small, with_snapshot
from tests.labs.spark.local_session import local_session

CLUSTER, RUN, ROOT = "bench", "night", "/hbase"
FIRST_WAL = 1_760_000_000_000
BATCH = 5_000
"""The default of `clean.batch`."""
_PLAIN = r"""
package walsafe;

import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;

public class PlainClient {
    public void rename(FileContext context, String from, String to, String names) throws Exception {
        for (String name : names.split("\n")) {
            context.rename(new Path(from, name), new Path(to, name), new Options.Rename[0]);
        }
    }
}
"""


@dataclass
class Bench:
    """One cluster on HDFS, its configuration, and the folder with the results of its night."""

    spark: SparkSession
    hdfs: HdfsCluster
    work: Path
    webhdfs: bool
    told: list[float] = field(default_factory=list)

    @property
    def wal_root(self) -> str:
        return f"{self.hdfs.uri}{ROOT}"

    @property
    def lake(self) -> str:
        return f"file:{self.work}/lake"

    @property
    def config(self) -> Path:
        return self.work / "bench.yaml"

    def lay_out(self, files: int) -> None:
        """Creates oldWALs and WALs in HDFS, HBase's answers on the disk, and the configuration."""
        names = (f"oldWALs/{group((H1, H2)[index % 2])}.{FIRST_WAL + index}" for index in range(files))
        make_files(self.spark, self.wal_root, names)
        for server in (H1, H2):
            self.hdfs.file_system().mkdirs(self.hdfs.path(f"{ROOT}/WALs/{server}"))
        self.hdfs.file_system().mkdirs(self.hdfs.path("/quarantine"))
        made = with_snapshot(small(CLUSTER), peers=(), retention=Retention(0, 0, 0))
        live = self.work / "live"
        live.mkdir()
        write_answers(replace(made, pass_1=(), pass_2=()), live)
        simulated = {"source": "simulated", "path": str(live)}
        hadoop, webhdfs = {"source": "hadoop"}, {"source": "webhdfs", "urls": [self.hdfs.webhdfs()]}
        document = {
            "cluster": CLUSTER,
            "capture": {
                "files": webhdfs if self.webhdfs else hadoop,
                "queues": simulated,
                "state": simulated,
                "quiet_attempts": 1,
            },
            "clean": {"quarantine": f"{self.hdfs.uri}/quarantine", "batch": BATCH},
        }
        self.config.write_text(json.dumps(document))

    def configured(self, context: JobContext) -> Config:
        """Returns the configuration with its root, which no configuration file can have beside simulated answers."""
        return load_config(str(self.config), context).model_copy(update={"wal_root": self.wal_root})

    def night(self) -> None:
        context = JobContext("bench", spark=self.spark)
        config = self.configured(context)
        assert config.capture is not None
        out = f"file:{self.work}/snapshot"
        capture_cluster(CLUSTER, self.wal_root, config.capture, out, context)
        outcome = run_reconcile(context, config, OutputPlaces(self.lake, f"file:{self.work}/lists"), [out], run_id=RUN)
        if outcome.exit_code not in (0, 5):  # 5 = a finding that is new: all files are empty
            raise SystemExit(outcome.text)

    @contextmanager
    def edges(self, job: str) -> Iterator[tuple[CleanupPlace, CleanupPorts]]:
        context = JobContext(job, spark=self.spark)
        settings = checked_configuration(self.configured(context), str(self.config), CLUSTER)
        with open_cleanup(context, settings, self.lake, f"file:{self.work}/lists") as (place, ports):
            yield place, replace(ports, tell=self.tell, audit=Clocked(ports.audit, self.told))

    def tell(self, line: str) -> None:
        print(f"  {line}", file=sys.stderr, flush=True)
        self.told.append(time.perf_counter())

    def clean(self, *, execute: bool) -> JobResult:
        with self.edges("clean") as (place, ports):
            return clean(CleanRequest(RUN, execute=execute), place, ports)

    def purge(self) -> JobResult:
        with self.edges("purge") as (place, ports):
            return purge(PurgeRequest(RUN, "measured", execute=True), place, ports)


class Clocked:
    """An audit that records the time of its first intent, which begins the moving."""

    def __init__(self, inner: object, told: list[float]) -> None:
        self._inner = inner
        self._told = told

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the audit has
        if name == "intend" and not self._told:
            self._told.append(time.perf_counter())
        return getattr(self._inner, name)


@dataclass(frozen=True)
class Point:
    """The measurements of one step; `moving_seconds` is None where nothing is moved, or for the whole step."""

    step: str
    files: int
    seconds: float
    moving_seconds: float | None = None


def plain_client(bench: Bench, files: int, when: str) -> Point:
    """Renames as many files with Hadoop's client alone."""
    origin, target = (f"{bench.hdfs.uri}/plain-{when}/{end}" for end in ("from", "to"))
    names = [f"{group(H1)}.{FIRST_WAL + index}" for index in range(files)]
    make_files(bench.spark, origin, names)
    bench.hdfs.file_system().mkdirs(bench.hdfs.path(f"/plain-{when}/to"))
    hadoop = HadoopJvm.of(bench.spark)
    context = hadoop.view.org.apache.hadoop.fs.FileContext.getFileContext(hadoop.path(origin).toUri(), hadoop.conf)
    client = hadoop.compiled("walsafe.PlainClient", _PLAIN)
    chunks = ["\n".join(names[start : start + CHUNK]) for start in range(0, files, CHUNK)]
    started = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda chunk: client.rename(context, origin, target, chunk), chunks))
    return Point(f"plain client, {when}", files, time.perf_counter() - started)


def timed(step: str, files: int, bench: Bench, job: Callable[[], JobResult]) -> tuple[JobResult, Point]:
    bench.told.clear()
    started = time.perf_counter()
    outcome = job()
    seconds = time.perf_counter() - started
    moving = bench.told[-1] - bench.told[0] if len(bench.told) > 1 else None
    return outcome, Point(step, files, seconds, moving)


def measure(bench: Bench, files: int) -> Iterator[Point]:
    yield plain_client(bench, files, "first")
    bench.lay_out(files)
    bench.night()
    yield timed("clean, rehearsal", files, bench, lambda: bench.clean(execute=False))[1]
    cleaned, point = timed("clean --execute", files, bench, lambda: bench.clean(execute=True))
    if cleaned.result["done_files"] != files:
        raise SystemExit(f"not all files were moved:\n{cleaned.text}")
    yield point
    purged, point = timed("purge --before-grace", files, bench, bench.purge)
    runs: Any = purged.result["runs"]
    if [one["done_files"] for one in runs] != [files]:
        raise SystemExit(f"not all files were deleted:\n{purged.text}")
    yield point
    yield plain_client(bench, files, "last")


def show(point: Point) -> None:
    line = f"{point.step:<24}{point.files:>9,} files{point.seconds:>8.1f} s{point.files / point.seconds:>9,.0f} files/s"
    if point.moving_seconds:
        line += f"{point.moving_seconds:>8.1f} s moving{point.files / point.moving_seconds:>9,.0f} files/s"
    print(line, flush=True)


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--files", type=int, default=100_000, help="files under oldWALs (default: 100,000)")
    parser.add_argument("--webhdfs", action="store_true", help="move and delete through WebHDFS")
    args = parser.parse_args()
    run = begin(__file__, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="walsafe-clean-", dir=args.work) as scratch:
        work = Path(scratch)
        spark = local_session(work, quick_start=False)
        hdfs = HdfsCluster(work / "hdfs", options=OPTIMIZED)
        try:
            for point in measure(Bench(spark, hdfs, work, args.webhdfs), args.files):
                show(point)
                add(run, "clean", asdict(point), args.out)
        finally:
            hdfs.close()
            spark.stop()


if __name__ == "__main__":
    main()
