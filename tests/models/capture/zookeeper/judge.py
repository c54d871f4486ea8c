"""Asks the real rule about the data that a capture of the model has read from ZooKeeper."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from jobs.demo.cluster.snapshots import healthy_snapshot, queues_in_zookeeper, steps_at
from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_2_verdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import ArchivedFile, Reason
from pipelines.decide.rule.zookeeper_queue_storage import zookeeper_view
from pipelines.hbase.zookeeper.queued_wals import QueuedWals, queued_wals, unsettled_reason
from pipelines.hbase.zookeeper.tree import ReplicationTree, Znode, parse_tree
from pipelines.snapshot.model import Membership, Retention, Snapshot
from tests.models.capture.ruling import LISTED_AT, Ruling
from tests.models.capture.trust import zookeeper_distrust_reason
from tests.models.capture.zookeeper.capture import Reading
from tests.models.capture.zookeeper.world import Hops, Wal

_EACH_MS = 10
_STEPS = steps_at(LISTED_AT, _EACH_MS)
_NOBODY = Membership(None, frozenset(), frozenset())
_BASE = "/hbase/replication/rs"
_POSITION = bytes.fromhex("5042554608bb03")
"""Of the WAL that a queue reads."""
_LOCK_OWNER = bytes.fromhex("504255460a0178")
_MOST_TREES = 50_000

Trees = tuple[ReplicationTree, ReplicationTree]


class Seen(NamedTuple):
    """Everything that a capture has read except the listing.

    Attributes:
        peers: the peers that exist, a bit for each.
        first: the first reading of the queues.
        second: the second reading of the queues.
        late: the listed WALs that were archived after the first reading had begun; the design's order has none.
    """

    peers: int
    first: Reading
    second: Reading
    late: tuple[Wal, ...] = ()


def _same(trees: Trees) -> Trees:
    return trees


def _as_read(trees: Trees, _peers: frozenset[str], read_from: int) -> QueuedWals:
    return queued_wals(trees, read_from)


@dataclass(frozen=True)
class ZkWeakening:
    """The part that a mutant takes away from the rule.

    Attributes:
        trees: changes the readings before they are compared to see whether anything has moved.
        unsettled: returns why queues may have moved, in place of the real function.
        queued: returns the names in queues, from both readings, the peers that exist, and the start of the first
            reading.
        true_clocks: whether modification times and steps are stamped by one true clock; otherwise every listed file
            seems older than all steps, which is what an adversary would choose.
        times: whether the modification time is compared with the start of the first reading.
        hbase: whether the ReplicationLogCleaner of HBase 2 decides, on the first reading.
    """

    trees: Callable[[Trees], Trees] = _same
    unsettled: Callable[[Trees], str | None] = unsettled_reason
    queued: Callable[[Trees, frozenset[str], int], QueuedWals] = _as_read
    true_clocks: bool = False
    times: bool = True
    hbase: bool = False


NOTHING_TAKEN = ZkWeakening()


@dataclass
class ZkJudge(Ruling[Seen, ZkWeakening]):
    """Applies the rule for queues in ZooKeeper."""

    weakening: ZkWeakening = NOTHING_TAKEN
    _FREED = Reason.NOT_QUEUED

    def __post_init__(self) -> None:
        super().__post_init__()
        self._tree = lru_cache(maxsize=_MOST_TREES)(self._parsed)

    def file(self, seen: Seen, wal: Wal) -> ArchivedFile:
        """See `Ruling.file`; the modification time is that of a true clock if the mutant requires it."""
        file = super().file(seen, wal)
        if not self.weakening.true_clocks:
            return file
        return replace(file, modification_time=LISTED_AT - (1 if wal in seen.late else 3) * _EACH_MS)

    def _of_hbase(self, file: ArchivedFile, view: ClusterView) -> HBaseVerdict:
        return hbase_2_verdict(file.name, file.modification_time, view)

    def _hbase_reads_again(self, view: ClusterView) -> bool:
        return view.restless is not None

    def snapshot(self, seen: Seen) -> tuple[Snapshot, Trees]:
        """Returns snapshot.json and both readings as the capture would have written them."""
        snapshot = healthy_snapshot(
            "model",
            _STEPS,
            self._peers(seen.peers),
            _NOBODY,
            _NOBODY,
            retention=Retention(self.ttl_ms, 0, 0),
        )
        snapshot = queues_in_zookeeper(snapshot)
        return snapshot, (self._tree(seen.first), self._tree(seen.second))

    def _seen_as(self, seen: Seen) -> ClusterView:
        snapshot, trees = self.snapshot(seen)
        settings, weakening = ReconcileSettings(), self.weakening
        untrusted = zookeeper_distrust_reason(snapshot, trees, settings.release)
        view = zookeeper_view(snapshot, trees, settings, untrusted, unparsable=False)
        if weakening is NOTHING_TAKEN:
            return view
        read_from = view.queued.read_from
        if weakening.true_clocks:
            read_from = LISTED_AT - 2 * _EACH_MS
        if not weakening.times:
            read_from = 2 * LISTED_AT
        peers = frozenset(peer.peer_id for peer in snapshot.peers)
        return replace(
            view,
            restless=weakening.unsettled(weakening.trees(trees)),
            queued=weakening.queued(trees, peers, read_from),
        )

    def _parsed(self, reading: Reading) -> ReplicationTree:
        return parse_tree(list(self._znodes(reading)))

    def _znodes(self, reading: Reading) -> list[Znode]:
        found = [Znode(_BASE, b"", reading.opened)]
        for server, look in reading.servers:
            if look is not None:
                path = f"{_BASE}/{self.names.servers[server]}"
                found.append(Znode(path, b"", look.cversion))
                if look.locked:
                    found.append(Znode(f"{path}/lock", _LOCK_OWNER, 0))
        for owner, peer, hops, wals in reading.queues:
            path = f"{_BASE}/{self.names.servers[owner]}/{self.queue(peer, hops)}"
            found.append(Znode(path, b"", 0))
            source = hops[0] if hops else owner
            for place, number in enumerate(wals):
                found.append(Znode(f"{path}/{self.names.wal(source, 0, number)}", b"" if place else _POSITION, 0))
        found += [Znode(f"{_BASE}/{self.names.servers[server]}", b"", cversion) for server, cversion in reading.again]
        return [*found, Znode(_BASE, b"", reading.closed)]

    def queue(self, peer: int, hops: Hops) -> str:
        """Returns the name of a queue."""
        return "-".join((self.names.peer(peer), *(str(self.names.servers[hop]) for hop in hops)))
