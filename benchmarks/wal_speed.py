"""Measures how fast one core reads WALs: the reader of inspect-wals beside HBase's own reader and WALPrettyPrinter.

    .venv/bin/python benchmarks/wal_speed.py --mib 128

HBase's writer writes each file, to the local disk. HBase reads it in one warm JVM (best of three after one run): its
reader alone, and WALPrettyPrinter with what it prints thrown away. walsafe counts it up as an executor does (best of
three). All on one thread; processor time where Python is concerned. It stops if the counts differ. It needs what
./tests/run sets up.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipelines.queues.wals.tally import WalContents, tally_wal
from tests.labs.cluster.hbase import start_hbase_jvm
from tests.labs.cluster.jvm import OPTIMIZED

COMPRESSED = {"hbase.regionserver.wal.enablecompression": "true"}
NO_VALUES = {"hbase.regionserver.wal.value.enablecompression": "false"}
RUNS = 3


@dataclass(frozen=True)
class Shape:
    """The shape of a file's entries."""

    name: str
    cells: int
    value: int
    compressed: bool = False


SHAPES = (
    Shape("1 cell of 100 bytes an entry", 1, 100),
    Shape("1 cell of 1,000 bytes", 1, 1_000),
    Shape("20 cells of 100 bytes", 20, 100),
    Shape("10 cells of 1,000 bytes", 10, 1_000),
    Shape("20 cells of 100 bytes, dictionaries", 20, 100, compressed=True),
    Shape("10 cells of 1,000 bytes, dictionaries", 10, 1_000, compressed=True),
)


def counted(path: Path) -> tuple[WalContents, float]:
    """Reads a file as an executor does; returns its counts and the seconds."""
    begin = time.process_time()
    with path.open("rb", buffering=0) as stream:
        contents = tally_wal(lambda count: stream.read(count) or b"")
    return contents, time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mib", type=int, default=128, help="bytes of values in each file")
    arguments = parser.parse_args()
    print("| entries | MiB | HBase's reader, MB/s | WALPrettyPrinter | walsafe | against WALPrettyPrinter |")
    print("| --- | --: | --: | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as directory:
        jvm = start_hbase_jvm(Path(directory), options=OPTIMIZED)
        try:
            speed = jvm.view.walsafe.cluster.WalSpeed
            conf = jvm.view.org.apache.hadoop.hbase.HBaseConfiguration.create()
            conf.set("hbase.unsafe.stream.capability.enforce", "false")  # a local disk has no hflush
            for number, shape in enumerate(SHAPES, 1):
                path = Path(directory, f"bench.{number}")
                properties = {**COMPRESSED, **NO_VALUES} if shape.compressed else {}
                speed.write(conf, f"file:{path}", properties, arguments.mib << 20, shape.cells, shape.value)
                size = path.stat().st_size
                reader = min([speed.readNanos(conf, f"file:{path}") for _ in range(RUNS + 1)][1:]) / 1e9
                printer = min([speed.prettyNanos(conf, f"file:{path}") for _ in range(RUNS)]) / 1e9
                contents, own = min((counted(path) for _ in range(RUNS)), key=lambda pair: pair[1])
                entries = -(-(arguments.mib << 20) // (shape.cells * shape.value))
                assert (contents.entries, contents.cells) == (entries, entries * shape.cells)
                assert contents.length == size
                rates = " | ".join(f"{size / seconds / 1e6:,.0f}" for seconds in (reader, printer, own))
                print(f"| {shape.name} | {size / (1 << 20):,.0f} | {rates} | {printer / own:.1f} times |", flush=True)
                path.unlink()
        finally:
            jvm.close()


if __name__ == "__main__":
    main()
