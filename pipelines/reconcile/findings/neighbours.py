"""Findings about HBase backup, serial peers and bulk-loaded HFiles, which hold WALs or wait for them."""

from collections.abc import Iterator, Sequence

from pipelines.common.human import human_amount, human_bytes, human_count, human_duration
from pipelines.common.instants import DAY_MS, format_instant
from pipelines.decide.rule.verdict import Reason
from pipelines.hbase.peer_rules import replicates_family
from pipelines.hbase.peers import Peer
from pipelines.lake.findings import WARNING, finding
from pipelines.lake.run_summary import FindingRow, QueueOffsetRow
from pipelines.reconcile.findings.evidence import Evidence, of_reason
from pipelines.reconcile.findings.storage_words import storage_words
from pipelines.snapshot.backup import COMPLETE, RUNNING, BackupSession
from pipelines.snapshot.barriers import RegionBarriers, serial_gaps

WAITS_MS = DAY_MS
"""A serial peer waits for an earlier range whenever a region moves, but not for longer than this (ms)."""
_SHOWN = 10


def backups(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields BACKUP_UNKNOWN and BACKUP_BEHIND."""
    backup = evidence.view.backup
    files, size = of_reason(evidence, Reason.BACKUP)
    if not backup.enabled or not files:
        return
    held = human_amount(files, size)
    sessions = evidence.extras.backups
    if not backup.boundaries and backup.others is None:
        yield finding(
            "BACKUP_UNKNOWN",
            WARNING,
            "",
            f"HBase backup is on, and the snapshot does not say what it still needs: {held} are held.",
            "Let the capture's user read backup:system (docs/capture.md), or state backup.enabled: false if it is off.",
            files=files,
            size=size,
        )
        return
    behind: dict[str, tuple[BackupSession, int]] = {}
    for session in sessions or ():
        since = min(session.tables.values(), default=session.started_at)
        age = evidence.view.files_started - since
        if age > evidence.settings.backup_age_ms:
            known = behind.get(session.root)
            # while a session is RUNNING, HBase begins no other: it is what to repair
            if known is None or (known[0].state == COMPLETE and session.state != COMPLETE):
                behind[session.root] = session, age
    is_running = any(session.state == RUNNING for session in sessions or ())
    for session, age in behind.values():
        yield _behind(session, age, files, size, is_running=is_running)


def _behind(session: BackupSession, age: int, files: int, size: int, *, is_running: bool) -> FindingRow:
    oldest = sorted(session.tables.items(), key=lambda item: (item[1], item[0]))[:_SHOWN]
    complete = session.state == COMPLETE
    return finding(
        "BACKUP_BEHIND",
        WARNING,
        session.root,
        f"The newest backup below {session.root} is {human_duration(age)} old"
        + (f" for table {oldest[0][0]}" if oldest else "")
        + f"; WALs after it are kept for the next incremental one. All backups hold {human_count(files, 'file')}, "
        f"{human_bytes(size)}."
        if complete
        else f"Backup {session.backup_id} says RUNNING since {human_duration(age)}; WALs after its start are kept.",
        "Run 'hbase backup create incremental', with every table of the root, or delete backups nobody needs. If "
        "all backups of a table were deleted, take one full backup of it."
        + (
            " HBase starts no backup while another one is RUNNING: 'hbase backup repair' first if none runs."
            * is_running
        )
        if complete
        else "If no such backup runs any more: 'hbase backup repair'.",
        files=files,
        size=size,
        backup_id=session.backup_id,
        state=session.state,
        started_at=format_instant(session.started_at),
        tables={table: format_instant(rolled) for table, rolled in oldest},
    )


def serial_peers(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields SERIAL_STUCK: a serial peer has stalled queues, and a region's earlier range is not finished."""
    for peer in evidence.snapshot.peers:
        if not peer.serial or peer.state != "ENABLED" or evidence.extras.barriers is None:
            continue
        queues = _standing(evidence, peer)
        regions = [one for one in evidence.extras.barriers if _replicated(peer, one)]
        gaps = [
            gap
            for gap in serial_gaps(peer.peer_id, regions, evidence.beside.pushed)
            if evidence.view.files_started - gap.barrier.opened_at > WAITS_MS
        ]
        if not gaps or not queues:
            continue
        first = gaps[0]
        yield finding(
            "SERIAL_STUCK",
            WARNING,
            peer.peer_id,
            f"Serial peer {peer.peer_id} has pushed region {first.region} of {first.table} up to {first.pushed}, and "
            f"waits until {first.barrier.sequence_id - 1} is pushed. This holds up {human_count(len(gaps), 'region')} "
            f"and {human_count(len(queues), 'WAL group')}.",
            "Find who has the entries before: a queue of the server that the region was on (QUEUE_STALLED, "
            "ORPHAN_QUEUE, MISSING_WAL name it). If the last of them came from the peer itself or are of no "
            "replicated family, it is HBASE-29463 or HBASE-29499: upgrade, or set the peer's SERIAL to false and back.",
            peer_id=peer.peer_id,
            files=sum(row.pending_files for row in queues),
            size=sum(row.pending_bytes for row in queues),
            regions=[
                {
                    "region": gap.region,
                    "table": gap.table,
                    "pushed": gap.pushed,
                    "barrier": gap.barrier.sequence_id,
                    "opened_at": format_instant(gap.barrier.opened_at),
                }
                for gap in gaps[:_SHOWN]
            ],
            queues=[f"{row.peer_id}-{row.owner}/{row.wal_group or 'no offset'}" for row in queues[:_SHOWN]],
        )


def _standing(evidence: Evidence, peer: Peer) -> Sequence[QueueOffsetRow]:
    """Returns the peer's queue rows with a pending WAL over a day old; a healthy queue is behind by minutes."""
    return [
        row
        for row in evidence.queues
        if row.peer_id == peer.peer_id
        and row.pending_files
        and row.oldest_pending_age_ms is not None
        and row.oldest_pending_age_ms > WAITS_MS
    ]


def _replicated(peer: Peer, region: RegionBarriers) -> bool:
    """Whether the peer replicates anything of the region's table, as far as its rule tells."""
    named = peer.rule.tables.get(region.table, ()) if peer.rule else ()
    return any(replicates_family(peer.replicate_all, peer.rule, region.table, family) for family in (*named, ""))


def orphan_hfile_refs(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields ORPHAN_HFILE_REFS: references to bulk-loaded HFiles for a peer that does not exist."""
    for peer_id, count in sorted(evidence.beside.hfile_refs.items()):
        if peer_id in evidence.view.peer_ids:
            continue
        yield finding(
            "ORPHAN_HFILE_REFS",
            WARNING,
            peer_id,
            f"{human_count(count, 'reference')} to bulk-loaded HFiles of peer {peer_id}, which does not exist: they "
            "keep HFiles in archive/ forever.",
            f"Remove them with {storage_words(evidence.view).fix_peers}; HBase itself never will.",
            peer_id=peer_id,
            references=count,
        )
