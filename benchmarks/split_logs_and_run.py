"""Measures how fast one core decodes private logs, and splits a replica offline, beside RocksDB's own
iterate-and-write.

    .venv/bin/python benchmarks/split_logs_and_run.py --mib 64 --keys 1000000

Logs have blocks of about 1 MiB, as a busy server writes them, and blocks of one mutation, as an idle one does. They are
decoded as an executor does it, with the rows for Spark made, and by the reader alone. The ceiling of the split is what
the same library can do at all: every row of the database is read and written into one SST, without a look at it.
Processor time, best of five; the split's rows are counted, and must be all. What was measured goes to
benchmarks/results, and from there into docs/benchmarks.md (scripts/generate_benchmarks.py).
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import rocksdict

from benchmarks.records import add, begin, benchmark_parser
from benchmarks.split_pages import DecodeSpeed, SplitPoint, SplitSpeed, as_point, split_tables
from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.domain.offline.model import OfflineSplitOptions, OldPartition, PartitionCounts
from pipelines.pegasus.domain.offline.ranges import SplitTask
from pipelines.pegasus.domain.private_log.names import Gpid
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader
from pipelines.pegasus.sinks.part_files import PartitionFiles, sst_writer
from pipelines.pegasus.sources.replica_db import opened_db
from pipelines.pegasus.sources.replica_logs import ReplicaLogs
from pipelines.pegasus.transforms.log_rows import Opener, log_batches
from pipelines.pegasus.use_cases.offline_partition import split_partitions
from pipelines.pegasus.use_cases.open_partition import PartitionTools
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.private_logs import Entry, LogWriter
from tests.labs.pegasus.replicas import META, stored, write_db

RUNS = 5
OLD, NEW = 4, 8


def best(*works: Callable[[], None]) -> list[float]:
    """Returns the least CPU seconds of each; they run in turns, because a machine may change its speed meanwhile."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(RUNS):
        for taken, work in zip(seconds, works, strict=True):
            begin = time.process_time()
            work()
            taken.append(time.process_time() - begin)
    return [min(taken) for taken in seconds]


def log(mib: int, value: int, a_block: int) -> tuple[bytes, int]:
    """Returns a log of about this many MiB, and the number of its mutations."""
    writer = LogWriter(2, 1)
    decree = 0
    request = made.put(encode_key(b"user%08d" % 7, b"sort%04d" % 7), b"v" * value)
    while len(writer.data) < mib << 20:
        writer.add(*(Entry(decree + one, (request,)) for one in range(1, a_block + 1)))
        decree += a_block
    return bytes(writer.data), decree


def decode_speed(mib: int) -> Iterator[DecodeSpeed]:
    task = {"uri": "", "node": "n", "app_id": 2, "partition": 1, "log": "log.1.0"}
    for value, a_block in ((100, 4000), (1000, 900), (100, 1)):
        data, mutations = log(mib, value, a_block)

        @contextmanager
        def opener(_: str, data: bytes = data) -> Iterator[Callable[[int], bytes]]:
            yield BytesIO(data).read

        def read(data: bytes = data) -> None:
            assert sum(1 for _ in PrivateLogReader(BytesIO(data).read, 0)) > 0

        def rows(opener: Opener = opener, mutations: int = mutations) -> None:
            assert sum(batch.num_rows for batch in log_batches(task, opener)) == mutations + 1

        name = f"values of {value} bytes, {a_block:,} a block"
        yield DecodeSpeed(name, len(data), mutations, *best(read, rows))


def split_speed(keys: int, work: Path | None) -> SplitSpeed:
    with tempfile.TemporaryDirectory(dir=work) as directory:
        root = Path(directory)
        rows: dict[bytes, bytes | None] = {}
        number = 0
        while len(rows) < keys:
            key = encode_key(b"user%08d" % number, b"s")
            number += 1
            if key_hash(key) % OLD == 1:
                rows[key] = stored(b"v" * 100)
        write_db(root / "rdb", [rows])

        def ceiling() -> None:
            (root / "one.sst").unlink(missing_ok=True)
            writer = sst_writer(root / "one.sst")
            options = rocksdict.Options(raw_mode=True)
            database = rocksdict.Rdict(
                str(root / "rdb"), options=options, column_families={META: options},
                access_type=rocksdict.AccessType.read_only(False),
            )  # fmt: skip
            for key, value in database.items():
                writer[key] = value
            database.close()
            writer.finish()

        def split() -> None:
            shutil.rmtree(root / "out", ignore_errors=True)
            tools = PartitionTools(
                lambda source: opened_db(source.database),
                lambda source: nullcontext(ReplicaLogs(str(source.logs), Gpid(1, source.partition))),
                PartitionFiles(root / "out", 1, 64 << 20, parquet=False),
            )
            sources = [OldPartition(index, str(root / "rdb")) for index in range(OLD)]
            (done,) = split_partitions(
                SplitTask(range(1, 2)), sources, PartitionCounts(OLD, NEW), OfflineSplitOptions(now_s=0), tools
            )
            assert (done.rows, done.stale) == (keys, 0)

        return SplitSpeed(keys, *best(ceiling, split))


def main() -> None:
    parser = benchmark_parser(__doc__, ": 500 bytes a key")
    parser.add_argument("--mib", type=int, default=64, help="size of each log")
    parser.add_argument("--keys", type=int, default=1_000_000, help="rows of the replica")
    arguments = parser.parse_args()
    run = begin(__file__, sys.argv[1:])
    speeds: list[SplitPoint] = [*decode_speed(arguments.mib), split_speed(arguments.keys, arguments.work)]
    print(split_tables(speeds))
    for speed in speeds:
        add(run, "split_logs_and_run", as_point(speed), arguments.out)


if __name__ == "__main__":
    main()
