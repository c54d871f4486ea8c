"""Classifies every queue of a snapshot, with evidence, by the rules of `AssignReplicationQueuesProcedure`."""

from collections import Counter
from collections.abc import Iterator

from pipelines.common.human import human_count
from pipelines.hbase.server_names import ServerName
from pipelines.queues.audit.classes import DYING, OwnerState, QueueClass
from pipelines.queues.audit.observed_cluster import ObservedCluster, ObservedQueue
from pipelines.queues.audit.remedies import remedy
from pipelines.queues.audit.rows import AuditRow

_ORDER = tuple(QueueClass)
_OWNER_WORDS = {
    OwnerState.ONLINE: "its owner is online",
    OwnerState.CRASHING: "the crash procedure of its owner is unfinished",
    OwnerState.DIRECTORY: "its owner is not online, and WALs/{owner} (or -splitting) stands",
    OwnerState.RECENT: "its owner is not online, and its WALs were archived less than ten minutes ago",
    OwnerState.DEAD: "its owner is not online, has no crash procedure under way and no directory below WALs/",
    OwnerState.UNKNOWN: "the snapshot does not say which servers are online",
}


def audit_rows(cluster: ObservedCluster) -> tuple[AuditRow, ...]:
    """Returns one row per queue, and per server lock and empty server znode in ZooKeeper, sorted by class and name."""
    rows = [*_queue_rows(cluster), *_lock_rows(cluster), *_empty_rows(cluster)]
    order = {one.value: place for place, one in enumerate(_ORDER)}
    return tuple(sorted(rows, key=lambda row: (order[row.queue_class], row.queue)))


def lock_in_use(cluster: ObservedCluster, server: ServerName) -> bool | None:
    """Tell whether a live server is copying the queues of this server.

    A lock that does not name its server counts as in use while the locked server is not fully dead.

    Returns:
        False if the lock was left behind, None if there is no lock.
    """
    if server not in cluster.locks:
        return None
    locker = cluster.locks[server]
    if locker is None:
        return cluster.servers.state(server) is not OwnerState.DEAD
    return cluster.servers.state(locker) in (OwnerState.ONLINE, OwnerState.UNKNOWN)


def _queue_rows(cluster: ObservedCluster) -> Iterator[AuditRow]:
    copies = Counter(
        (queue.key.peer_id, queue.key.wals_of) for queue in cluster.queues if not lock_in_use(cluster, queue.key.owner)
    )
    for queue in cluster.queues:
        twins = copies[queue.key.peer_id, queue.key.wals_of] - 1
        yield _row(cluster, queue, _classes(cluster, queue, twins), twins)


def _classes(cluster: ObservedCluster, queue: ObservedQueue, twins: int) -> tuple[QueueClass, ...]:
    """Returns all classes of a queue, in the order of `QueueClass`."""
    if queue.key.peer_id not in cluster.peers:
        return (QueueClass.UNDELETED_PEER,)
    state = cluster.servers.state(queue.key.owner)
    copied = lock_in_use(cluster, queue.key.owner)
    found = set()
    if queue.missing:
        found.add(QueueClass.MISSING_WAL if queue.later else QueueClass.LOST_WALS)
    if _alive_before(cluster, queue):
        found.add(QueueClass.SUSPECT)
    if twins > 0 and not copied:
        found.add(QueueClass.DUPLICATE)
    if copied or state in DYING:
        found.add(QueueClass.IN_FAILOVER)
    elif state is OwnerState.UNKNOWN:
        found.add(QueueClass.UNPROVEN)
    elif state is OwnerState.DEAD:
        found.add(QueueClass.ORPHAN)
    elif not queue.hops:
        found.add(QueueClass.NORMAL)
    else:
        found.add(QueueClass.FINISHED if _is_finished(queue) else QueueClass.RECOVERED)
    return tuple(one for one in _ORDER if one in found)


def _is_finished(queue: ObservedQueue) -> bool:
    return queue.finished and not queue.missing and not queue.backlog.files and not queue.backlog.live_files


def _alive_before(cluster: ObservedCluster, queue: ObservedQueue) -> list[ServerName]:
    """Returns the online servers that it was claimed from, except its owner: a queue may return to an earlier owner."""
    hops = (server for server in queue.hops if server != queue.key.owner)
    return [server for server in hops if cluster.servers.state(server) is OwnerState.ONLINE]


