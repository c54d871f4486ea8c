"""Measures how fast keys are hashed, and two copies of a table compared, beside the most obvious solutions.

    .venv/bin/python benchmarks/split_speed.py --keys 1000000 --rows 10000000

Hashing: processor time of one core, from raw keys to hashes, best of three: the columns of split-verify, and awscrt's
native CRC-64/NVME in a Python loop. Comparing: split-verify as the job runs it beside a full outer join of both copies
in Spark, wall time on the same session, best of three: equal copies, copies with the stale rows of a split, and such
copies without one row; both must find the right number of differences. All answers are checked. What was measured goes
to benchmarks/results, and from there into docs/benchmarks.md (scripts/generate_benchmarks.py).
"""

import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent)

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from awscrt.checksums import crc64nvme
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.records import add, begin, benchmark_parser
from benchmarks.split_pages import EQUAL, LEFT, LOST, HashSpeed, SplitPoint, VerifySpeed, as_point, split_tables
from pipelines.lake.job_run import JobLake
from pipelines.pegasus.domain.rows import Placement
from pipelines.pegasus.sources.row_files import ParquetRows
from pipelines.pegasus.transforms.crc64_columns import Hashes
from pipelines.pegasus.transforms.key_columns import binary_column, key_hashes, partition_indexes
from pipelines.pegasus.transforms.row_tally import ROW_SCHEMA
from pipelines.pegasus.use_cases.frame import split_run
from pipelines.pegasus.use_cases.split_verify import ComparedSide, VerifyRequest, split_verify
from tests.labs.spark.local_session import local_session

RUNS = 3
OLD, NEW = 8, 16
VALUE_BYTES = 100
PART = 500_000


def best(work: Callable[[], object], clock: Callable[[], float]) -> float:
    seconds = []
    for _ in range(RUNS):
        begin = clock()
        work()
        seconds.append(clock() - begin)
    return min(seconds)


def keys_of(count: int, shortest: int, longest: int) -> list[bytes]:
    draw = random.Random(1)  # noqa: S311 - the same keys each time
    made = []
    for _ in range(count):
        size = draw.randint(shortest, longest)
        made.append(size.to_bytes(2, "big") + draw.randbytes(size) + b"sort")
    return made


def loop(keys: list[bytes]) -> list[int]:
    """Hashes the keys with a native CRC in a Python loop, the most obvious solution."""
    return [crc64nvme(key[2 : 2 + size]) if (size := key[0] << 8 | key[1]) else crc64nvme(key[2:]) for key in keys]


def hash_speed(count: int) -> Iterator[HashSpeed]:
    for shortest, longest in ((17, 17), (4, 32)):
        keys = keys_of(count, shortest, longest)
        column = binary_column(pa.array(keys, pa.binary()))
        expected = loop(keys)
        if key_hashes(column).hashes.tolist() != expected:
            raise SystemExit("the columns' hashes are not awscrt's")
        ours = best(lambda column=column: key_hashes(column), time.process_time) / count * 1e9
        native = best(lambda keys=keys: loop(keys), time.process_time) / count * 1e9
        size = f"{shortest} bytes" if shortest == longest else f"{shortest} to {longest} bytes"
        yield HashSpeed(size, count, ours, native)


def write_table(directory: Path, rows: int, count: int, *, created_with: int = 0, without: int | None = None) -> str:
    """Writes a table, a directory for each partition as split-export and split-run do.

    Its rows are the same for any number of partitions. With `created_with`, each partition also has the copies that a
    split from so many partitions leaves. The row with the number `without` is left out.
    """
    files: dict[int, pq.ParquetWriter] = {}
    for first in range(0, rows, PART):
        table, hashes = rows_from(first, min(PART, rows - first))
        if without is not None and first <= without < first + len(table):
            kept = np.arange(first, first + len(table)) != without
            table, hashes = table.filter(pa.array(kept)), hashes[kept]
        stored_by = created_with or count
        lies_in = partition_indexes(hashes, stored_by)
        for index in range(count):
            if index not in files:
                (directory / str(index)).mkdir(parents=True)
                path = directory / str(index) / f"{index % stored_by}-0.parquet"
                files[index] = pq.ParquetWriter(path, ROW_SCHEMA, compression="zstd", write_page_checksum=True)
            mine = table.filter(pa.array(lies_in == index % stored_by))
            indexes = pa.array(np.full(len(mine), index, np.int32))
            files[index].write_table(pa.table([indexes, *mine.columns], ROW_SCHEMA), row_group_size=PART)
    for file in files.values():
        file.close()
    return f"file:{directory}"


