"""Findings that compare with earlier nights."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from pipelines.domain.findings.evidence import ERROR, WARNING, Evidence, finding
from pipelines.domain.human import human_bytes
from pipelines.domain.run_summary import FindingRow
from pipelines.domain.run_summary import QueueRow as QueueOffsetRow


def rewound(evidence: Evidence) -> Iterator[FindingRow]:
    """Offsets lower than on the night before."""
    if not evidence.past:
        return
    place = "hbase:replication was" if evidence.view.queued is None else "The queues in ZooKeeper were"
    now, before = _smallest(evidence.queues), evidence.past[0]
    for key, past in sorted(before.offsets.items()):
        row = now.get(key)
        if row is None or row.need_timestamp is None:
            continue
        same_wal = row.wal == past.wal and row.offset is not None and past.offset is not None
        back = same_wal and 0 <= (row.offset or 0) < (past.offset or 0)
        if row.need_timestamp < past.need or back:
            peer, source, group = key
            yield finding(
                "QUEUE_TABLE_REWOUND",
                ERROR,
                f"{peer}/{source}/{group}",
                f"Peer {peer} stood at {past.wal}:{past.offset}, and is back at {row.wal}:{row.offset}.",
                f"{place} restored or edited. WALs already deleted cannot be shipped again: pause "
                "clean-up and compare the tables with VerifyReplication.",
                peer_id=peer,
                server=source,
                before=f"{past.wal}:{past.offset}",
                now=f"{row.wal}:{row.offset}",
            )


def stalled(evidence: Evidence) -> Iterator[FindingRow]:
    """Offsets that have not moved for nights, with files waiting."""
    nights = evidence.settings.stalled_nights
    if len(evidence.past) < nights:
        return
    disabled = {peer.peer_id for peer in evidence.snapshot.peers if peer.state == "DISABLED"}
    for (peer, source, group), row in sorted(_smallest(evidence.queues).items()):
        if not row.pending_files or not row.peer_exists or peer in disabled:
            continue
        past = [night.offsets.get((peer, source, group)) for night in evidence.past[:nights]]
        if all(one and one.pending_files and (one.wal, one.offset) == (row.wal, row.offset) for one in past):
            yield finding(
                "QUEUE_STALLED",
                WARNING,
                f"{peer}/{source}/{group}",
                f"Peer {peer} has not moved from {row.wal}:{row.offset} for {nights} nights, with files waiting.",
                "Look at that server's log for the replication source (unreachable peer, zero-length WAL, serial gap).",
                peer_id=peer,
                server=row.owner,
                files=row.pending_files,
                size=row.pending_bytes,
                nights_looked_at=nights,
            )


def growth(evidence: Evidence) -> Iterator[FindingRow]:
    """Peers whose held bytes rise night after night."""
    nights = evidence.settings.growth_nights
    if len(evidence.past) < nights:
        return
    for row in evidence.pinned:
        if row.level != "peer":
            continue
        curve = [night.held_by_peer.get(row.peer_id, 0) for night in reversed(evidence.past[:nights])] + [row.bytes]
        rising = all(before < after for before, after in pairwise(curve))
        if rising and curve[-1] - curve[0] >= evidence.settings.growth_min_bytes:
            yield finding(
                "GROWTH",
                WARNING,
                row.peer_id,
                f"Bytes held for peer {row.peer_id} rose by {human_bytes(curve[-1] - curve[0])} in {nights} nights.",
                row.remedy or "",
                peer_id=row.peer_id,
                files=row.files,
                size=row.bytes,
                bytes_by_night=curve,
            )


def _smallest(queues: Iterable[QueueOffsetRow]) -> Mapping[tuple[str, str, str], QueueOffsetRow]:
    smallest: dict[tuple[str, str, str], QueueOffsetRow] = {}
    for row in queues:
        if row.wal_group is not None and row.need_timestamp is not None:
            key = (row.peer_id, row.source, row.wal_group)
            other = smallest.get(key)
            if other is None or other.need_timestamp is None or row.need_timestamp < other.need_timestamp:
                smallest[key] = row
    return smallest
