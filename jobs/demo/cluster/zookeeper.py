"""The same generated cluster before its upgrade to HBase 3: its queues in ZooKeeper, as HBase 2 lists them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from jobs.demo.cluster.model import REGION, ClusterPlan, GeneratedCapture, ServerLife, Wal
from jobs.demo.cluster.snapshots import queues_in_zookeeper
from jobs.demo.cluster.wals import shipped_bytes, shipped_until, wals_of
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.replication_queues import parse_queue_id
from pipelines.hbase.zookeeper.tree import QUEUES, REGIONS, Znode
from pipelines.snapshot.model import Snapshot

BASE = "/hbase/replication"


@dataclass(frozen=True, slots=True)
class ZooKeeperCapture:
    """What a capture of the cluster from ZooKeeper would hold; both readings are the same."""

    snapshot: Snapshot
    files: tuple[ArchivedFile, ...]
    znodes: tuple[Znode, ...]


def before_upgrade(plan: ClusterPlan, made: GeneratedCapture) -> ZooKeeperCapture:
    """The capture of the cluster as if it were an HBase 2.

    Args:
        plan: the cluster's life.
        made: its capture of the same instant.
    """
    at = made.snapshot.files_step.started_at
    peers = tuple(replace(peer, sync_replication_state=None) for peer in made.snapshot.peers)
    snapshot = replace(queues_in_zookeeper(made.snapshot), peers=peers)
    return ZooKeeperCapture(snapshot, made.files, tuple(_znodes(plan, at)))


def _znodes(plan: ClusterPlan, at: int) -> Iterator[Znode]:
    """`rs` first and last; below it every queue with its WALs, then what serial peers have pushed."""
    root = Znode(f"{BASE}/{QUEUES}", b"", len(plan.lives))
    queues = sorted(
        [queue for life in plan.lives if life.started <= at for queue in _queues(plan, life, at)] + _odd_queues(plan)
    )
    yield root
    for server in sorted({server for server, _, _ in queues}):
        yield Znode(f"{root.path}/{server}", b"", 1)
        for owner, queue, wals in queues:
            if owner == server:
                path = f"{root.path}/{server}/{queue}"
                yield Znode(path, b"", len(wals))
                yield from (Znode(f"{path}/{wal}", position, 0) for wal, position in wals)
    yield root
    for peer in plan.peers:
        if peer.peer.serial:
            path = f"{BASE}/{REGIONS}/{REGION[:2]}/{REGION[2:4]}/{REGION[4:]}-{peer.peer.peer_id}"
            yield Znode(path, (at // 1000).to_bytes(8, "big"), 0)


_Queue = tuple[str, str, tuple[tuple[str, bytes], ...]]


def _queues(plan: ClusterPlan, life: ServerLife, at: int) -> Iterator[_Queue]:
    """The queue of each peer for one server, below whoever claimed it last; every owner's name is kept in its id."""
    owners = [life.server, *(claim.owner for claim in life.claims if claim.at <= at)]
    begun = [wal for stream in life.streams if stream.tracked for wal in wals_of(plan, life, stream, at)]
    for peer in plan.peers:
        wals = _pending(begun, shipped_until(plan, peer, life.server, at), at)
        if wals or at < life.recovered:
            yield str(owners[-1]), "-".join([peer.peer.peer_id, *map(str, owners[:-1])]), wals


def _pending(begun: Iterable[Wal], progress: int, at: int) -> tuple[tuple[str, bytes], ...]:
    return tuple((wal.name, _position(wal, progress, at)) for wal in begun if wal.closed > progress)


def _position(wal: Wal, progress: int, at: int) -> bytes:
    """Bytes shipped, as eight bytes; nothing where nothing is."""
    if progress <= wal.timestamp:
        return b""
    return shipped_bytes(wal, progress, at).to_bytes(8, "big")


def _odd_queues(plan: ClusterPlan) -> list[_Queue]:
    """Queues of peers that do not exist."""
    known = {peer.peer.peer_id for peer in plan.peers}
    found: list[_Queue] = []
    for odd in plan.odd_rows:
        queue = parse_queue_id(odd.row)
        if queue.peer_id not in known:
            name = f"{queue.peer_id}-{queue.source}" if queue.source else queue.peer_id
            found.append((str(queue.owner), name, ((odd.wal, max(odd.offset, 0).to_bytes(8, "big")),)))
    return found
