"""Plans every queue that ReplicationSyncUp claims: what the tool reads for it, and what it leaves unread.

Follows `ReplicationSyncUp.run` of HBase 3: its servers are the directories below `WALs/` and the owners of rows. A peer
without a row for a server that has a directory gets a placeholder, which needs every WAL.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import GroupOffset, QueueId
from pipelines.hbase.server_names import SPLITTING, ServerName
from pipelines.queues.syncup.rows import SyncUpAction, SyncUpContent
from pipelines.queues.syncup.wals import FilesOfServers, PlannedWal, missing_wals, needed_wals, planned_wals

STANDBY = "STANDBY"
Starts = Mapping[tuple[str, str], int]
"""By peer and path, the first offset from which a queue of the peer reads a WAL."""


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """One queue that the tool claims.

    Attributes:
        row: as the tool reads it.
        peer: None if it was removed.
        is_placeholder: whether the tool creates the row itself.
        wals: the WALs that it reads, in the order of the tool; for a peer that is asleep, those that it leaves unread.
        missing: (group, WAL) of offsets whose WAL no directory has; empty if the peer was removed.
        is_stale: whether unflushed cells change the row; None = unknown.
        resent_bytes: bytes to read that the peer already has; None = unknown.
    """

    row: MergedQueueRow
    peer: Peer | None
    is_placeholder: bool
    wals: tuple[PlannedWal, ...]
    missing: tuple[tuple[str, str], ...]
    is_stale: bool | None
    resent_bytes: int | None

    @property
    def name(self) -> str:
        """How the tables name the queue."""
        return str(self.row.queue)

    @property
    def action(self) -> SyncUpAction:
        """What the tool does with the queue."""
        if self.peer is None:
            return SyncUpAction.REMOVED_PEER
        if self.peer.sync_replication_state == STANDBY:
            return SyncUpAction.STANDBY
        return SyncUpAction.SHIP if self.waits_for is None else SyncUpAction.WAITS

    @property
    def waits_for(self) -> str | None:
        """Why the tool would never end, or None.

        A source of a disabled peer ships nothing until the peer is enabled. A source without a WAL to read starts no
        worker,
        and a source only ends when a worker ends (`RecoveredReplicationSource`).
        """
        if self.peer is not None and self.peer.state != "ENABLED":
            return f"peer {self.peer.peer_id} is {self.peer.state}"
        if not self.wals:
            return "there is no WAL to read"
        return None

    @property
    def bytes(self) -> int:
        """Bytes that are read for the peer, without the WALs of hbase:replication itself."""
        return sum(wal.bytes for wal in self.edits)

    @property
    def edits(self) -> tuple[PlannedWal, ...]:
        """The WALs with user edits."""
        return tuple(wal for wal in self.wals if wal.content is SyncUpContent.EDITS)


class UnreadReason(StrEnum):
    """Why a needed WAL is not read."""

    SPLITTING = "SPLITTING"
    """It is in `WALs/<server>-splitting`, where the tool does not look."""
    UNSEEN_ROW = "UNSEEN_ROW"
    """The row of its queue was not flushed, so the tool does not know the queue."""
    OUT_OF_REACH = "OUT_OF_REACH"
    """It is in a directory where the tool does not look for WALs of its server."""


@dataclass(frozen=True, slots=True)
class UnreadWal:
    """A WAL that a peer needs and the tool does not read; `bytes` counts from the offset that is needed."""

    gap: UnreadReason
    peer_id: str
    path: str
    bytes: int


@dataclass(frozen=True, slots=True)
class SyncUpPlan:
    """The plan for all queues.

    Attributes:
        servers: the tool creates a flag file for each, which makes the next master drop the server's queues.
        queues: sorted by row key.
        unread: WALs that would never be shipped.
        poison: paths of files on whose names the tool throws.
    """

    servers: tuple[ServerName, ...]
    queues: tuple[QueuePlan, ...]
    unread: tuple[UnreadWal, ...]
    poison: tuple[str, ...]

    @property
    def serial(self) -> tuple[QueuePlan, ...]:
        """Queues of serial peers with something to read; the tool dies on them.

        `SerialReplicationChecker` reads hbase:meta with the server's connection, and that of the tool's `DummyServer`
        is null: the reader ends with a NullPointerException, and `DummyServer.abort` then ends the process.
        """
        claimed = (SyncUpAction.SHIP, SyncUpAction.WAITS)
        return tuple(
            one
            for one in self.queues
            if one.peer and one.peer.serial and one.action in claimed
            # a disabled peer would have to be enabled for the tool
            if one.edits or (one.wals and _is_asleep(one.peer))
        )


@dataclass(frozen=True, slots=True)
class SyncUpInput:
    """The input of the plan.

    Attributes:
        peers: existing peers.
        rows: of `hbase:replication` as the tool reads them.
        true_rows: as they were when the cluster went down; None = unknown.
        directories: servers with a directory below `WALs/`, including `-splitting` directories.
        files: the listing.
    """

    peers: Sequence[Peer]
    rows: Sequence[MergedQueueRow]
    true_rows: Sequence[MergedQueueRow] | None
    directories: frozenset[ServerName]
    files: FilesOfServers


def plan_syncup(cluster: SyncUpInput) -> SyncUpPlan:
    """Plan what ReplicationSyncUp would do."""
    peers = {peer.peer_id: peer for peer in cluster.peers}
    made = placeholder_queues(cluster.peers, cluster.rows, cluster.directories)
    rows = [*((row, False) for row in cluster.rows), *((row, True) for row in made)]
    sources = {row.queue.wals_of for row, _ in rows if row.queue.peer_id in peers}
    seen = {source: cluster.files.seen(source) for source in sources}
    poison = sorted(
        {file.path for files in seen.values() for file in files if file.name is None or file.name.timestamp is None}
    )
    true_rows = None if cluster.true_rows is None else _by_wals(cluster.true_rows)
    queues: list[QueuePlan] = []
    read: dict[tuple[str, str], int] = {}
    for row, is_placeholder in sorted(rows, key=lambda one: str(one[0].queue)):
        peer = peers.get(row.queue.peer_id)
        files = seen.get(row.queue.wals_of, []) if peer else []
        wals = planned_wals(row.queue.wals_of, row.offsets, files)
        if peer is not None and _is_asleep(peer):
            edits = (wal for wal in wals if wal.content is SyncUpContent.EDITS)
            wals = tuple(replace(wal, content=SyncUpContent.NOT_READ) for wal in edits)
        of_queue = None if true_rows is None else true_rows.get((row.queue.peer_id, row.queue.wals_of), ())
        stale, resent = _staleness(row, is_placeholder, wals, of_queue, read)
        for wal in wals:
            key = (row.queue.peer_id, wal.file.path)
            read[key] = min(read.get(key, wal.start), wal.start)
        queues.append(
            QueuePlan(
                row=row,
                peer=peer,
                is_placeholder=is_placeholder,
                wals=wals,
                missing=tuple(missing_wals(row.offsets, cluster.files.written_by(row.queue.wals_of))) if peer else (),
                is_stale=stale,
                resent_bytes=resent,
            )
        )
    owners = {row.queue.owner for row in cluster.rows}
    servers = tuple(sorted(owners | cluster.directories))
    return SyncUpPlan(servers, tuple(queues), tuple(_unread(cluster, queues, read)), tuple(poison))


def _is_asleep(peer: Peer) -> bool:
    """Tell whether the tool ships nothing for a peer: its sources sleep, or its queues are dropped."""
    return peer.state != "ENABLED" or peer.sync_replication_state == STANDBY


def placeholder_queues(
    peers: Iterable[Peer], rows: Iterable[MergedQueueRow], directories: Iterable[ServerName]
) -> Iterator[MergedQueueRow]:
    """Yields the empty queues (placeholders) that `addMissingReplicationQueues` adds.

    There is one for each peer and server directory without a queue of that server; a queue that the server has claimed
    from another one does not count.
    """
    normal = {(row.queue.peer_id, row.queue.owner) for row in rows if row.queue.source is None}
    ids = sorted(peer.peer_id for peer in peers)
    for server in sorted(directories):
        for peer_id in ids:
            if (peer_id, server) not in normal:
                yield MergedQueueRow(QueueId(peer_id, server), {})


def _by_wals(rows: Iterable[MergedQueueRow]) -> Mapping[tuple[str, ServerName], Sequence[MergedQueueRow]]:
    """Returns the rows by peer and the server that wrote the WALs."""
    found: dict[tuple[str, ServerName], list[MergedQueueRow]] = {}
    for row in rows:
        found.setdefault((row.queue.peer_id, row.queue.wals_of), []).append(row)
    return found


def _staleness(
    row: MergedQueueRow,
    is_placeholder: bool,
    wals: Sequence[PlannedWal],
    of_queue: Sequence[MergedQueueRow] | None,
    before: Starts,
) -> tuple[bool | None, int | None]:
    """Returns whether the row changed after its flush, and the bytes that are sent again for it.

    What the queues `before` it read for its peer is sent again, too. `of_queue` are the true rows of its peer for the
    same WALs; None = unknown.
    """
    if of_queue is None:
        return None, None
    edits = [wal for wal in wals if wal.content is SyncUpContent.EDITS]
    read = sum(wal.bytes for wal in edits)
    if not of_queue:
        return not is_placeholder, 0 if is_placeholder else read
    own = next((one for one in of_queue if one.queue == row.queue), None)
    stale = own is None or own.offsets != row.offsets
    true_needs = needed_wals(row.queue.wals_of, _merged(of_queue), (wal.file for wal in edits))
    ends = (
        (min(before.get((row.queue.peer_id, file.path), file.length), file.length), start) for file, start in true_needs
    )
    return stale, max(read - sum(max(end - start, 0) for end, start in ends), 0)


def _unread(cluster: SyncUpInput, queues: Iterable[QueuePlan], read: Starts) -> Iterator[UnreadWal]:
    """Yields the WALs that a peer needs and no queue of it reads.

    Those that wait for a disabled peer are not among them: SYNCUP_DISABLED_PEER tells of them.
    """
    known = {(queue.row.queue.peer_id, queue.row.queue.wals_of) for queue in queues}
    found: dict[tuple[str, str], UnreadWal] = {}
    for peer in cluster.peers:
        if peer.sync_replication_state == STANDBY:
            continue
        for source, offsets in _true_needs(cluster, peer.peer_id):
            for file, start in needed_wals(source, offsets, cluster.files.written_by(source)):
                if read.get((peer.peer_id, file.path), start + 1) <= start:
                    continue
                gap = UnreadReason.OUT_OF_REACH if (peer.peer_id, source) in known else UnreadReason.UNSEEN_ROW
                gap = UnreadReason.SPLITTING if file.directory.endswith(SPLITTING) else gap
                found[peer.peer_id, file.path] = UnreadWal(gap, peer.peer_id, file.path, max(file.length - start, 0))
    yield from (found[key] for key in sorted(found))


def _true_needs(cluster: SyncUpInput, peer_id: str) -> Iterator[tuple[ServerName, Mapping[str, GroupOffset]]]:
    """Yields source and offsets of each of the peer's true queues, and of each server without its own queue."""
    rows = cluster.rows if cluster.true_rows is None else cluster.true_rows
    own = [row for row in rows if row.queue.peer_id == peer_id]
    yield from ((row.queue.wals_of, row.offsets) for row in own)
    for server in sorted(cluster.directories - {row.queue.owner for row in own if row.queue.source is None}):
        yield server, {}


def _merged(rows: Sequence[MergedQueueRow]) -> dict[str, GroupOffset]:
    """Returns the smaller offset of each group; a group that one row lacks is needed whole, so it is left out."""
    groups = set.intersection(*(set(row.offsets) for row in rows))
    return {
        group: min((row.offsets[group] for row in rows), key=lambda offset: (offset.need, offset)) for group in groups
    }
