"""Builds the dump of queues in ZooKeeper from one reading of the znodes and the listed WALs."""

from collections.abc import Collection, Mapping, Sequence

from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queued_wals import group_of
from pipelines.hbase.zookeeper.tree import ReplicationTree, ZkQueue
from pipelines.queues.dump.rows import DumpedQueue, DumpedWal, QueueDump, missing_wals, of_server, peers_of
from pipelines.snapshot.model import QUEUE_STORAGE_ZOOKEEPER

Listed = Mapping[str, tuple[str, int]]
"""Path and length (bytes) of a file, by file name."""


def zookeeper_dump(
    tree: ReplicationTree,
    listed: Listed,
    peers: Sequence[Peer],
    online: Collection[ServerName] | None,
    complete_before: int,
) -> QueueDump:
    """Combines one reading of the znodes with the listing.

    Args:
        tree: the reading.
        listed: the listed files of its WALs.
        peers: all peers.
        online: live servers; None = unknown.
        complete_before: see `pipelines.snapshot.model.complete_before`.
    """
    states = {peer.peer_id: peer.state for peer in peers}
    queues = sorted((_queue(queue, listed, states, online, complete_before) for queue in tree.queues), key=of_server)
    replicators = sorted({*tree.cversions, *(queue.owner for queue in tree.queues)})
    return QueueDump(
        storage=QUEUE_STORAGE_ZOOKEEPER,
        peers=peers_of(peers),
        queues=tuple(queues),
        hfile_refs=dict(tree.hfile_refs),
        dead_replicators=tuple(str(server) for server in replicators if online is not None and server not in online),
    )


def _queue(
    queue: ZkQueue,
    listed: Listed,
    states: Mapping[str, str],
    online: Collection[ServerName] | None,
    complete_before: int,
) -> DumpedQueue:
    peer_id = queue.queue.peer_id
    wals = []
    for wal in sorted(queue.wals):
        path, length = listed.get(wal, (None, None))
        wals.append(DumpedWal(group_of(wal), wal, path, queue.wals[wal], True, length))
    return DumpedQueue(
        queue_id=queue.queue.text,
        peer_id=peer_id,
        peer_state=states.get(peer_id),
        peer_exists=peer_id in states,
        owner=str(queue.owner),
        source=str(queue.source),
        recovered=queue.queue.recovered,
        dead_servers=tuple(map(str, queue.queue.dead_servers)),
        owner_online=None if online is None else queue.owner in online,
        wals=tuple(wals),
        missing=missing_wals(wals, complete_before),
    )
