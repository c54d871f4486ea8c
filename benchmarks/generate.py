"""Writes a large snapshot directory, or a fleet of them, to measure on.

    python benchmarks/generate.py --files 10000000 --out DIR              one cluster
    python benchmarks/generate.py --files 2000000 --clusters 500 --out DIR   a fleet: a few large clusters, many small
    … --largest 0.6                                      the first cluster of the fleet has 60 % of all files
    … --names FILE                                       also the bare file names, a line each, for HBase's own cleaner

Of the files under oldWALs 2.5 % belong to hbase:meta, 0.5 % have a valid name outside the form <group>.<13 digits>,
0.25 % are no WALs at all; no name makes HBase's cleaner throw. The groups are those of multiwal. 5 % of them have no
offset; one peer of the four is disabled; a tenth of the servers are dead, half of these with their queues finished.
Names come in the order of an HDFS listing. Files are made server by server with numpy and pyarrow, so memory stays
the same however many there are; the same arguments give the same bytes.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipelines.domain.replication_queues import QUEUE_FAMILY, Cell, QueueId
from pipelines.domain.server_names import ServerName
from pipelines.domain.settings import DAY_MS, HOUR_MS
from pipelines.domain.snapshot import (
    QUEUE_STORAGE_TABLE,
    Backup,
    Membership,
    Peer,
    Retention,
    Snapshot,
    WalDirectory,
)
from pipelines.domain.wal_names import encode_prefix
from pipelines.ports import FileBatch
from pipelines.simulate.capture import LOG_CLEANERS, SAFE_FLAGS, steps_at
from pipelines.simulate.parts import wal_groups
from pipelines.sinks.snapshot_target import LocalTarget
from pipelines.sinks.snapshot_writer import SnapshotWriter

STEP_MS = 60_000
PAST_MS = 30 * DAY_MS
META_EVERY, ODD_EVERY, INVALID_EVERY = 40, 200, 400  # 2.5 %, 0.5 %, 0.25 %
GROUPS_WITHOUT_OFFSET = 0.05
DEAD_SHARE = 0.1
ODD_FORMS = ("{group}.{ts}.copy", "{group}.0{ts}", "{group}.{short}", "{group}.{ts}.syncrep", "{group}.{ts}.7")
INVALID_FORMS = ("{group}.{ts}.a.b", "{group}.{ts}.", "{group}.{ts}.tmp~", "{group}")


@dataclass(frozen=True)
class Shape:
    """One cluster to generate; `now` is the start of step `files`, ms."""

    cluster: str
    files: int
    servers: int
    peers: int
    groups_per_server: int
    seed: int
    now: int

    def server(self, number: int) -> ServerName:
        return ServerName(f"rs{number:04d}.{self.cluster.lower()}.example.org", 16020, self.now - PAST_MS - HOUR_MS)

    def is_dead(self, number: int) -> bool:
        return number % round(1 / DEAD_SHARE) == 3

    def groups(self, number: int) -> list[str]:
        return list(wal_groups(self.server(number), self.groups_per_server))

    def files_of(self, number: int) -> int:
        return self.files // self.servers + (number < self.files % self.servers)

    @property
    def interval(self) -> int:
        """Ms between two WALs of a group, such that the last one is old enough to be judged."""
        return max((PAST_MS - DAY_MS) // max(-(-self.files // self.servers) // self.groups_per_server + 1, 1), 1)


def file_batches(shape: Shape) -> Iterator[FileBatch]:
    """All files under oldWALs, server by server, sorted by name within each server."""
    for number in range(shape.servers):
        count = shape.files_of(number)
        if not count:
            continue
        random = np.random.default_rng([shape.seed, number])
        index = np.arange(count)
        timestamps = shape.now - PAST_MS + (index // shape.groups_per_server) * shape.interval
        timestamps += number  # no two servers roll at the same millisecond
        names = _names(shape, number, index, timestamps)
        order = pc.sort_indices(names)
        lengths = random.integers(48 << 20, 128 << 20, count)
        paths = pc.binary_join_element_wise("oldWALs/", names.take(order), "")
        by_name = order.to_numpy()
        archived = timestamps + HOUR_MS
        yield FileBatch(paths.to_pylist(), lengths[by_name].tolist(), archived[by_name].tolist())


def _names(shape: Shape, number: int, index: np.ndarray, timestamps: np.ndarray) -> pa.Array:
    groups = pa.array(shape.groups(number))
    digits = pa.array(timestamps).cast(pa.string())
    regular = pc.binary_join_element_wise(groups.take(pa.array(index % shape.groups_per_server)), digits, ".")
    encoded = encode_prefix(str(shape.server(number)))
    meta = pc.binary_join_element_wise(f"{encoded}.meta", digits, "meta", ".")
    # counted over the whole cluster, so that small servers do not round the shares up
    position = index + number * (shape.files // shape.servers)
    names = pc.if_else(pa.array(position % META_EVERY == 17), meta, regular)
    # the odd ones are few, so they are written one by one; the index keeps them distinct
    odd = np.flatnonzero((position % ODD_EVERY == 5) | (position % INVALID_EVERY == 9))
    mask = np.zeros(len(index), dtype=bool)
    mask[odd] = True
    written = [_odd_name(shape.groups(number), int(position[i]), int(timestamps[i])) for i in odd]
    return pc.replace_with_mask(names, pa.array(mask), pa.array(written, pa.string()))


def _odd_name(groups: Sequence[str], index: int, timestamp: int) -> str:
    valid = index % ODD_EVERY == 5
    forms = ODD_FORMS if valid else INVALID_FORMS
    form = forms[index // ODD_EVERY % len(forms)]
    group = groups[index % len(groups)]
    if form == "{group}":
        group = f"{group}-{index}"
    return form.format(group=group, ts=timestamp, short=timestamp // 1000)


def queue_cells(shape: Shape) -> list[Cell]:
    """One scan of hbase:replication."""
    random = np.random.default_rng([shape.seed, 1_000_003])
    per_group = -(-shape.files // shape.servers) // shape.groups_per_server + 1
    alive = [number for number in range(shape.servers) if not shape.is_dead(number)]
    cells = []
    for number in range(shape.servers):
        finished = shape.is_dead(number) and number % 20 == 3
        if finished:
            continue
        own = shape.server(number)
        claimer = shape.server(alive[number % len(alive)])
        without = random.random(shape.groups_per_server) < GROUPS_WITHOUT_OFFSET
        for peer in range(1, shape.peers + 1):
            queue = QueueId(str(peer), own)
            row = str(queue.claimed_by(claimer) if shape.is_dead(number) else queue)
            reached = random.uniform(0.2, 0.3) if peer == shape.peers else random.uniform(0.7, 1.0)
            offsets = {str(own): ":0"}
            for group, skipped in zip(shape.groups(number), without, strict=True):
                if not skipped:
                    timestamp = shape.now - PAST_MS + int(per_group * reached) * shape.interval + number
                    offsets[group] = f"{group}.{timestamp}:{random.integers(-1, 1 << 20)}"
            if len(offsets) > 1:
                del offsets[str(own)]  # only a row without any real group keeps the placeholder
            cells += [
                Cell(row.encode(), QUEUE_FAMILY, group.encode(), value.encode()) for group, value in offsets.items()
            ]
    return sorted(cells, key=lambda cell: (cell.row, cell.qualifier))


def snapshot(shape: Shape) -> Snapshot:
    """snapshot.json without `contents`."""
    master = f"m1.{shape.cluster.lower()}.example.org,16000,{shape.now - PAST_MS}"
    online = frozenset(shape.server(number) for number in range(shape.servers) if not shape.is_dead(number))
    directories = tuple(WalDirectory(server, 2, shape.now) for server in sorted(online))
    return Snapshot(
        cluster=shape.cluster,
        cluster_id=None,
        hbase_version="3.0.0",
        queue_storage=QUEUE_STORAGE_TABLE,
        wal_root=f"hdfs://{shape.cluster.lower()}/hbase",
        clock_host="edge1.example.org",
        steps=steps_at(shape.now, STEP_MS, gap=0),
        contents={},
        peers=tuple(
            Peer(str(peer), "DISABLED" if peer == shape.peers else "ENABLED") for peer in range(1, shape.peers + 1)
        ),
        membership=Membership(master, online, frozenset(), directories),
        membership_2=Membership(master, online, frozenset()),
        flags=SAFE_FLAGS,
        flags_2=SAFE_FLAGS,
        retention=Retention(600_000, 604_800_000, 604_800_000),
        log_cleaner_plugins=LOG_CLEANERS,
        backup=Backup(enabled=False),
        extras=(),
    )


def write(shape: Shape, out: Path, names: TextIO | None) -> None:
    """One snapshot directory."""
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


def fleet(shape: Shape, clusters: int, largest: float | None = None) -> Iterator[Shape]:
    """Many clusters that share the files with the skew of real fleets: cluster k gets a share of 1/k.

    Args:
        shape: of all of them together.
        clusters: how many.
        largest: share of the first one, 0 to 1; None = as the others.
    """
    weights = 1 / np.arange(1, clusters + 1)
    if largest is not None and clusters > 1:
        weights[0] = weights[1:].sum() * largest / (1 - largest)
    shares = np.maximum((weights / weights.sum() * shape.files).astype(int), 1)
    for number, files in enumerate(shares.tolist()):
        servers = int(min(shape.servers, max(3, files // 5_000)))
        yield Shape(
            f"c{number:05d}", files, servers, shape.peers, shape.groups_per_server, shape.seed + number, shape.now
        )


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
