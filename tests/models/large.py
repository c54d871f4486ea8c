"""Makes a cluster of any size: names, lengths and times of its files come by columns, so that 100 million take minutes.

It is for the benchmarks. Of the files under oldWALs 2.5 % belong to hbase:meta, 0.5 % have a valid name outside the
form <group>.<13 digits>, 0.25 % are not WALs at all; no name makes HBase's cleaner throw. The groups are those of
multiwal. 5 % of them have no offset; one peer is disabled; a tenth of the servers are dead, half of these with their
queues finished. Why it does not ask `jobs.demo.cluster.wals` for each WAL: docs/adr/0020-one-generator.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs.demo.cluster.capture import cells_of
from jobs.demo.cluster.parts import wal_groups
from jobs.demo.cluster.snapshots import healthy_snapshot, steps_at
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell, QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import encode_prefix
from pipelines.snapshot.model import Membership, Snapshot, WalDirectory
from tests.models.oddities import INVALID_FORMS, VALID_FORMS

Numbers = npt.NDArray[np.int64]
STEP_MS = 60_000
PAST_MS = 30 * DAY_MS
META_EVERY, ODD_EVERY, INVALID_EVERY = 40, 200, 400  # 2.5 %, 0.5 %, 0.25 %
GROUPS_WITHOUT_OFFSET = 0.05
DEAD_SHARE = 0.1


@dataclass(frozen=True)
class Shape:
    """One cluster to generate; the same shape gives the same bytes.

    Attributes:
        cluster: the name of the cluster.
        files: the number of files under oldWALs.
        servers: the number of region servers, including the dead ones.
        peers: the number of replication peers; the last one is disabled.
        groups_per_server: the number of WAL groups of each server; 1 = no multiwal.
        seed: another seed gives other lengths and offsets.
        now: the start of step `files`, ms.
    """

    cluster: str
    files: int
    servers: int
    peers: int
    groups_per_server: int
    seed: int
    now: int

    def server(self, number: int) -> ServerName:
        """Returns the region server with this number."""
        return ServerName(f"rs{number:04d}.{self.cluster.lower()}.example.org", 16020, self.now - PAST_MS - HOUR_MS)

    def is_dead(self, number: int) -> bool:
        """Returns whether the server with this number is fully dead."""
        return number % round(1 / DEAD_SHARE) == 3

    def groups(self, number: int) -> list[str]:
        """Returns the WAL groups of the server with this number."""
        return list(wal_groups(self.server(number), self.groups_per_server))

    def files_of(self, number: int) -> int:
        """Returns how many of the files belong to the server with this number."""
        return self.files // self.servers + (number < self.files % self.servers)

    @property
    def interval(self) -> int:
        """Returns the ms between two WALs of a group, chosen so that the last one is old enough to be judged."""
        return max((PAST_MS - DAY_MS) // max(-(-self.files // self.servers) // self.groups_per_server + 1, 1), 1)


def file_batches(shape: Shape) -> Iterator[FileBatch]:
    """Yields all files under oldWALs, server by server, sorted by name within each server."""
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


def _names(shape: Shape, number: int, index: Numbers, timestamps: Numbers) -> pa.Array:
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
    forms = VALID_FORMS if valid else INVALID_FORMS
    form = forms[index // ODD_EVERY % len(forms)]
    group = groups[index % len(groups)]
    if form == "{group}":
        group = f"{group}-{index}"
    return form.format(group=group, ts=timestamp, short=timestamp // 1000)


def queue_cells(shape: Shape) -> tuple[Cell, ...]:
    """Returns one scan of hbase:replication."""
    random = np.random.default_rng([shape.seed, 1_000_003])
    per_group = -(-shape.files // shape.servers) // shape.groups_per_server + 1
    alive = [number for number in range(shape.servers) if not shape.is_dead(number)]
    rows: dict[str, dict[str, str]] = {}
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
            rows[row] = offsets
    return cells_of(rows)


def snapshot(shape: Shape) -> Snapshot:
    """Returns snapshot.json without `contents`."""
    master = f"m1.{shape.cluster.lower()}.example.org,16000,{shape.now - PAST_MS}"
    online = frozenset(shape.server(number) for number in range(shape.servers) if not shape.is_dead(number))
    directories = tuple(WalDirectory(server, 2, shape.now) for server in sorted(online))
    peers = (Peer(str(peer), "DISABLED" if peer == shape.peers else "ENABLED") for peer in range(1, shape.peers + 1))
    first = Membership(master, online, frozenset(), directories)
    steps = steps_at(shape.now, STEP_MS, gap=0)
    second = replace(first, wal_directories=())
    return healthy_snapshot(shape.cluster, steps, peers, first, second, cluster_id=None)


def fleet(shape: Shape, clusters: int, largest: float | None = None) -> Iterator[Shape]:
    """Yields the shapes of many clusters that share the files with the skew of real fleets.

    Cluster k gets a share of 1/k.

    Args:
        shape: the shape of all of them together.
        clusters: the number of clusters.
        largest: the share of the first one, 0 to 1; None = by the same rule.
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
