"""Writes a large snapshot directory, or a fleet of them, to measure on.

    python benchmarks/generate.py --files 10000000 --out DIR              one cluster
    python benchmarks/generate.py --files 2000000 --clusters 500 --out DIR   a fleet: a few large clusters, many small
    … --largest 0.6                                      the first cluster of the fleet has 60 % of all files
    … --names FILE                                       also the bare file names, a line each, for HBase's own cleaner

What the clusters are made of: `tests/models/large.py`. Names come in the order of an HDFS listing. Files are made
server by server, so memory stays the same however many there are; the same arguments give the same bytes.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipelines.files.file_batch import FileBatch
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from tests.models.large import Shape, file_batches, fleet, queue_cells, snapshot


def write(shape: Shape, out: Path, names: TextIO | None) -> None:
    """Writes one snapshot directory."""
    cells = queue_cells(shape)
    with SnapshotWriter(LocalTarget(out)) as writer:
        writer.files(_told(file_batches(shape), names))
        writer.cells("queues-1.jsonl", cells)
        writer.cells("queues-2.jsonl", cells)
        writer.finish(snapshot(shape))


def _told(batches: Iterator[FileBatch], names: TextIO | None) -> Iterator[FileBatch]:
    for batch in batches:
        if names is not None:
            names.writelines(f"{path.removeprefix('oldWALs/')}\n" for path in batch.paths)
        yield batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000_000, help="files under oldWALs, all clusters together")
    parser.add_argument("--servers", type=int, default=300, help="region servers a cluster, at most")
    parser.add_argument("--peers", type=int, default=4, help="replication peers a cluster; the last one is disabled")
    parser.add_argument("--groups-per-server", type=int, default=4, help="WAL groups a server; 1 = no multiwal")
    parser.add_argument("--clusters", type=int, default=0, help="make --out a fleet of that many clusters")
    parser.add_argument("--largest", type=float, help="share of the fleet's first cluster, below 1 (default: 1/k)")
    parser.add_argument("--cluster", default="bench", help="name of the single cluster")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--now-ms", type=int, help="start of step `files`, ms since the epoch; default: 15 minutes ago")
    parser.add_argument("--names", type=Path, help="also write the bare file names there")
    parser.add_argument("--out", type=Path, required=True, help="directory that does not exist yet")
    args = parser.parse_args()
    now = args.now_ms or time.time_ns() // 1_000_000 - 15 * 60_000
    shape = Shape(args.cluster, args.files, args.servers, args.peers, args.groups_per_server, args.seed, now)
    started = time.monotonic()
    with ExitStack() as stack:
        names = stack.enter_context(args.names.open("w", encoding="utf-8")) if args.names else None
        if args.clusters:
            args.out.mkdir(parents=True)
            for one in fleet(shape, args.clusters, args.largest):
                write(one, args.out / one.cluster, names)
        else:
            write(shape, args.out, names)
    print(f"{args.files:,} files in {time.monotonic() - started:.1f} s -> {args.out}")


if __name__ == "__main__":
    main()
