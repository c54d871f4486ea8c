"""Findings of an audit of queues.

In `hbase:replication`, orphans and duplicates have the same keys as in reconcile.
"""

from collections.abc import Iterator, Sequence

from pipelines.common.human import human_duration
from pipelines.common.instants import HOUR_MS
from pipelines.lake.findings import ERROR, INFO, WARNING, finding
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.audit.classes import QueueClass
from pipelines.queues.audit.rows import AuditRow, ClaimRow
from pipelines.queues.audit.timeline import QueueEvent
from pipelines.reconcile.findings.storage_words import STORAGE_WORDS

OVERDUE_MS = HOUR_MS
"""After this time, HBase is no longer processing a crash."""


def audit_findings(rows: Sequence[AuditRow], claims: Sequence[ClaimRow], *, quiet: bool) -> tuple[FindingRow, ...]:
    """Returns all findings of one audit; without orphans and duplicates if the capture was not `quiet`.

    Then a server may be claiming queues, or RemovePeer, which removes the peer first.
    """
    settled = (*_orphans(rows), *_duplicates(rows)) if quiet else ()
    return (*settled, *_of_rows(rows), *_overdue(rows, claims))


def _orphans(rows: Sequence[AuditRow]) -> Iterator[FindingRow]:
    for row in rows:
        if QueueClass.UNDELETED_PEER.value in row.classes:
            yield _of_queue("ORPHAN_QUEUE", WARNING, row, f"Queue {row.queue} belongs to no peer", cause="removed peer")
        if QueueClass.ORPHAN.value in row.classes:
            yield _of_queue("ORPHAN_QUEUE", WARNING, row, f"Nobody ships queue {row.queue}", cause="dead owner")


def _of_rows(rows: Sequence[AuditRow]) -> Iterator[FindingRow]:
    for row in rows:
        if QueueClass.LOST_WALS.value in row.classes:
            yield _of_queue(
                "LOST_WALS", ERROR, row, f"WALs of queue {row.queue} are lost", wals=list(row.missing_wals[:10])
            )
        if QueueClass.MISSING_WAL.value in row.classes:
            yield _of_queue(
                "MISSING_WAL", ERROR, row, f"Queue {row.queue} cannot go on", wals=list(row.missing_wals[:10])
            )
        if QueueClass.SUSPECT.value in row.classes:
            yield _of_queue("SUSPECT_QUEUE", WARNING, row, f"Queue {row.queue} was claimed from a live server")
        if row.queue_class == QueueClass.STALE_LOCK.value:
            yield _of_queue("STALE_LOCK", WARNING, row, f"The lock {row.queue} was left behind")
        if row.queue_class == QueueClass.EMPTY_REPLICATOR.value:
            yield _of_queue("EMPTY_REPLICATOR", INFO, row, f"The znode of {row.owner} is empty")


def _duplicates(rows: Sequence[AuditRow]) -> Iterator[FindingRow]:
    """Yields one finding for all queues of a peer that read the WALs of the same server."""
    groups: dict[tuple[str | None, str | None], list[AuditRow]] = {}
    for row in rows:
        if QueueClass.DUPLICATE.value in row.classes:
            groups.setdefault((row.peer_id, row.source), []).append(row)
    for (peer, source), twins in sorted(groups.items(), key=lambda item: str(item[0])):
        yield finding(
            "DUPLICATE_QUEUE",
            WARNING,
            f"{peer}/{source}",
            f"Peer {peer} has {len(twins)} queues for the WALs of {source}; the smallest offset counts.",
            f"Let all finish; if one never moves, remove one only if {STORAGE_WORDS[twins[0].storage].removable}.",
            peer_id=peer,
            server=source,
            files=max(row.pending_files for row in twins),
            size=max(row.pending_bytes for row in twins),
            queues=[row.queue for row in twins],
        )


def _overdue(rows: Sequence[AuditRow], claims: Sequence[ClaimRow]) -> Iterator[FindingRow]:
    """Yields the queues whose failover has taken longer than `OVERDUE_MS`."""
    waiting = {
        (claim.peer_id, claim.source, claim.from_owner): claim.waited_min_ms
        for claim in claims
        if claim.event == QueueEvent.WAITING.value and claim.waited_min_ms is not None
    }
    for row in rows:
        waited = waiting.get((row.peer_id or "", row.source or "", row.owner), 0) or 0
        if QueueClass.IN_FAILOVER.value in row.classes and waited >= OVERDUE_MS:
            words = f"Queue {row.queue} has been in failover for {human_duration(waited)} and more"
            yield _of_queue("CLAIM_OVERDUE", WARNING, row, words, waited_ms=waited)


def _of_queue(code: str, severity: str, row: AuditRow, words: str, **evidence: object) -> FindingRow:
    return finding(
        code,
        severity,
        row.queue,
        f"{words}: {row.evidence}.",
        row.remedy or "Nothing.",
        peer_id=row.peer_id,
        server=row.owner,
        files=row.pending_files,
        size=row.pending_bytes,
        **evidence,
    )
