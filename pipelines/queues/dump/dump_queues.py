"""The dump-queues use case: prints HBase's `DumpReplicationQueues` from a snapshot, even if the cluster is down."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, RefusedError
from pipelines.common.human import human_count, human_instant
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.cluster_view import MergedQueueRow, merge_passes
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import unfinished_migration_reason
from pipelines.decide.rule.zookeeper_trust import other_storage
from pipelines.hbase.replication_queues import parse_queue_cells
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.hbase.zookeeper.queued_wals import unsettled_reason
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.lake.job_run import JobLake
from pipelines.queues.dump.rows import (
    DUMP_SUFFIX,
    QueueDump,
    hfile_ref_rows,
    peer_rows,
    queue_document,
    queue_rows,
    wal_rows,
)
from pipelines.queues.dump.table_queues import HFILE_REF_FAMILY, table_dump
from pipelines.queues.dump.text import distributed_text, peers_text, table_text, znodes_text
from pipelines.queues.dump.zookeeper_queues import zookeeper_dump
from pipelines.queues.snapshot_run import snapshot_run
from pipelines.queues.wals.listed_wals import queued_wals
from pipelines.queues.wals.pending import smallest_needed_timestamps
from pipelines.queues.wals.rows import InspectedFile
from pipelines.queues.wals.selection import needed_wals, wal_directories
from pipelines.snapshot.capture_order import not_quiet_reason
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, Snapshot
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.reader import SnapshotDirectories
from schemas.dumped_hfile_refs import DUMPED_HFILE_REFS
from schemas.dumped_peers import DUMPED_PEERS
from schemas.dumped_queues import DUMPED_QUEUES
from schemas.dumped_wals import DUMPED_WALS

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DumpRequest:
    """The input of one dump.

    Attributes:
        snapshot: the snapshot directory.
        settings: from the configuration; they give the layout of queue rows.
        distributed: print queue by queue instead of the raw records.
        hdfs: print the sizes of WALs; only with `distributed`.
    """

    snapshot: str
    settings: ReconcileSettings
    distributed: bool = False
    hdfs: bool = False


def dump_queues(request: DumpRequest, snapshots: SnapshotDirectories, lake: JobLake) -> JobResult:
    """Print the queues of a snapshot.

    The result and the tables always contain everything, whatever the options of the text.

    Raises:
        RefusedError: the snapshot differs from what was captured, HBase itself throws on its queues, or the queues were
            moving from ZooKeeper to the table.
        UnavailableError: the lake cannot be written.
    """
    opened = _believed(snapshots.open([request.snapshot])[0])
    snapshot = opened.known
    in_table = snapshot.queue_storage == QUEUE_STORAGE_TABLE
    znodes: Sequence[Znode] = () if in_table else snapshots.znodes(opened)
    try:
        dump = _of_table(request, snapshots, opened) if in_table else _of_zookeeper(snapshots, opened)
    except MalformedError as error:
        raise RefusedError(
            Condition.QUEUE_MALFORMED, f"{opened.uri}/queues-2.jsonl: {error}. Mend it, capture again"
        ) from None
    run = snapshot_run(opened, DUMP_SUFFIX, request.settings)
    tables = (
        (DUMPED_PEERS, peer_rows(dump)),
        (DUMPED_QUEUES, queue_rows(dump)),
        (DUMPED_WALS, wal_rows(dump)),
        (DUMPED_HFILE_REFS, hfile_ref_rows(dump)),
    )
    run.write(lake, tables)
    if request.distributed:
        body = distributed_text(dump, snapshot.wal_root, sizes=request.hdfs)
    else:
        body = table_text(dump) if in_table else znodes_text(dump, znodes)
    return run.answer(dump_result(snapshot, dump), (peers_text(dump.peers), body.removesuffix("\n")))


def _believed(opened: OpenedSnapshot) -> OpenedSnapshot:
    """Returns the snapshot if it is unchanged since its capture and all of its queues can be read.

    Raises:
        RefusedError: the snapshot is faulty, has a malformed queue, or is in the middle of a migration.
    """
    if opened.fault is not None or opened.snapshot is None:
        raise RefusedError(opened.fault_condition, opened.fault or f"{opened.uri}: snapshot.json cannot be read")
    if opened.malformed is not None:
        raise RefusedError(
            Condition.QUEUE_MALFORMED,
            f"malformed queue: {opened.malformed}; HBase itself throws on it. Mend it, capture again",
        )
    snapshot = opened.snapshot
    in_table = snapshot.queue_storage == QUEUE_STORAGE_TABLE
    halved = unfinished_migration_reason(snapshot) if in_table else other_storage(snapshot)
    if halved is not None:
        raise RefusedError(Condition.MIGRATION_PENDING if in_table else Condition.QUEUES_IN_TABLE, halved)
    restless = _restless(opened)
    if restless is not None:
        _LOG.warning("Queues moved during the capture: %s. This is its last reading", restless)
    return opened


def _restless(opened: OpenedSnapshot) -> str | None:
    if opened.trees:
        return unsettled_reason(opened.trees)
    first, last = (frozenset(cell.queue for cell in cells) for cells in (opened.passes[0], opened.passes[-1]))
    return not_quiet_reason(opened.known, first, last)


def _of_table(request: DumpRequest, snapshots: SnapshotDirectories, opened: OpenedSnapshot) -> QueueDump:
    cells = snapshots.cells(opened)
    queued = parse_queue_cells(cells, request.settings.row_layout)
    rows = merge_passes([queued])
    refs = [cell for cell in cells if cell.family == HFILE_REF_FAMILY]
    snapshot = opened.known
    online = snapshot.membership_2.online if snapshot.membership_2 else None
    return table_dump(queued, rows, refs, _needed(snapshots, opened, rows), snapshot.peers, online)


def _needed(
    snapshots: SnapshotDirectories, opened: OpenedSnapshot, rows: Sequence[MergedQueueRow]
) -> list[InspectedFile]:
    servers = sorted({str(row.queue.wals_of) for row in rows})
    frame = needed_wals(snapshots.files([opened]), servers, smallest_needed_timestamps(rows), None)
    found = [(row["path"], parse_wal_name(row["path"].rpartition("/")[2]), row["length"]) for row in frame.collect()]
    _LOG.info("%s to be read by queues", human_count(len(found), "WAL"))
    return [InspectedFile(path, name, length) for path, name, length in found if name is not None]


def _of_zookeeper(snapshots: SnapshotDirectories, opened: OpenedSnapshot) -> QueueDump:
    tree = opened.trees[-1]
    names = sorted({wal for queue in tree.queues for wal in queue.wals})
    files = snapshots.files([opened])
    found = sorted((row["path"], row["length"]) for row in queued_wals(files, names).collect())
    listed = {path.rpartition("/")[2]: (path, length) for path, length in found}
    snapshot = opened.known
    if snapshot.membership_2 is not None:
        online = snapshot.membership_2.online
    else:
        online = _with_directory([row["directory"] for row in wal_directories(files).collect()])
    return zookeeper_dump(tree, listed, snapshot.peers, online)


def _with_directory(names: Sequence[str]) -> frozenset[ServerName]:
    """Returns the servers with a directory below `WALs` that is not renamed to `-splitting`."""
    return frozenset(server for server in map(_server, names) if server is not None)


def _server(name: str) -> ServerName | None:
    try:
        return ServerName.parse(name)
    except MalformedError:
        return None


def dump_result(snapshot: Snapshot, dump: QueueDump) -> dict[str, object]:
    """Returns the dump's part of the JSON object; keys are the column names of the tables; bytes."""
    return {
        "files_started_at": human_instant(snapshot.files_step.started_at),
        "queue_storage": dump.storage,
        "peers": [asdict(peer) for peer in dump.peers],
        "queues": [
            {**queue_document(queue), "wals": [{**asdict(wal), "position": wal.position} for wal in queue.wals]}
            for queue in dump.queues
        ],
        "hfile_refs": {peer: list(names) for peer, names in dump.hfile_refs.items()},
        "dead_region_servers": list(dump.dead_replicators),
        "deleted_queues": [f"{queue.owner}/{queue.queue_id}" for queue in dump.deleted],
        "pending_wals": dump.queue_sizes,
        "pending_bytes": sum(queue.pending_bytes for queue in dump.queues),
        "missing_wals": sum(queue.missing for queue in dump.queues),
    }
