"""Takes a snapshot of a cluster that is down: the data that ReplicationSyncUp would find (docs/syncup.md).

Nothing moves while no master and no region server runs, so the order of reading proves nothing here. Reconcile does not
trust such a snapshot, because only a master knows which servers are alive and which crashes are unfinished.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pipelines.capture.capture import CaptureResult, CaptureTarget, known_peers, snapshot_of
from pipelines.capture.ports import FileSource, QueueSource, SnapshotSink, WalDirectorySource
from pipelines.capture.sources.hfile_table import HFileTable
from pipelines.capture.sources.offline_state import OfflineCluster
from pipelines.capture.timeline import RetryPolicy, Timeline, with_retries
from pipelines.common.clock import Clock
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.common.progress import Progress
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.offline_table import unflushed_columns
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import QUEUE_FAMILY, Cell, readable_queues
from pipelines.hbase.wal_names import is_replication_table_group, parse_wal_name
from pipelines.snapshot.capture_order import mixed_clusters_reason
from pipelines.snapshot.extras import extra_file
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, MasterFlags, Membership
from pipelines.snapshot.syncup_facts import EXTRA, SyncUpFacts, TableFacts, fact_documents


@dataclass(frozen=True, slots=True)
class OfflineSources:
    """The source of each part of a snapshot of a cluster that is down.

    Attributes:
        queues: the source of the cells of the queue table.
        table: the same source, if it reads the table's store files; None = the cells were exported earlier.
    """

    files: FileSource
    directories: WalDirectorySource
    queues: QueueSource
    table: HFileTable | None
    state: OfflineCluster

    def capture(
        self, subject: CaptureTarget, sink: SnapshotSink, *, clock: Clock, patience: RetryPolicy
    ) -> CaptureResult:
        """See `capture_offline`."""
        return capture_offline(subject, self, sink, clock=clock, patience=patience)


def capture_offline(
    subject: CaptureTarget, sources: OfflineSources, sink: SnapshotSink, *, clock: Clock, patience: RetryPolicy
) -> CaptureResult:
    """Captures a cluster that is down into a snapshot with the extra `syncup`.

    Raises:
        RefusedError: a master or a region server runs, or the parts come from different clusters.
        UnavailableError: a source or the sink did not answer.
        UsageError: a source is not what the configuration says.
    """
    state, timeline = sources.state, Timeline(clock, patience, subject.clock_host)
    refuse_running(state, patience)
    settings = with_retries("Settings", state.settings, patience)
    names: list[str] = []
    files = timeline.take("files", sources.files, lambda: _listed(sources.files, sink, names))
    directories = timeline.take("wal_directories", sources.directories, sources.directories.wal_directories)
    timeline.take("online", state, lambda: refuse_running(state, patience))
    timeline.take("crashing", state, lambda: None)
    peers, zk_queue_data = timeline.take("peers", state, lambda: (known_peers(state), state.zk_queue_data()))
    cells = [
        timeline.take(step, sources.queues, partial(_cells, sources.queues, sink, step))
        for step in ("queues-1", "queues-2")
    ]
    facts = with_retries("Extra syncup", lambda: _facts(sources, cells[0], names), patience)
    sink.documents(extra_file(EXTRA), fact_documents(facts))
    timeline.take("online-2", state, lambda: refuse_running(state, patience))
    timeline.take("crashing-2", state, lambda: None)
    exists = sources.table.exists() if sources.table is not None else any(cells)
    # a master migrates if it finds queue data in ZooKeeper; without such data there is nothing to migrate
    flags = MasterFlags(
        queue_table_exists=exists, add_peer_running=None, migration_pending=zk_queue_data, zk_queue_data=zk_queue_data
    )
    membership = Membership(None, frozenset(), frozenset(), directories)
    snapshot = snapshot_of(
        subject,
        settings,
        timeline,
        QUEUE_STORAGE_TABLE,
        peers,
        membership=membership,
        membership_2=Membership(None, frozenset(), frozenset()),
        flags=flags,
        flags_2=flags,
        extras=(EXTRA,),
    )
    if sources.table is None:
        _refuse_strangers(membership, peers, cells)
    return CaptureResult(sink.finish(snapshot), snapshot, files, len(cells[-1]), None)


def refuse_running(state: OfflineCluster, patience: RetryPolicy) -> None:
    """Refuses a cluster that is not down.

    Raises:
        RefusedError: a master or a region server runs.
    """
    running = with_retries("ZooKeeper", state.running, patience)
    if running is not None:
        raise RefusedError(
            Condition.CLUSTER_RUNNING,
            f"{running}: HBase is running, but state.source offline needs a cluster that is down. Stop it, and wait "
            "until its znodes have expired; or capture it with state.source hbase",
        )


def _listed(source: FileSource, sink: SnapshotSink, tables: list[str]) -> int:
    """Writes the listing, and adds to `tables` the WALs of `hbase:replication` that lie below `WALs/`."""
    tables.clear()

    def watched(batch: FileBatch) -> FileBatch:
        tables.extend(path for path in batch.paths if path.startswith("WALs/") and _is_of_queue_table(path))
        return batch

    return sink.files(map(watched, source.files()))


def _is_of_queue_table(path: str) -> bool:
    name = parse_wal_name(path.rpartition("/")[2])
    return name is not None and name.server is not None and is_replication_table_group(name.group, name.server)


def _cells(source: QueueSource, sink: SnapshotSink, step: str) -> tuple[Cell, ...]:
    cells = tuple(Progress("reading the queues", unit="cells").over(source.cells(step)))
    sink.cells(f"{step}.jsonl", cells)
    return cells


def _facts(sources: OfflineSources, cells: Sequence[Cell], wals: Sequence[str]) -> SyncUpFacts:
    state, table = sources.state, None
    if sources.table is not None:
        files = sources.table.store_files()
        flushed: dict[tuple[str, str], int] = {}
        for file in files:
            key = (file.region, file.family)
            flushed[key] = max(flushed.get(key, -1), file.sequence_id)
        edits, problem = state.edits(wals)
        regions = sources.table.region_names()
        waiting = sources.table.recovered_edits()
        if waiting:
            problem = f"{len(waiting)} files of edits wait for a region to open, such as {waiting[0]}"
        changes = unflushed_columns(cells, (edit for edit in edits if edit.region in regions), flushed)
        table = TableFacts(tuple(files), changes, problem)
    return SyncUpFacts(state.root(), tuple(state.directories()), tuple(state.flags()), table)


def _refuse_strangers(membership: Membership, peers: Sequence[Peer], cells: Sequence[Sequence[Cell]]) -> None:
    """Refuses exported cells of another cluster; leaves a row that no layout can read for plan-syncup to report.

    Raises:
        RefusedError: the cells come from another cluster.
    """
    rows = readable_queues({cell.row for each in cells for cell in each if cell.family == QUEUE_FAMILY})
    strange = mixed_clusters_reason(membership, peers, rows)
    if strange is not None:
        raise RefusedError(Condition.MIXED_CLUSTERS, f"{strange}. Check wal_root and where the cells were exported")
