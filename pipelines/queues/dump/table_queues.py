"""Builds the dump of queues in `hbase:replication` from one reading of the table and the listed WALs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pipelines.common.errors import MalformedError
from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import NEEDS_ALL, GroupOffset, QueueCell
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import wal_timestamp
from pipelines.queues.dump.rows import (
    DumpedQueue,
    DumpedWal,
    QueueDump,
    missing_wals,
    of_server,
    peers_of,
)
from pipelines.queues.wals.pending import Groups, by_group, groups_of
from pipelines.queues.wals.rows import InspectedFile
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE


def table_dump(
    cells: Sequence[QueueCell],
    rows: Iterable[MergedQueueRow],
    hfile_refs: Mapping[str, tuple[str, ...]],
    files: Iterable[InspectedFile],
    peers: Sequence[Peer],
    online: Collection[ServerName] | None,
    complete_before: int,
) -> QueueDump:
    """Combines one reading of the table with the listing.

    Args:
        cells: of family `queue`, in scan order.
        rows: the same cells, grouped by row.
        hfile_refs: names of bulk-loaded HFiles by peer.
        files: WALs that some queue still has to read.
        peers: all peers.
        online: live servers; None = unknown.
        complete_before: see `pipelines.snapshot.model.complete_before`.
    """
    states = {peer.peer_id: peer.state for peer in peers}
    groups = by_group(files)
    queues = sorted((_queue(row, groups, states, online, complete_before) for row in rows), key=of_server)
    owners = sorted({row.queue.owner for row in rows})
    return QueueDump(
        storage=QUEUE_STORAGE_TABLE,
        peers=peers_of(peers),
        queues=tuple(queues),
        hfile_refs=hfile_refs,
        dead_replicators=tuple(str(owner) for owner in owners if online is not None and owner not in online),
        recorded=tuple(cells),
    )


def _queue(
    row: MergedQueueRow,
    groups: Groups,
    states: dict[str, str],
    online: Collection[ServerName] | None,
    complete_before: int,
) -> DumpedQueue:
    queue, wals = row.queue, tuple(_wals(row, groups))
    return DumpedQueue(
        queue_id=str(queue),
        peer_id=queue.peer_id,
        peer_state=states.get(queue.peer_id),
        peer_exists=queue.peer_id in states,
        owner=str(queue.owner),
        source=str(queue.wals_of),
        recovered=queue.source is not None,
        dead_servers=(str(queue.source),) if queue.source else (),
        owner_online=None if online is None else queue.owner in online,
        wals=wals,
        missing=missing_wals(wals, complete_before),
    )


def _wals(row: MergedQueueRow, groups: Groups) -> Iterator[DumpedWal]:
    """Yields each file once, under its own group and with that group's offset."""
    for group in sorted({*groups_of(row, groups), *row.offsets}):
        offset = row.offsets.get(group)
        files = [file for file in groups.get(group, ()) if (file.name.timestamp or 0) >= row.need(group)]
        names = {file.name.name for file in files}
        wals = [_file(group, file, offset) for file in files]
        if offset is not None and offset.wal and offset.wal not in names:
            wals.append(DumpedWal(group, offset.wal, None, offset.offset, offset.offset >= 0, None))
        yield from sorted(wals, key=lambda wal: (_age(wal.wal), wal.wal))


def _file(group: str, file: InspectedFile, offset: GroupOffset | None) -> DumpedWal:
    recorded = offset.offset if offset is not None and offset.wal == file.name.name else None
    return DumpedWal(group, file.name.name, file.path, recorded, True, file.length)


def _age(wal: str) -> int:
    try:
        return wal_timestamp(wal)
    except MalformedError:
        return NEEDS_ALL
