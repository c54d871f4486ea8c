"""The plan-syncup use case: predicts what ReplicationSyncUp would ship from a snapshot of a cluster that is down."""

from collections.abc import Sequence

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.common.human import human_bytes, human_count
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import Doubts
from pipelines.lake.job_run import JobLake
from pipelines.queues.snapshot_run import believed, malformed, snapshot_run
from pipelines.queues.syncup.plan import SyncUpPlan, UnreadReason, UnreadWal
from pipelines.queues.syncup.queue_storage import SYNCUP_STORAGES, SyncUpStorage
from pipelines.queues.syncup.rows import PLAN_SUFFIX
from pipelines.queues.syncup.tables import peer_rows, queue_row, wal_rows
from pipelines.queues.syncup.text import plan_lines, plan_result
from pipelines.queues.syncup.wals import human_waiting
from pipelines.snapshot.extras import named_extras
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.reader import SnapshotDirectories
from pipelines.snapshot.syncup_facts import EXTRA
from pipelines.snapshot.syncup_lines import parse_facts
from schemas.syncup_peers import SYNCUP_PEERS
from schemas.syncup_queues import SYNCUP_QUEUES
from schemas.syncup_wals import SYNCUP_WALS

_SHOWN = 5
_WAYS_OUT = {
    UnreadReason.SPLITTING: "ReplicationSyncUp does not look into -splitting directories, and HBase would drop these "
    "queues when it starts. Either start HBase and let it ship; or rename each directory to the server's plain name "
    "(hdfs dfs -mv) for the time of the run, and BACK before HBase starts (docs/syncup.md#a-half-split-directory)",
    UnreadReason.UNSEEN_ROW: "The row of that queue was never flushed, so ReplicationSyncUp does not know it, and "
    "HBase would drop it when it starts. Start HBase and let it ship",
    UnreadReason.OUT_OF_REACH: "ReplicationSyncUp does not look there for WALs of that server. Start HBase and let it "
    "ship, or move the file into oldWALs",
}


def plan(uri: str, settings: ReconcileSettings, snapshots: SnapshotDirectories, lake: JobLake) -> JobResult:
    """Predict what ReplicationSyncUp would do.

    Args:
        uri: the snapshot directory.
        settings: from the configuration.
        snapshots: opens it.
        lake: of the job.

    Returns:
        Exit code 5 when a finding of severity error is new and not acknowledged, else 0.

    Raises:
        RefusedError: the snapshot is not of a cluster that is down, or the tool would die or lose edits.
        UnavailableError: the lake cannot be written.
    """
    (opened,) = snapshots.open([uri])
    snapshot = believed(opened, _doubts(opened)).known
    storage = SYNCUP_STORAGES[snapshot.queue_storage]
    storage.refuse(opened)
    facts = parse_facts(snapshots.extra_lines(opened, EXTRA))
    planned = storage.plan(snapshots, opened, facts, settings)
    _refuse(planned, storage)
    queues = [queue_row(one) for one in planned.queues]
    wals = [row for one in planned.queues for row in wal_rows(one)]
    peers = peer_rows(planned, snapshot.peers, opened.beside)
    run = snapshot_run(opened, PLAN_SUFFIX, settings)
    tables = ((SYNCUP_QUEUES, queues), (SYNCUP_WALS, wals), (SYNCUP_PEERS, peers))
    findings = run.record(lake, tables, storage.findings(planned, snapshot, facts), SYNCUP_PEERS)
    lines = plan_lines(snapshot, facts, planned, queues, peers, findings)
    return run.answer(plan_result(snapshot, facts, planned, queues, wals, peers), lines, findings)


def _doubts(opened: OpenedSnapshot) -> Doubts:
    """Yields why this is no snapshot of a cluster that is down, or why its queues cannot be read."""
    running = (
        f"{opened.uri} has no extra {EXTRA!r}: it was taken of a running cluster, and ReplicationSyncUp is for one "
        "that is down. Stop HBase, then capture with state.source offline (docs/syncup.md)"
    )
    yield Condition.CLUSTER_RUNNING, None if EXTRA in opened.known.extras else running
    for foreign in sorted(named_extras(opened.known) - {EXTRA}):
        yield Condition.FORMAT_UNKNOWN, f"{opened.uri}: extra {foreign!r} is not known to plan-syncup; capture again"
    yield from malformed(
        opened, f"malformed queue: {opened.malformed}; ReplicationSyncUp throws on it. Start HBase, mend it there"
    )


def _refuse(planned: SyncUpPlan, storage: SyncUpStorage) -> None:
    """Refuses a plan with which the tool would die or lose edits.

    Raises:
        RefusedError: names the files and the remedy.
    """
    if planned.poison:
        raise RefusedError(
            Condition.SYNCUP_BAD_WAL_NAME,
            f"ReplicationSyncUp throws at the name of {planned.poison[0]}"
            f"{_and_more(len(planned.poison) - 1)}, which is no WAL's. {storage.bad_name}",
        )
    if planned.serial:
        peers = ", ".join(sorted({one.row.queue.peer_id for one in planned.serial})[:_SHOWN])
        size = human_bytes(sum(wal.waiting for one in planned.serial for wal in one.edits or one.wals))
        raise RefusedError(
            Condition.SYNCUP_SERIAL_PEER,
            f"Peer {peers} is serial, and {human_count(len(planned.serial), 'queue')} of it would be read, {size}. "
            f"ReplicationSyncUp cannot ask hbase:meta for the order of its entries: {storage.serial}. Start HBase and "
            "let it ship (docs/syncup.md#a-serial-peer)",
        )
    for gap in UnreadReason:
        found = [one for one in planned.unread if one.gap is gap]
        if found:
            raise RefusedError(Condition.SYNCUP_WALS_UNREAD, f"{_unread(found)}. {_WAYS_OUT[gap]}")


def _unread(found: Sequence[UnreadWal]) -> str:
    size = human_waiting([one.bytes for one in found])
    peers = ", ".join(sorted({one.peer_id for one in found})[:_SHOWN])
    paths = sorted({one.path for one in found})
    shown = ", ".join(paths[:_SHOWN])
    return (
        f"ReplicationSyncUp would not ship {human_count(len(paths), 'WAL')}, {size}, that peer {peers} needs: "
        f"{shown}{_and_more(len(paths) - _SHOWN)}"
    )


def _and_more(count: int) -> str:
    return f" and {count:,} more" if count > 0 else ""
