"""The dump-queues use case: prints HBase's `DumpReplicationQueues` from a snapshot, even if the cluster is down."""

import logging
from dataclasses import asdict

from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, RefusedError
from pipelines.common.instants import format_instant
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.replication_storage_factory import replication_queue_storage
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import Doubts
from pipelines.lake.job_run import JobLake
from pipelines.queues.dump.queue_storage import DUMPED_STORAGES
from pipelines.queues.dump.rows import (
    DUMP_SUFFIX,
    QueueDump,
    hfile_ref_rows,
    peer_rows,
    queue_document,
    queue_rows,
    wal_rows,
)
from pipelines.queues.dump.text import distributed_text, peers_text
from pipelines.queues.snapshot_run import believed, malformed, snapshot_run
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.reader import SnapshotDirectories
from schemas.dumped_hfile_refs import DUMPED_HFILE_REFS
from schemas.dumped_peers import DUMPED_PEERS
from schemas.dumped_queues import DUMPED_QUEUES
from schemas.dumped_wals import DUMPED_WALS

_LOG = logging.getLogger(__name__)


def dump_queues(
    uri: str,
    settings: ReconcileSettings,
    snapshots: SnapshotDirectories,
    lake: JobLake,
    *,
    distributed: bool,
    sizes: bool,
) -> JobResult:
    """Print the queues of a snapshot.

    The result and the tables always contain everything, whatever the options of the text.

    Args:
        uri: the snapshot directory.
        settings: from the configuration; they give the layout of queue rows.
        snapshots: opens it.
        lake: of the job.
        distributed: print queue by queue instead of the raw records.
        sizes: print the sizes of WALs; only with `distributed`.

    Raises:
        RefusedError: the snapshot differs from what was captured, HBase itself throws on its queues, or the queues were
            moving from ZooKeeper to the table.
        UnavailableError: the lake cannot be written.
    """
    (opened,) = snapshots.open([uri])
    snapshot = believed(opened, _doubts(opened)).known
    restless = replication_queue_storage(snapshot).restless(opened)
    if restless is not None:
        _LOG.warning("Queues moved during the capture: %s. This is its last reading", restless)
    queues = DUMPED_STORAGES[snapshot.queue_storage]
    try:
        dump = queues.dump(snapshots, opened, settings.row_layout)
    except MalformedError as error:
        raise RefusedError(
            Condition.QUEUE_MALFORMED, f"{opened.uri}/queues-2.jsonl: {error}. Mend it, capture again"
        ) from None
    run = snapshot_run(opened, DUMP_SUFFIX, settings)
    tables = (
        (DUMPED_PEERS, peer_rows(dump)),
        (DUMPED_QUEUES, queue_rows(dump)),
        (DUMPED_WALS, wal_rows(dump)),
        (DUMPED_HFILE_REFS, hfile_ref_rows(dump)),
    )
    run.write(lake, tables)
    if distributed:
        body = distributed_text(dump, snapshot.wal_root, sizes=sizes)
    else:
        body = queues.text(snapshots, opened, dump)
    return run.answer(dump_result(snapshot, dump), (peers_text(dump.peers), body.removesuffix("\n")))


def _doubts(opened: OpenedSnapshot) -> Doubts:
    """Yields why the queues cannot be read, or are not where they were read."""
    yield from malformed(
        opened, f"malformed queue: {opened.malformed}; HBase itself throws on it. Mend it, capture again"
    )
    yield from replication_queue_storage(opened.known).elsewhere(opened.known)


def dump_result(snapshot: Snapshot, dump: QueueDump) -> dict[str, object]:
    """Returns the dump's part of the JSON object; keys are the column names of the tables; bytes."""
    return {
        "files_started_at": format_instant(snapshot.files_step.started_at),
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