def rows_from(first: int, size: int) -> tuple[pa.Table, Hashes]:
    """Returns rows of a table by their number, and the hashes of their keys."""
    draw = np.random.default_rng(first)
    keys = pa.array([b"\x00\x0cuser%08d" % number + b"s" for number in range(first, first + size)], pa.binary())
    header = np.zeros((size, 12 + VALUE_BYTES), dtype=np.uint8)
    header[:, 5:12] = 1
    header[:, 12:] = draw.integers(0, 256, (size, VALUE_BYTES), dtype=np.uint8)
    values = pa.array([row.tobytes() for row in header], pa.binary())
    return pa.table({"key": keys, "value": values}), key_hashes(binary_column(keys)).hashes


def verify(spark: SparkSession, before: str, after: str) -> int:
    """Returns the number of differences that split-verify finds."""
    request = VerifyRequest(
        "t",
        ComparedSide(before, Placement(OLD, OLD)),
        ComparedSide(after, Placement(NEW, OLD)),
        at_ms=1_790_000_000_000,
    )
    run = split_run("split-verify", "benchmark", request.at_ms, request.inputs)
    result = split_verify(request, ParquetRows(spark, before, after), run, JobLake())
    return sum(one["rows"] for one in result.result["differences"])


def joined(spark: SparkSession, before: str, after: str) -> int:
    """Returns the number of keys with other values, by a join that knows nothing of partitions."""

    def rows(uri: str, name: str) -> DataFrame:
        frame = spark.read.option("recursiveFileLookup", "true").parquet(uri)
        return frame.select("key", F.col("value").alias(name))

    both = rows(before, "old").join(rows(after, "new"), "key", "full")
    return both.where(~F.col("old").eqNullSafe(F.col("new"))).count()


def verify_speed(spark: SparkSession, work: Path, rows: int) -> Iterator[VerifySpeed]:
    before = write_table(work / "before", rows, OLD)
    for copies, differences in ((EQUAL, 0), (LEFT, 0), (LOST, 1)):
        after = write_table(
            work / "after",
            rows,
            NEW,
            created_with=0 if copies == EQUAL else OLD,
            without=rows // 2 if copies == LOST else None,
        )
        seconds = {}
        for name, compared in (("verify", verify), ("join", joined)):

            def once(
                compared: Callable[[SparkSession, str, str], int] = compared,
                after: str = after,
                differences: int = differences,
            ) -> None:
                if compared(spark, before, after) != differences:
                    raise SystemExit(f"the copies have {differences} differences, and another number was found")

            seconds[name] = best(once, time.perf_counter)
        shutil.rmtree(work / "after")
        cores = spark.sparkContext.defaultParallelism
        yield VerifySpeed(rows, cores, seconds["verify"], seconds["join"], copies)


def main() -> None:
    parser = benchmark_parser(__doc__, ": 600 bytes a row")
    parser.add_argument("--keys", type=int, default=1_000_000, help="to hash; default: 1,000,000")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of each copy; default: 10,000,000")
    parser.add_argument("--cores", type=int, default=2, help="of the session; default: 2")
    options = parser.parse_args()
    run = begin(__file__, sys.argv[1:])
    speeds: list[SplitPoint] = []
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        spark = local_session(Path(work), cores=options.cores, memory="3g", quick_start=False)
        speeds += hash_speed(options.keys)
        speeds += verify_speed(spark, Path(work), options.rows)
        spark.stop()
    print(split_tables(speeds))
    for speed in speeds:
        add(run, "split_speed", as_point(speed), options.out)


if __name__ == "__main__":
    main()
