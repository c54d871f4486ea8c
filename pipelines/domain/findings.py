"""What an operator should know, with evidence and remedy (docs/findings.md). False alarms are defects.

Keys stay the same from night to night: code and subject, nothing that changes with the files of the day.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pipelines.domain.cluster_view import ClusterView
from pipelines.domain.decision_table import DecisionTable
from pipelines.domain.human import human_bytes
from pipelines.domain.past import PastNight
from pipelines.domain.replication_queues import QueueId
from pipelines.domain.run_summary import FindingRow, PinnedRow
from pipelines.domain.run_summary import QueueRow as QueueOffsetRow
from pipelines.domain.settings import Settings
from pipelines.domain.snapshot import Snapshot
from pipelines.domain.totals import BucketTotal
from pipelines.domain.verdict import Reason

ERROR, WARNING, INFO = "error", "warning", "info"
CREATION_MARGIN_MS = 600_000
"""A WAL named this shortly before the listing may have been created after it, by a server whose clock is behind."""


@dataclass(frozen=True, slots=True)
class OffsetWal:
    """Where the WAL of an offset was found in the listing."""

    archived: bool
    length: int


@dataclass(frozen=True, slots=True)
class OddDirectory:
    """Files of one directory with one of the reasons `ODD_REASONS`."""

    reason: str
    directory: str
    files: int
    bytes: int
    example: str


ODD_REASONS = (Reason.POISON_NAME, Reason.INVALID_NAME, Reason.FUTURE_TIMESTAMP)


@dataclass(frozen=True)
class Evidence:
    """All that the findings of one cluster are drawn from.

    Attributes:
        totals: of this cluster.
        queues: rows of `queue_offsets`.
        pinned: rows of `pinned_bytes`.
        offset_wals: by name, the WALs of offsets that the listing has.
        odd_names: where files are whose name or age is a finding of its own.
        past: earlier nights, newest first.
    """

    snapshot: Snapshot
    view: ClusterView
    table: DecisionTable
    settings: Settings
    totals: Sequence[BucketTotal]
    queues: Sequence[QueueOffsetRow]
    pinned: Sequence[PinnedRow]
    offset_wals: Mapping[str, OffsetWal] = field(default_factory=dict)
    odd_names: Sequence[OddDirectory] = ()
    past: Sequence[PastNight] = ()


def findings(evidence: Evidence) -> tuple[FindingRow, ...]:
    """All findings of one cluster, errors first, with what earlier nights and the configuration say of them."""
    found = [
        *_orphan_queues(evidence),
        *_duplicate_queues(evidence),
        *_bad_names(evidence),
        *_leaked_rep_wals(evidence),
        *_leftover_directories(evidence),
        *_missing_wals(evidence),
        *_rewound(evidence),
        *_stalled(evidence),
        *_growth(evidence),
        *_cleaner_not_running(evidence),
        *_whole_cluster(evidence),
    ]
    severities = (ERROR, WARNING, INFO)
    dated = (_dated(finding, evidence) for finding in found)
    return tuple(sorted(dated, key=lambda row: (severities.index(row.severity), -(row.bytes or 0), row.key)))


def counts_for_exit_code(rows: Iterable[FindingRow]) -> bool:
    """Whether a finding makes the run end with exit code 5: an error, new, and not acknowledged."""
    return any(row.severity == ERROR and row.is_new and not row.acknowledged for row in rows)


def _finding(
    code: str,
    severity: str,
    subject: str,
    message: str,
    remedy: str,
    *,
    peer_id: str | None = None,
    server: str | None = None,
    files: int | None = None,
    size: int | None = None,
    **evidence: object,
) -> FindingRow:
    text = json.dumps(evidence, sort_keys=True, default=str)
    key = f"{code}:{subject}" if subject else code
    return FindingRow(key, code, severity, subject, peer_id, server, message, text, remedy, files, size)


def _dated(finding: FindingRow, evidence: Evidence) -> FindingRow:
    now = evidence.view.files_started
    before = evidence.past[0].findings.get(finding.key) if evidence.past else None
    known = next((one for one in evidence.settings.acknowledged if one.key == finding.key and now <= one.until), None)
    return replace(
        finding,
        first_seen=before.first_seen if before else now,
        nights=before.nights + 1 if before else 1,
        is_new=before is None,
        acknowledged=known is not None,
        acknowledged_reason=known.reason if known else None,
    )


def _pending(evidence: Evidence, queue: QueueId) -> tuple[int, int]:
    rows = [
        row
        for row in evidence.queues
        if (row.peer_id, row.owner, row.source) == (queue.peer_id, str(queue.owner), str(queue.wals_of))
    ]
    return sum(row.pending_files for row in rows), sum(row.pending_bytes for row in rows)


def _orphan_queues(evidence: Evidence) -> Iterator[FindingRow]:
    view = evidence.view
    for row in view.rows:
        queue = row.queue
        files, size = _pending(evidence, queue)
        if queue.peer_id not in view.peer_ids:
            yield _finding(
                "ORPHAN_QUEUE",
                WARNING,
                str(queue),
                f"Queue {queue} belongs to peer {queue.peer_id}, which does not exist.",
                "Remove it with HBCK2 'replication --fix'; HBase itself never will.",
                peer_id=queue.peer_id,
                server=str(queue.owner),
                files=files,
                size=size,
                cause="removed peer",
            )
        elif queue.owner not in view.not_fully_dead and view.restless is None:
            yield _finding(
                "ORPHAN_QUEUE",
                WARNING,
                str(queue),
                f"Queue {queue} belongs to {queue.owner}, which is fully dead: nobody ships it.",
                f"HBCK2 'scheduleRecoveries {queue.owner}' lets a live server claim it.",
                peer_id=queue.peer_id,
                server=str(queue.owner),
                files=files,
                size=size,
                cause="dead owner",
            )


def _duplicate_queues(evidence: Evidence) -> Iterator[FindingRow]:
    for source, rows in sorted(evidence.view.rows_of_source.items()):
        for peer in evidence.view.peer_ids:
            owners = [str(row.queue) for row in rows if row.queue.peer_id == peer]
            # a claim between the two passes shows one queue under two owners
            if len(owners) > 1 and evidence.view.restless is None:
                yield _finding(
                    "DUPLICATE_QUEUE",
                    WARNING,
                    f"{peer}/{source}",
                    f"Peer {peer} has {len(owners)} queues for the WALs of {source}; the smallest offset counts.",
                    "Let both finish; if one never moves, remove it with the hbase shell after comparing offsets.",
                    peer_id=peer,
                    server=str(source),
                    queues=owners,
                )


def _bad_names(evidence: Evidence) -> Iterator[FindingRow]:
    for reason, severity, what, remedy in (
        (
            Reason.POISON_NAME,
            ERROR,
            "a WAL name without a readable server or timestamp: HBase's cleaner throws and skips the whole directory",
            "Move these files out of oldWALs by hand after looking at them.",
        ),
        (
            Reason.INVALID_NAME,
            INFO,
            "not a WAL: HBase's cleaner deletes it without waiting for any TTL",
            "Move it elsewhere if it is wanted; nothing but WALs belongs into oldWALs.",
        ),
        (
            Reason.FUTURE_TIMESTAMP,
            WARNING,
            "a modification time after the end of the listing: the clocks differ",
            "Check NTP on the NameNode and on the host that captured.",
        ),
    ):
        for odd in evidence.odd_names:
            if odd.reason == reason.value:
                yield _finding(
                    {"POISON_NAME": "POISON_FILE", "FUTURE_TIMESTAMP": "CLOCK_SKEW"}.get(reason.value, reason.value),
                    severity,
                    odd.directory,
                    f"{odd.files} files in {odd.directory}, such as {odd.example}: {what}.",
                    remedy,
                    files=odd.files,
                    size=odd.bytes,
                    example=odd.example,
                )


def _of_reason(evidence: Evidence, reason: Reason) -> tuple[int, int]:
    totals = [total for total in evidence.totals if total.archived and total.reason == reason.value]
    return sum(total.files for total in totals), sum(total.bytes for total in totals)


def _leaked_rep_wals(evidence: Evidence) -> Iterator[FindingRow]:
    files, size = _of_reason(evidence, Reason.REPLICATION_TABLE_WAL)
    released = evidence.settings.release.replication_table_wals
    if files and not released:
        yield _finding(
            "LEAKED_REP_WAL",
            INFO,
            "",
            f"{files} WALs of hbase:replication itself: no peer wants them, and HBase 3 never deletes them while "
            "their server lives.",
            "Set release.replication_table_wals: true to have them listed.",
            files=files,
            size=size,
        )


def _leftover_directories(evidence: Evidence) -> Iterator[FindingRow]:
    view, membership = evidence.view, evidence.snapshot.membership
    for directory in membership.wal_directories if membership else ():
        server = directory.server
        # a server that is just crashing has its procedure in one of the readings
        if server in view.online or server in view.crashing or view.restless is not None:
            continue
        if server not in view.wal_directories:  # ignored by release.empty_wal_directories
            continue
        empty = directory.entries == 0
        yield _finding(
            "LEFTOVER_WAL_DIRECTORY",
            WARNING,
            str(server),
            f"WALs/{server} stands, but the server is neither online nor has a crash procedure.",
            "It is empty: remove it, or set release.empty_wal_directories."
            if empty
            else f"Its WALs were never split: HBCK2 'scheduleRecoveries {server}'.",
            server=str(server),
            entries=directory.entries,
        )


def _missing_wals(evidence: Evidence) -> Iterator[FindingRow]:
    """Offsets whose WAL is nowhere, or shorter than the offset.

    The listing read `WALs/` before `oldWALs/`, so a WAL that existed then cannot hide in the move between them; one
    that was created later is not expected. HDFS shows an open file short, so only archived ones count as too short.
    """
    for row in evidence.queues:
        if not row.wal or row.offset is None or row.offset < 0 or not row.peer_exists or row.need_timestamp is None:
            continue
        found = evidence.offset_wals.get(row.wal)
        queue = f"{row.peer_id}-{row.owner}" + (f"/{row.source}" if row.recovered else "")
        if found is None and 0 <= row.need_timestamp < evidence.view.files_started - CREATION_MARGIN_MS:
            yield _finding(
                "MISSING_WAL",
                ERROR,
                f"{queue}/{row.wal_group}",
                f"Queue {queue} is to read {row.wal} at {row.offset}, but neither WALs/ nor oldWALs/ has it.",
                "Look for it in corrupt/ and in quarantines; if it is gone, its edits are lost to the peer: compare "
                "the tables with VerifyReplication.",
                peer_id=row.peer_id,
                server=row.owner,
                wal=row.wal,
                offset=row.offset,
            )
        elif found is not None and found.archived and row.offset > found.length:
            yield _finding(
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


def _smallest(queues: Iterable[QueueOffsetRow]) -> Mapping[tuple[str, str, str], QueueOffsetRow]:
    smallest: dict[tuple[str, str, str], QueueOffsetRow] = {}
    for row in queues:
        if row.wal_group is not None and row.need_timestamp is not None:
            key = (row.peer_id, row.source, row.wal_group)
            other = smallest.get(key)
            if other is None or other.need_timestamp is None or row.need_timestamp < other.need_timestamp:
                smallest[key] = row
    return smallest


def _rewound(evidence: Evidence) -> Iterator[FindingRow]:
    if not evidence.past:
        return
    now, before = _smallest(evidence.queues), evidence.past[0]
    for key, past in sorted(before.offsets.items()):
        row = now.get(key)
        if row is None or row.need_timestamp is None:
            continue
        same_wal = row.wal == past.wal and row.offset is not None and past.offset is not None
        back = same_wal and 0 <= (row.offset or 0) < (past.offset or 0)
        if row.need_timestamp < past.need or back:
            peer, source, group = key
            yield _finding(
                "QUEUE_TABLE_REWOUND",
                ERROR,
                f"{peer}/{source}/{group}",
                f"Peer {peer} stood at {past.wal}:{past.offset}, and is back at {row.wal}:{row.offset}.",
                "hbase:replication was restored or edited. WALs already deleted cannot be shipped again: pause "
                "clean-up and compare the tables with VerifyReplication.",
                peer_id=peer,
                server=source,
                before=f"{past.wal}:{past.offset}",
                now=f"{row.wal}:{row.offset}",
            )


def _stalled(evidence: Evidence) -> Iterator[FindingRow]:
    nights = evidence.settings.stalled_nights
    if len(evidence.past) < nights:
        return
    disabled = {peer.peer_id for peer in evidence.snapshot.peers if peer.state == "DISABLED"}
    for (peer, source, group), row in sorted(_smallest(evidence.queues).items()):
        if not row.pending_files or not row.peer_exists or peer in disabled:
            continue
        past = [night.offsets.get((peer, source, group)) for night in evidence.past[:nights]]
        if all(one and one.pending_files and (one.wal, one.offset) == (row.wal, row.offset) for one in past):
            yield _finding(
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


def _growth(evidence: Evidence) -> Iterator[FindingRow]:
    nights = evidence.settings.growth_nights
    if len(evidence.past) < nights:
        return
    for row in evidence.pinned:
        if row.level != "peer":
            continue
        curve = [night.held_by_peer.get(row.peer_id, 0) for night in reversed(evidence.past[:nights])] + [row.bytes]
        rising = all(before < after for before, after in pairwise(curve))
        if rising and curve[-1] - curve[0] >= evidence.settings.growth_min_bytes:
            yield _finding(
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


def _cleaner_not_running(evidence: Evidence) -> Iterator[FindingRow]:
    """Files that HBase's own chain should have deleted long ago.

    Only names that never wait for a queue are evidence (a backlog that a peer has just shipped is fresh work for the
    cleaner, however old its files): WALs of hbase:meta, non-WALs, and everything while there is no peer.
    """
    certain = {Reason.META_WAL.value, Reason.INVALID_NAME.value, Reason.NO_PEERS.value, Reason.PROCEDURE_WAL.value}
    totals = [total for total in evidence.totals if total.archived and total.reason in certain and total.overdue_files]
    if not totals:
        return
    poison = sorted(odd.directory for odd in evidence.odd_names if odd.reason == Reason.POISON_NAME.value)
    cause, remedy = (
        "the cleaner switch is off or its chore has died",
        "hbase shell: cleaner_chore_enabled, then look at the master's log.",
    )
    if evidence.view.hbase_keeps_all:
        cause, remedy = (
            "AddPeer or a migration bars the cleaner",
            "Wait for the procedure, or look why it does not end.",
        )
    elif poison:
        cause, remedy = f"a poison file blocks {poison[0]}", "Move the poison file away."
    files, size = sum(total.overdue_files for total in totals), sum(total.overdue_bytes for total in totals)
    yield _finding(
        "CLEANER_NOT_RUNNING",
        ERROR,
        "",
        f"HBase's own cleaner should have deleted {files} files more than three intervals ago; likely {cause}.",
        remedy,
        files=files,
        size=size,
        cause=cause,
        reasons=sorted({str(total.reason) for total in totals}),
    )


def _whole_cluster(evidence: Evidence) -> Iterator[FindingRow]:
    view = evidence.view
    if view.foreign_cleaner is not None:
        yield _finding(
            "FOREIGN_CLEANER",
            WARNING,
            "",
            f"Everything past its TTL is held, for {view.foreign_cleaner}.",
            "State it in the configuration: cleaners.plugins, cleaners.harmless, backup.enabled.",
        )
    if view.add_peer_running:
        yield _finding(
            "ADD_PEER_RUNNING",
            INFO,
            "",
            "AddPeer was running during the capture (or that is unknown), so everything is held for this night.",
            "Capture again once it has finished.",
        )
    moved, size = _of_reason(evidence, Reason.CLUSTER_MOVED)
    if moved:
        yield _finding(
            "CLUSTER_MOVED",
            INFO,
            "",
            f"{moved} files of dead servers are held, for the cluster moved during the capture: {view.restless}.",
            "Nothing, if it is rare; else let capture retry (capture.quiet_attempts).",
            files=moved,
            size=size,
        )
