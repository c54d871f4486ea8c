"""Plans for queues in `hbase:replication` (HBase 3) and in ZooKeeper (HBase 2), where ReplicationSyncUp differs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import functions as F

from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, RefusedError
from pipelines.decide.rule.cluster_view import MergedQueueRow, merge_passes
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import unfinished_migration_reason
from pipelines.decide.rule.zookeeper_trust import other_storage
from pipelines.hbase.offline_table import as_it_is
from pipelines.hbase.replication_queues import Cell, parse_queue_cells
from pipelines.hbase.wal_names import encode_prefix
from pipelines.hbase.zookeeper.queued_wals import unsettled_reason
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.needed_wals import live_or_odd_files, needed_wals, queued_wals, smallest_needed_timestamps
from pipelines.queues.syncup.findings import syncup_findings
from pipelines.queues.syncup.plan import SyncUpInput, SyncUpPlan, placeholder_queues, plan_syncup
from pipelines.queues.syncup.wals import FilesOfServers, ListedWal
from pipelines.queues.syncup.zookeeper_findings import zookeeper_findings
from pipelines.queues.syncup.zookeeper_plan import (
    FilesByName,
    ZooKeeperInput,
    ZooKeeperQueuePlan,
    plan_zookeeper_syncup,
)
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER, Snapshot
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.reader import SnapshotDirectories
from pipelines.snapshot.syncup_facts import SyncUpFacts


@dataclass(frozen=True, slots=True)
class SyncUpStorage:
    """The queues of one storage.

    Attributes:
        serial: what happens to queues of a serial peer, as the end of a sentence.
        bad_name: what to do with a name that is no WAL's, as a sentence.
        refuse: raises RefusedError, with the reason and the remedy, if the queues cannot be read for sure.
        plan: returns what the tool would do. Raises RefusedError if HBase itself throws on a row.
        findings: returns all findings of one plan.
    """

    serial: str
    bad_name: str
    refuse: Callable[[OpenedSnapshot], None]
    plan: Callable[[SnapshotDirectories, OpenedSnapshot, SyncUpFacts, ReconcileSettings], SyncUpPlan]
    findings: Callable[[SyncUpPlan, Snapshot, SyncUpFacts], tuple[FindingRow, ...]]


def _refuse_zookeeper(opened: OpenedSnapshot) -> None:
    strange = other_storage(opened.known)
    if strange is not None:
        raise RefusedError(Condition.QUEUES_IN_TABLE, f"{opened.uri}: {strange}")
    moved = unsettled_reason(opened.trees)
    if moved is not None:
        raise RefusedError(
            Condition.CLUSTER_RUNNING, f"{opened.uri}: {moved}. Somebody still changes the queues; capture again"
        )
    locks = sorted({str(server) for tree in opened.trees for server in tree.locks})
    if locks:
        raise RefusedError(
            Condition.QUEUES_IN_ZOOKEEPER,
            f"{opened.uri}: the queues of {locks[0]} are locked, as HBase 1 does while it moves them. plan-syncup "
            "knows ReplicationSyncUp of HBase 2 only. Start HBase and let it ship",
        )


def _zookeeper_plan(
    snapshots: SnapshotDirectories, opened: OpenedSnapshot, _facts: SyncUpFacts, _settings: ReconcileSettings
) -> SyncUpPlan:
    queues = opened.trees[-1].queues
    listing = snapshots.files([opened])
    names = sorted({wal for queue in queues for wal in queue.wals})
    archived = queued_wals(listing, names).filter(F.col("path").startswith("oldWALs/"))
    frame = archived.unionByName(live_or_odd_files(listing, []))
    files = [ListedWal.of(row["path"], row["length"]) for row in frame.collect()]
    return plan_zookeeper_syncup(ZooKeeperInput(opened.known.peers, queues, FilesByName(files)))


def _zookeeper_findings(planned: SyncUpPlan, _snapshot: Snapshot, _facts: SyncUpFacts) -> tuple[FindingRow, ...]:
    queues = [one for one in planned.queues if isinstance(one, ZooKeeperQueuePlan)]
    return zookeeper_findings(planned, queues)


def _refuse_table(opened: OpenedSnapshot) -> None:
    uri, snapshot = opened.uri, opened.known
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


def _table_plan(
    snapshots: SnapshotDirectories, opened: OpenedSnapshot, facts: SyncUpFacts, settings: ReconcileSettings
) -> SyncUpPlan:
    """Plans with those files of the listing that some queue may need."""
    snapshot = opened.known
    rows = merge_passes(opened.passes)
    true_rows = _true_rows(facts, snapshots.cells(opened), settings)
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
    return plan_syncup(SyncUpInput(snapshot.peers, rows, true_rows, frozenset(directories), FilesOfServers(files)))


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


SYNCUP_STORAGES: Mapping[str, SyncUpStorage] = {
    QUEUE_STORAGE_TABLE: SyncUpStorage(
        serial="at the first one that the peer wants the tool dies, and leaves flag files with which HBase drops the "
        "queues of every peer when it starts",
        bad_name="Move it away, capture again",
        refuse=_refuse_table,
        plan=_table_plan,
        findings=syncup_findings,
    ),
    QUEUE_STORAGE_ZOOKEEPER: SyncUpStorage(
        serial="at the first one that the peer wants the tool begins again, and so it never ends",
        bad_name="A queue in ZooKeeper has it. Start HBase and let it ship",
        refuse=_refuse_zookeeper,
        plan=_zookeeper_plan,
        findings=_zookeeper_findings,
    ),
}
"""By the name in snapshot.json."""
