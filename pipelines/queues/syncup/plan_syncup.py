"""The plan-syncup use case: predicts what ReplicationSyncUp would ship from a snapshot of a cluster that is down."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import functions as F

from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, RefusedError
from pipelines.common.human import human_bytes, human_count
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.cluster_view import MergedQueueRow, merge_passes
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import unfinished_migration_reason
from pipelines.hbase.offline_table import as_it_is
from pipelines.hbase.replication_queues import Cell, parse_queue_cells
from pipelines.hbase.wal_names import encode_prefix
from pipelines.lake.job_run import JobLake
from pipelines.queues.snapshot_run import snapshot_run
from pipelines.queues.syncup.findings import syncup_findings
from pipelines.queues.syncup.plan import (
    SyncUpInput,
    SyncUpPlan,
    UnreadReason,
    UnreadWal,
    placeholder_queues,
    plan_syncup,
)
from pipelines.queues.syncup.rows import PLAN_SUFFIX
from pipelines.queues.syncup.tables import peer_rows, queue_row, wal_rows
from pipelines.queues.syncup.text import plan_lines, plan_result
from pipelines.queues.syncup.wals import FilesOfServers, ListedWal
from pipelines.queues.wals.pending import smallest_needed_timestamps
from pipelines.queues.wals.selection import live_or_odd_files, needed_wals
from pipelines.snapshot.extras import named_extras
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, Snapshot
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.reader import SnapshotDirectories
from pipelines.snapshot.syncup_facts import EXTRA, SyncUpFacts
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


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The input of one plan.

    Attributes:
        snapshot: the snapshot directory.
        settings: from the configuration.
    """

    snapshot: str
    settings: ReconcileSettings


def plan(request: PlanRequest, snapshots: SnapshotDirectories, lake: JobLake) -> JobResult:
    """Predict what ReplicationSyncUp would do.

    Returns:
        Exit code 5 when a finding of severity error is new and not acknowledged, else 0.

    Raises:
        RefusedError: the snapshot is not of a cluster that is down, or the tool would die or lose edits.
        UnavailableError: the lake cannot be written.
    """
    opened = _believed(snapshots.open([request.snapshot])[0])
    snapshot = opened.known
    facts = parse_facts(snapshots.extra_lines(opened, EXTRA))
    cells = snapshots.cells(opened)
    cluster = _cluster(snapshots, opened, facts, cells, request.settings)
    planned = plan_syncup(cluster)
    _refuse(planned)
    queues = [queue_row(one) for one in planned.queues]
    wals = [row for one in planned.queues for row in wal_rows(one)]
    peers = peer_rows(planned, snapshot.peers, cells)
    run = snapshot_run(opened, PLAN_SUFFIX, request.settings)
    tables = ((SYNCUP_QUEUES, queues), (SYNCUP_WALS, wals), (SYNCUP_PEERS, peers))
    findings = run.record(lake, tables, syncup_findings(planned, snapshot, facts))
    lines = plan_lines(snapshot.cluster, facts, planned, queues, peers, findings)
    return run.answer(plan_result(snapshot, facts, planned, queues, wals, peers), lines, findings)


def _believed(opened: OpenedSnapshot) -> OpenedSnapshot:
    """Returns the snapshot if it is of a cluster that is down and its queues can be read.

    Raises:
        RefusedError: otherwise.
    """
    if opened.fault is not None or opened.snapshot is None:
        raise RefusedError(opened.fault_condition, opened.fault or f"{opened.uri}: snapshot.json cannot be read")
    snapshot = opened.snapshot
    if snapshot.queue_storage != QUEUE_STORAGE_TABLE:
        raise RefusedError(
            Condition.QUEUES_IN_ZOOKEEPER,
            f"{opened.uri}: the queues are in ZooKeeper. plan-syncup knows ReplicationSyncUp of HBase 3, whose queues "
            "are in hbase:replication; dump-queues shows these",
        )
    if EXTRA not in snapshot.extras:
        raise RefusedError(
            Condition.CLUSTER_RUNNING,
            f"{opened.uri} has no extra {EXTRA!r}: it was taken of a running cluster, and ReplicationSyncUp is for one "
            "that is down. Stop HBase, then capture with state.source offline (docs/syncup.md)",
        )
    foreign = sorted(named_extras(snapshot) - {EXTRA})
    if foreign:
        raise RefusedError(
            Condition.FORMAT_UNKNOWN, f"{opened.uri}: extra {foreign[0]!r} is not known to plan-syncup; capture again"
        )
    if opened.malformed is not None:
        raise RefusedError(
            Condition.QUEUE_MALFORMED,
            f"malformed queue row: {opened.malformed}; ReplicationSyncUp throws on it. Start HBase, mend it there",
        )
    _refuse_flags(opened.uri, snapshot)
    return opened


