"""Reads the queues of a snapshot for a dump: in `hbase:replication`, or in ZooKeeper."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.common.human import human_count
from pipelines.decide.rule.cluster_view import MergedQueueRow, merge_passes
from pipelines.hbase.replication_queues import RowLayout, parse_queue_cells
from pipelines.hbase.server_names import SPLITTING, server_of_directory
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.queues.dump.rows import QueueDump
from pipelines.queues.dump.table_queues import table_dump
from pipelines.queues.dump.text import table_text, znodes_text
from pipelines.queues.dump.zookeeper_queues import zookeeper_dump
from pipelines.queues.needed_wals import needed_wals, queued_wals, smallest_needed_timestamps
from pipelines.queues.wals.rows import InspectedFile
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER, complete_before
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.other_families import hfile_refs_of
from pipelines.snapshot.reader import SnapshotDirectories

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DumpedStorage:
    """The queues of one storage.

    Attributes:
        dump: reads the last reading and the listed WALs. Raises MalformedError if HBase itself throws on a queue.
        text: returns what dump-queues prints when no option is given: the raw records.
    """

    dump: Callable[[SnapshotDirectories, OpenedSnapshot, RowLayout], QueueDump]
    text: Callable[[SnapshotDirectories, OpenedSnapshot, QueueDump], str]


def _table_dump(snapshots: SnapshotDirectories, opened: OpenedSnapshot, layout: RowLayout) -> QueueDump:
    cells = snapshots.cells(opened)
    queued = parse_queue_cells(cells, layout)
    rows = merge_passes([queued])
    refs = hfile_refs_of(cells)
    snapshot = opened.known
    online = snapshot.membership_2.online if snapshot.membership_2 else None
    complete = complete_before(snapshot.files_step.started_at)
    return table_dump(queued, rows, refs, _needed(snapshots, opened, rows), snapshot.peers, online, complete)


def _zookeeper_dump(snapshots: SnapshotDirectories, opened: OpenedSnapshot, _layout: RowLayout) -> QueueDump:
    tree = opened.trees[-1]
    names = sorted({wal for queue in tree.queues for wal in queue.wals})
    files = snapshots.files([opened])
    found = sorted((row["path"], row["length"]) for row in queued_wals(files, names).collect())
    listed = {path.rpartition("/")[2]: (path, length) for path, length in found}
    snapshot = opened.known
    if snapshot.membership_2 is not None:
        online = snapshot.membership_2.online
    else:
        whole = (name for name in opened.listing.live_directories if not name.endswith(SPLITTING))
        online = frozenset(filter(None, map(server_of_directory, whole)))
    complete = complete_before(snapshot.files_step.started_at)
    return zookeeper_dump(tree, listed, snapshot.peers, online, complete)


def _needed(
    snapshots: SnapshotDirectories, opened: OpenedSnapshot, rows: Sequence[MergedQueueRow]
) -> list[InspectedFile]:
    servers = sorted({str(row.queue.wals_of) for row in rows})
    frame = needed_wals(snapshots.files([opened]), servers, smallest_needed_timestamps(rows), None)
    found = [(row["path"], parse_wal_name(row["path"].rpartition("/")[2]), row["length"]) for row in frame.collect()]
    _LOG.info("%s to be read by queues", human_count(len(found), "WAL"))
    return [InspectedFile(path, name, length) for path, name, length in found if name is not None]


DUMPED_STORAGES: Mapping[str, DumpedStorage] = {
    QUEUE_STORAGE_TABLE: DumpedStorage(_table_dump, lambda _snapshots, _opened, dump: table_text(dump)),
    QUEUE_STORAGE_ZOOKEEPER: DumpedStorage(
        _zookeeper_dump, lambda snapshots, opened, dump: znodes_text(dump, snapshots.znodes(opened))
    ),
}
"""By the name in snapshot.json."""
