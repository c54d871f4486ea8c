"""Findings about replication queues that need no earlier nights."""

from collections.abc import Iterator

from pipelines.lake.findings import ERROR, WARNING, finding
from pipelines.lake.run_summary import FindingRow
from pipelines.reconcile.findings.evidence import Evidence
from pipelines.reconcile.findings.storage_words import storage_words
from pipelines.snapshot.model import complete_before


def orphan_queues(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields ORPHAN_QUEUE for queues that no server ships: of a removed peer, or of a server that is fully dead."""
    view, pending = evidence.view, _pending(evidence)
    if view.restless is not None:  # a server may be claiming queues, or RemovePeer, which removes the peer first
        return
    # a capture from ZooKeeper alone does not show which servers' crashes are still being processed
    known = evidence.snapshot.membership is not None and evidence.snapshot.step("crashing") is not None
    words = storage_words(view)
    for row in view.rows:
        queue = row.queue
        files, size = pending.get(queue.key, (0, 0))
        if queue.peer_id not in view.peer_ids:
            yield finding(
                "ORPHAN_QUEUE",
                WARNING,
                str(queue),
                f"Queue {queue} belongs to peer {queue.peer_id}, which does not exist.",
                f"Remove it with {words.fix_peers}; HBase itself never will.",
                peer_id=queue.peer_id,
                server=str(queue.owner),
                files=files,
                size=size,
                cause="removed peer",
            )
        elif known and queue.owner not in view.not_fully_dead:
            yield finding(
                "ORPHAN_QUEUE",
                WARNING,
                str(queue),
                f"Queue {queue} belongs to {queue.owner}, which is fully dead: nobody ships it.",
                words.rescue.format(queue.owner),
                peer_id=queue.peer_id,
                server=str(queue.owner),
                files=files,
                size=size,
                cause="dead owner",
            )


def duplicate_queues(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields DUPLICATE_QUEUE for two queues of one peer for the WALs of one server."""
    for source, rows in sorted(evidence.view.rows_of_source.items()):
        for peer in evidence.view.peer_ids:
            owners = [str(row.queue) for row in rows if row.queue.peer_id == peer]
            # a claim between the two passes shows one queue under two owners
            if len(owners) > 1 and evidence.view.restless is None:
                yield finding(
                    "DUPLICATE_QUEUE",
                    WARNING,
                    f"{peer}/{source}",
                    f"Peer {peer} has {len(owners)} queues for the WALs of {source}; the smallest offset counts.",
                    f"Let all finish; if one never moves, remove one only if {storage_words(evidence.view).removable}.",
                    peer_id=peer,
                    server=str(source),
                    queues=owners,
                )


def missing_wals(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields MISSING_WAL and BEYOND_EOF: offsets whose WAL does not exist, or is shorter than the offset.

    The listing read `WALs/` before `oldWALs/`, so a WAL that existed then cannot be missed while it moves between them;
    a WAL created later is not expected. HDFS reports an open file as too short, so only archived WALs count for
    BEYOND_EOF.
    """
    forget = storage_words(evidence.view).forget_wal
    for row in evidence.queues:
        if not row.wal or row.offset is None or row.offset < 0 or not row.peer_exists or row.need_timestamp is None:
            continue
        found = evidence.offset_wals.get(row.wal)
        queue = f"{row.peer_id}-{row.owner}" + (f"/{row.source}" if row.recovered else "")
        if found is None and 0 <= row.need_timestamp < complete_before(evidence.view.files_started):
            yield finding(
                "MISSING_WAL",
                ERROR,
                f"{queue}/{row.wal_group}",
                f"Queue {queue} is to read {row.wal} at {row.offset}, but neither WALs/ nor oldWALs/ has it.",
                "Look for it in corrupt/ and in quarantines; if it is gone, its edits are lost to the peer: "
                f"{forget}restart the region server that owns the queue (if it is dead, have the queue claimed), and "
                "compare the tables with VerifyReplication.",
                peer_id=row.peer_id,
                server=row.owner,
                wal=row.wal,
                offset=row.offset,
            )
        elif found is not None and found.archived and row.offset > found.length:
            yield finding(
                "BEYOND_EOF",
                ERROR,
                f"{queue}/{row.wal_group}",
                f"Queue {queue} stands at {row.offset} in {row.wal}, which has only {found.length} bytes.",
                "The WAL was truncated or replaced; compare the tables with VerifyReplication.",
                peer_id=row.peer_id,
                server=row.owner,
                wal=row.wal,
                offset=row.offset,
                length=found.length,
            )


def _pending(evidence: Evidence) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Returns pending files and bytes by peer, owner and source, summed over all groups of the queue."""
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for row in evidence.queues:
        key = (row.peer_id, row.owner, row.source)
        files, size = sums.get(key, (0, 0))
        sums[key] = (files + row.pending_files, size + row.pending_bytes)
    return sums
