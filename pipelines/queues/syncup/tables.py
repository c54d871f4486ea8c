"""Converts a plan to table rows."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pipelines.hbase.peers import Peer
from pipelines.queues.syncup.plan import QueuePlan, SyncUpPlan
from pipelines.queues.syncup.rows import SyncUpAction, SyncUpContent, SyncUpPeerRow, SyncUpQueueRow, SyncUpWalRow
from pipelines.snapshot.other_families import OtherFamilies


def queue_row(plan: QueuePlan) -> SyncUpQueueRow:
    """Returns the row of one queue."""
    queue, edits = plan.row.queue, plan.edits
    return SyncUpQueueRow(
        queue=plan.name,
        peer_id=queue.peer_id,
        peer_state=plan.peer.state if plan.peer else None,
        owner=str(queue.owner),
        source=str(queue.wals_of),
        is_placeholder=plan.is_placeholder,
        action=plan.action.value,
        reason=plan.waits_for if plan.action is SyncUpAction.WAITS else None,
        wal_groups=len({wal.group for wal in edits}),
        files=len(edits),
        bytes=plan.bytes,
        first_path=edits[0].file.path if edits else None,
        first_start=edits[0].start if edits else None,
        missing_files=len(plan.missing),
        is_stale=plan.is_stale,
        resent_bytes=plan.resent_bytes,
    )


def wal_rows(plan: QueuePlan) -> Iterator[SyncUpWalRow]:
    """Yields the rows of its WALs, missing ones first, then in the order of the tool."""
    queue = plan.row.queue
    names = (plan.name, queue.peer_id, str(queue.wals_of))
    for group, wal in plan.missing:
        yield SyncUpWalRow(*names, group, 0, wal, None, SyncUpContent.MISSING.value, None, None, 0)
    for position, one in enumerate(plan.wals, 1):
        path = one.file.path
        wal = path.rpartition("/")[2]
        start = None if one.content is SyncUpContent.NOT_READ else one.start
        content = one.content.value
        yield SyncUpWalRow(*names, one.group, position, wal, path, content, one.file.length, start, one.bytes)


def peer_rows(plan: SyncUpPlan, peers: Sequence[Peer], beside: OtherFamilies) -> list[SyncUpPeerRow]:
    """Returns one row per peer that exists or has queues or other data.

    Args:
        plan: of the cluster.
        peers: existing peers.
        beside: data other than queues.
    """
    known = {peer.peer_id: peer for peer in peers}
    pushed = Counter(peer_id for peer_id, _ in beside.pushed)
    ids = {*known, *beside.hfile_refs, *pushed, *(one.row.queue.peer_id for one in plan.queues)}
    rows = []
    for peer_id in sorted(ids):
        queues = [one for one in plan.queues if one.row.queue.peer_id == peer_id]
        rows.append(_peer_row(peer_id, known.get(peer_id), queues, beside.hfile_refs.get(peer_id, 0), pushed[peer_id]))
    return rows


def _peer_row(
    peer_id: str, peer: Peer | None, queues: Sequence[QueuePlan], hfile_refs: int, last_sequence_ids: int
) -> SyncUpPeerRow:
    resent = [one.resent_bytes for one in queues]
    known = [number for number in resent if number is not None]
    return SyncUpPeerRow(
        peer_id=peer_id,
        peer_state=peer.state if peer else None,
        cluster_key=peer.cluster_key if peer else None,
        queues=len(queues),
        files=sum(len(one.edits) for one in queues),
        bytes=sum(one.bytes for one in queues),
        resent_bytes=sum(known) if len(known) == len(resent) else None,
        hfile_refs=hfile_refs,
        last_sequence_ids=last_sequence_ids,
    )