def _refuse_flags(uri: str, snapshot: Snapshot) -> None:
    pending = unfinished_migration_reason(snapshot)
    if pending is not None:
        raise RefusedError(
            Condition.MIGRATION_PENDING,
            f"{uri}: {pending}. Nobody migrates while HBase is down: start it and let it; ReplicationSyncUp does not "
            "see what is in ZooKeeper",
        )
    if snapshot.peers and (snapshot.flags is None or snapshot.flags.queue_table_exists is not True):
        raise RefusedError(
            Condition.QUEUE_TABLE_MISSING,
            f"{uri}: there are peers, but hbase:replication has no directory. Check hbase.rootdir in "
            "capture.hbase.site, capture again",
        )


def _cluster(
    snapshots: SnapshotDirectories,
    opened: OpenedSnapshot,
    facts: SyncUpFacts,
    cells: Sequence[Cell],
    settings: ReconcileSettings,
) -> SyncUpInput:
    """Collects the input of the plan; of the listing only the files that some queue may need."""
    snapshot = opened.known
    rows = merge_passes(opened.passes)
    true_rows = _true_rows(facts, cells, settings)
    directories = frozenset(one.server for one in snapshot.membership.wal_directories) if snapshot.membership else ()
    ids = {peer.peer_id for peer in snapshot.peers}
    every = [row for row in (*rows, *(true_rows or ())) if row.queue.peer_id in ids]
    every += placeholder_queues(snapshot.peers, rows, directories)
    servers = sorted({str(row.queue.wals_of) for row in every})
    listing = snapshots.files([opened])
    archived = needed_wals(listing, servers, smallest_needed_timestamps(every), None).filter(
        F.col("path").startswith("oldWALs/")
    )
    frame = archived.unionByName(live_or_odd_files(listing, [encode_prefix(server) for server in servers]))
    files = [ListedWal.of(row["path"], row["length"]) for row in frame.collect()]
    return SyncUpInput(snapshot.peers, rows, true_rows, frozenset(directories), FilesOfServers(files))


def _true_rows(
    facts: SyncUpFacts, cells: Sequence[Cell], settings: ReconcileSettings
) -> Sequence[MergedQueueRow] | None:
    """Returns the rows as they were when the cluster went down; None = unknown."""
    if facts.table is None or facts.table.unknown is not None:
        return None
    try:
        return merge_passes([parse_queue_cells(as_it_is(cells, facts.table.unflushed), settings.row_layout)])
    except MalformedError as error:
        raise RefusedError(
            Condition.QUEUE_MALFORMED, f"malformed queue row, not flushed yet: {error}. Start HBase, mend it there"
        ) from None


def _refuse(planned: SyncUpPlan) -> None:
    """Refuses a plan with which the tool would die or lose edits.

    Raises:
        RefusedError: names the files and the remedy.
    """
    if planned.poison:
        raise RefusedError(
            Condition.SYNCUP_BAD_WAL_NAME,
            f"ReplicationSyncUp throws at the name of {planned.poison[0]}"
            f"{_and_more(len(planned.poison) - 1)}, which is no WAL's. Move it away, capture again",
        )
    if planned.serial:
        peers = ", ".join(sorted({one.row.queue.peer_id for one in planned.serial})[:_SHOWN])
        size = human_bytes(sum(one.bytes for one in planned.serial))
        raise RefusedError(
            Condition.SYNCUP_SERIAL_PEER,
            f"Peer {peers} is serial, and {human_count(len(planned.serial), 'queue')} of it would be read, {size}. "
            "ReplicationSyncUp cannot ask hbase:meta for the order of its entries: at the first one that the peer "
            "wants the tool dies, and leaves flag files with which HBase drops the queues of every peer when it "
            "starts. Start HBase and let it ship (docs/syncup.md#a-serial-peer)",
        )
    for gap in UnreadReason:
        found = [one for one in planned.unread if one.gap is gap]
        if found:
            raise RefusedError(Condition.SYNCUP_WALS_UNREAD, f"{_unread(found)}. {_WAYS_OUT[gap]}")


def _unread(found: Sequence[UnreadWal]) -> str:
    size = human_bytes(sum(one.bytes for one in found))
    peers = ", ".join(sorted({one.peer_id for one in found})[:_SHOWN])
    paths = sorted({one.path for one in found})
    shown = ", ".join(paths[:_SHOWN])
    return (
        f"ReplicationSyncUp would not ship {human_count(len(paths), 'WAL')}, {size}, that peer {peers} needs: "
        f"{shown}{_and_more(len(paths) - _SHOWN)}"
    )


def _and_more(count: int) -> str:
    return f" and {count:,} more" if count > 0 else ""
