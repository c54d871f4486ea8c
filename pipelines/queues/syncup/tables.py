"""Converts a plan to table rows."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.queues.syncup.plan import QueuePlan, SyncUpPlan
from pipelines.queues.syncup.rows import SyncUpContent, SyncUpPeerRow, SyncUpQueueRow, SyncUpWalRow

_HFILE_REFS, _LAST_SEQUENCE_IDS = b"hfileref", b"sid"


def queue_row(plan: QueuePlan) -> SyncUpQueueRow:
    """Returns the row of one queue."""
    queue, edits = plan.row.queue, plan.edits
    return SyncUpQueueRow(
        queue=str(queue),
        peer_id=queue.peer_id,
        peer_state=plan.peer.state if plan.peer else None,
        owner=str(queue.owner),
        source=str(queue.wals_of),
        is_placeholder=plan.is_placeholder,
        action=plan.action.value,
        reason=plan.waits_for if plan.peer else None,
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
    names = (str(queue), queue.peer_id, str(queue.wals_of))
    for group, wal in plan.missing:
        yield SyncUpWalRow(*names, group, 0, wal, None, SyncUpContent.MISSING.value, None, None, 0)
    for position, one in enumerate(plan.wals, 1):
        path = one.file.path
        wal = path.rpartition("/")[2]
        content = one.content.value
        yield SyncUpWalRow(*names, one.group, position, wal, path, content, one.file.length, one.start, one.bytes)


def peer_rows(plan: SyncUpPlan, peers: Sequence[Peer], cells: Iterable[Cell]) -> list[SyncUpPeerRow]:
    """Returns one row per peer that exists or has rows.

    Args:
        plan: of the cluster.
        peers: existing peers.
        cells: of `hbase:replication`, all families; row keys of families other than `queue` are peer ids.
    """
    counts = Counter(
        (cell.row.decode("utf-8", errors="replace"), cell.family)
        for cell in cells
        if cell.family in {_HFILE_REFS, _LAST_SEQUENCE_IDS}
    )
    known = {peer.peer_id: peer for peer in peers}
    ids = {*known, *(peer for peer, _ in counts), *(one.row.queue.peer_id for one in plan.queues)}
    return [
        _peer_row(peer_id, known.get(peer_id), [one for one in plan.queues if one.row.queue.peer_id == peer_id], counts)
        for peer_id in sorted(ids)
    ]


def _peer_row(
    peer_id: str, peer: Peer | None, queues: Sequence[QueuePlan], counts: Counter[tuple[str, bytes]]
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
        hfile_refs=counts[peer_id, _HFILE_REFS],
        last_sequence_ids=counts[peer_id, _LAST_SEQUENCE_IDS],
    )