def _row(cluster: ObservedCluster, queue: ObservedQueue, classes: tuple[QueueClass, ...], twins: int) -> AuditRow:
    key, backlog = queue.key, queue.backlog
    return AuditRow(
        queue=queue.name,
        queue_class=classes[0].value,
        also=tuple(one.value for one in classes[1:]),
        storage=cluster.storage.name,
        peer_id=key.peer_id,
        peer_state=cluster.peers.get(key.peer_id),
        owner=str(key.owner),
        owner_state=cluster.servers.state(key.owner).value,
        source=str(key.wals_of),
        hops=tuple(map(str, queue.hops)),
        pending_files=backlog.files,
        pending_bytes=backlog.bytes,
        live_pending_files=backlog.live_files,
        live_pending_bytes=backlog.live_bytes,
        alone_files=backlog.alone_files,
        alone_bytes=backlog.alone_bytes,
        oldest_pending_timestamp=backlog.oldest,
        missing_wals=queue.missing,
        evidence="; ".join(_evidence(cluster, queue, classes, twins)),
        remedy=remedy(cluster, queue, classes),
        observed_at=cluster.servers.at,
    )


def _evidence(
    cluster: ObservedCluster, queue: ObservedQueue, classes: tuple[QueueClass, ...], twins: int
) -> Iterator[str]:
    key = queue.key
    if QueueClass.UNDELETED_PEER in classes:
        yield f"there is no peer {key.peer_id}"
    yield _OWNER_WORDS[cluster.servers.state(key.owner)].format(owner=key.owner)
    if lock_in_use(cluster, key.owner):
        yield f"{cluster.locks[key.owner] or 'somebody'} holds the lock of its owner and copies it"
    if queue.missing:
        more = f" and {len(queue.missing) - 1:,} more" if len(queue.missing) > 1 else ""
        behind = "neither is any after it" if not more else "of at least one of their groups, neither is any later WAL"
        behind = "later ones are there" if queue.later else behind
        yield f"it is to read {queue.missing[0]}{more}, which neither WALs/ nor oldWALs/ has; {behind}"
    for server in _alive_before(cluster, queue):
        yield f"it was claimed from {server}, which is online"
    if QueueClass.DUPLICATE in classes:
        yield f"{human_count(twins, 'other queue')} of peer {key.peer_id} read the WALs of {key.wals_of}"
    if key.owner in queue.hops:
        yield "it has come back to a server that had it before"


def _lock_rows(cluster: ObservedCluster) -> Iterator[AuditRow]:
    for server, locker in sorted(cluster.locks.items()):
        used = lock_in_use(cluster, server)
        one = QueueClass.CLAIM_LOCK if used else QueueClass.STALE_LOCK
        if locker is None:
            words = f"the znode does not say whose it is; {server} is {cluster.servers.state(server).value}"
        else:
            words = f"it belongs to {locker}, which is {cluster.servers.state(locker).value}"
        yield _znode_row(cluster, f"{server}/lock", server, one, words)


def _empty_rows(cluster: ObservedCluster) -> Iterator[AuditRow]:
    for server in cluster.empty_replicators:
        state = cluster.servers.state(server)
        if state in (OwnerState.DEAD, OwnerState.UNKNOWN):
            words = f"no queue stands below its znode; {_OWNER_WORDS[state].replace('its owner', 'it')}"
            yield _znode_row(cluster, str(server), server, QueueClass.EMPTY_REPLICATOR, words)


def _znode_row(cluster: ObservedCluster, name: str, server: ServerName, one: QueueClass, words: str) -> AuditRow:
    return AuditRow(
        queue=name, queue_class=one.value, also=(), storage=cluster.storage.name, peer_id=None, peer_state=None,
        owner=str(server), owner_state=cluster.servers.state(server).value, source=None, hops=(), pending_files=0,
        pending_bytes=0, live_pending_files=0, live_pending_bytes=0, alone_files=0, alone_bytes=0,
        oldest_pending_timestamp=None, missing_wals=(), evidence=words,
        remedy=remedy(cluster, None, (one,), server=server), observed_at=cluster.servers.at,
    )  # fmt: skip
