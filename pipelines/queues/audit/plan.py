"""Assigns orphan queues to live servers so that the bytes to ship are balanced.

HBase's own procedure shuffles the servers, so any live target is valid; this plan is the same for the same snapshot.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.hbase.server_names import ServerName
from pipelines.queues.audit.classes import OwnerState, QueueClass
from pipelines.queues.audit.observed_cluster import ObservedCluster
from pipelines.queues.audit.rows import AuditRow, ClaimPlanRow


@dataclass(frozen=True, slots=True)
class PeerRestart:
    """A peer that starts again at the oldest WAL of a dead server when that server is recovered.

    `AssignReplicationQueuesProcedure` writes a placeholder for every peer that has no queue of the crashed server under
    its own name: it cannot know that the peer has finished, or that its queue was claimed long ago.

    Attributes:
        claimed: another server owns the peer's queue of these WALs.
    """

    server: str
    peer_id: str
    files: int
    bytes: int
    claimed: bool


def claim_plan(cluster: ObservedCluster, rows: Sequence[AuditRow]) -> tuple[ClaimPlanRow, ...]:
    """Plans the claim of the orphans: by dead server, the one with the oldest pending WAL first, then by queue name.

    The largest queue is assigned first, each to the server with the fewest bytes to ship; what servers already have to
    ship counts. So the loads of two servers differ by at most one queue, unless they differed more before.

    Args:
        cluster: the snapshot.
        rows: the rows of its audit.

    Returns:
        No rows if no live server can claim a queue.
    """
    orphans = [row for row in rows if QueueClass.ORPHAN.value in row.classes]
    loads = _loads(cluster, rows)
    if not loads:
        return ()
    targets: dict[str, tuple[str, int]] = {}
    for row in sorted(orphans, key=lambda one: (-one.pending_bytes, _age(one), one.queue)):
        target = min(loads, key=lambda server: (loads[server], server))
        loads[target] += row.pending_bytes
        targets[row.queue] = (str(target), loads[target])
    steps = {server: number for number, server in enumerate(_servers(orphans), start=1)}
    planned = [
        ClaimPlanRow(
            step=steps[row.owner],
            server=row.owner,
            queue=row.queue,
            peer_id=row.peer_id or "",
            source=row.source or row.owner,
            pending_files=row.pending_files,
            pending_bytes=row.pending_bytes,
            oldest_pending_timestamp=row.oldest_pending_timestamp,
            target=targets[row.queue][0],
            target_bytes=targets[row.queue][1],
        )
        for row in orphans
    ]
    return tuple(sorted(planned, key=lambda one: (one.step, one.queue)))


def peer_restarts(cluster: ObservedCluster, plan: Iterable[ClaimPlanRow]) -> tuple[PeerRestart, ...]:
    """Returns what a recovery ships a second time; only queues in `hbase:replication` have placeholders."""
    if not cluster.storage.placeholders:
        return ()
    normal = {(queue.key.peer_id, queue.key.owner) for queue in cluster.queues if queue.key.source is None}
    any_owner = {(queue.key.peer_id, queue.key.wals_of) for queue in cluster.queues}
    found = []
    for server in dict.fromkeys(row.server for row in plan):
        name = ServerName.parse(server)
        files, size = cluster.archived.get(name, (0, 0))
        found += [
            PeerRestart(server, peer, files, size, (peer, name) in any_owner)
            for peer in sorted(cluster.peers)
            if (peer, name) not in normal and files
        ]
    return tuple(found)


def _loads(cluster: ObservedCluster, rows: Iterable[AuditRow]) -> dict[ServerName, int]:
    """Returns the bytes that each live server already has to ship."""
    online = cluster.servers.online or frozenset()
    loads = {server: 0 for server in sorted(online) if cluster.servers.state(server) is OwnerState.ONLINE}
    owners: Mapping[str, ServerName] = {str(server): server for server in loads}
    for row in rows:
        if row.owner in owners and QueueClass.UNDELETED_PEER.value not in row.classes:
            loads[owners[row.owner]] += row.pending_bytes
    return loads


def _servers(orphans: Iterable[AuditRow]) -> list[str]:
    oldest: dict[str, tuple[bool, int]] = {}
    for row in orphans:
        oldest[row.owner] = min(oldest.get(row.owner, _age(row)), _age(row))
    return sorted(oldest, key=lambda server: (oldest[server], server))


def _age(row: AuditRow) -> tuple[bool, int]:
    """Sort key: the oldest pending WAL first, a queue with nothing to ship last."""
    return (row.oldest_pending_timestamp is None, row.oldest_pending_timestamp or 0)
