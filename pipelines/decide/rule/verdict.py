"""The rule: decides which files of oldWALs are deletable, and what holds the others.

This is the specification. The Spark form (`pipelines.decide.spark.verdicts`) looks up its answers in a table that these
functions compute, and a property test checks that the two are equal.
"""

from dataclasses import dataclass
from enum import Enum

from pipelines.decide.rule.cluster_view import ClusterView, MergedQueueRow
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import FileKind, WalName, file_kind, is_replication_table_group, parse_wal_name
from pipelines.hbase.zookeeper.queued_wals import QueuedWals


class Verdict(str, Enum):
    """Whether a file can be deleted."""

    DELETABLE = "DELETABLE"
    HELD = "HELD"


class Reason(str, Enum):
    """Why a file has its verdict; in the order in which the rule checks."""

    SNAPSHOT_UNTRUSTED = "SNAPSHOT_UNTRUSTED"
    ADD_PEER_RUNNING = "ADD_PEER_RUNNING"
    INVALID_NAME = "INVALID_NAME"
    FUTURE_TIMESTAMP = "FUTURE_TIMESTAMP"
    TOO_YOUNG = "TOO_YOUNG"
    FOREIGN_CLEANER = "FOREIGN_CLEANER"
    PROCEDURE_WAL = "PROCEDURE_WAL"
    MASTER_LOCAL_WAL = "MASTER_LOCAL_WAL"
    BACKUP = "BACKUP"
    NO_PEERS = "NO_PEERS"
    META_WAL = "META_WAL"
    POISON_NAME = "POISON_NAME"
    REPLICATION_TABLE_WAL = "REPLICATION_TABLE_WAL"
    CLUSTER_MOVED = "CLUSTER_MOVED"
    LEFTOVER_WAL_DIR = "LEFTOVER_WAL_DIR"
    QUEUE_MISSING = "QUEUE_MISSING"
    PENDING = "PENDING"
    REPLICATED = "REPLICATED"
    DEAD_NO_QUEUE = "DEAD_NO_QUEUE"
    NOT_QUEUED = "NOT_QUEUED"
    QUEUE_READ_TOO_OLD = "QUEUE_READ_TOO_OLD"
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True, slots=True)
class Holder:
    """One (peer, queue row) that may still need the file; for a missing queue, owner, wal and offset are None."""

    peer_id: str
    owner: ServerName | None
    source: ServerName | None
    wal: str | None
    offset: int | None


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """One file below oldWALs. `path` is relative to wal_root, `modification_time` is in ms, `length` in bytes."""

    path: str
    length: int
    modification_time: int

    @property
    def name(self) -> str:
        """The last element of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on one file, with its reason and all its holders."""

    verdict: Verdict
    reason: Reason
    blocking: tuple[Holder, ...] = ()


def held(reason: Reason, blocking: tuple[Holder, ...] = ()) -> Decision:
    """Returns HELD with a reason and its holders."""
    return Decision(Verdict.HELD, reason, blocking)


def deletable(reason: Reason) -> Decision:
    """Returns DELETABLE with a reason; it never has holders."""
    return Decision(Verdict.DELETABLE, reason)


def decide(file: ArchivedFile, view: ClusterView) -> Decision:
    """Decides one file; the first rule that applies decides.

    Guarantees that no file which a peer may still need is DELETABLE, given a capture in `CAPTURE_ORDER`.
    """
    early = _before_replication(file, view)
    if early is not None:
        return early
    if view.queued is not None:
        return decide_by_name(view, view.queued, file.name, file.modification_time)
    wal = parse_wal_name(file.name)
    if wal is None:
        return held(Reason.UNDECIDED)
    if wal.is_meta:
        return deletable(Reason.META_WAL)
    if wal.server is None or wal.timestamp is None:
        return held(Reason.POISON_NAME)
    return decide_replication(view, wal.server, wal.group, wal.timestamp)


def _before_replication(file: ArchivedFile, view: ClusterView) -> Decision | None:
    if view.untrusted is not None:
        return held(Reason.SNAPSHOT_UNTRUSTED)
    if view.add_peer_running:
        return held(Reason.ADD_PEER_RUNNING)
    kind = file_kind(file.name)
    if kind is FileKind.INVALID:
        return held(Reason.INVALID_NAME)
    if file.modification_time > view.files_finished:
        return held(Reason.FUTURE_TIMESTAMP)
    if view.files_started - file.modification_time <= time_to_live(view, kind):
        return held(Reason.TOO_YOUNG)
    if view.foreign_cleaner is not None:
        return held(Reason.FOREIGN_CLEANER)
    # no queue ever contains a file of the next two kinds; still, a file that is in a queue is HELD whatever its name
    queued = view.queued is not None and file.name in view.queued.queues_of
    if kind is FileKind.PROCEDURE_WAL and not queued:
        return deletable(Reason.PROCEDURE_WAL)
    if kind is FileKind.MASTER_LOCAL_WAL and not queued:
        return deletable(Reason.MASTER_LOCAL_WAL)
    if view.backup.enabled and not _backed_up(parse_wal_name(file.name), view):
        return held(Reason.BACKUP)
    return None if view.peer_ids or view.queued is not None else deletable(Reason.NO_PEERS)


def time_to_live(view: ClusterView, kind: FileKind) -> int:
    """Returns the TTL of a kind of file in oldWALs, ms."""
    if kind is FileKind.PROCEDURE_WAL:
        return view.retention.procedure_wal_ttl_ms
    if kind is FileKind.MASTER_LOCAL_WAL:
        return view.retention.master_local_wal_ttl_ms
    return view.retention.wal_ttl_ms


def _backed_up(wal: WalName | None, view: ClusterView) -> bool:
    if wal is None or wal.server is None or wal.timestamp is None:
        return False
    boundary = view.backup.boundary(wal.server.address)
    return boundary is not None and wal.timestamp <= boundary


def decide_by_name(view: ClusterView, queued: QueuedWals, name: str, modification_time: int) -> Decision:
    """Decides a file by the queues in ZooKeeper, where every WAL of a queue is a separate znode.

    The cleaner of HBase 1.x and 2.x also compares exact names and ignores the peer. So a queue of a removed peer holds
    its files too, and a name that the table's rule cannot parse is compared like any other.
    """
    queues = queued.queues_of.get(name)
    if queues:
        return held(Reason.PENDING, tuple(queued_holder(queue, name, position) for queue, position in queues))
    if view.restless is not None:
        return held(Reason.CLUSTER_MOVED)
    if modification_time < queued.read_from:
        return deletable(Reason.NOT_QUEUED)
    return held(Reason.QUEUE_READ_TOO_OLD)


def queued_holder(queue: QueueId, wal: str | None, position: int | None) -> Holder:
    """Returns a queue in ZooKeeper as a holder."""
    return Holder(queue.peer_id, queue.owner, queue.wals_of, wal, position)


def decide_replication(view: ClusterView, server: ServerName, group: str, timestamp: int) -> Decision:
    """Decides a WAL by the queue rows; at least one peer exists.

    For one (server, group), the answer changes only where `timestamp` passes a row's need, which makes the fast form
    possible.
    """
    alive = server in view.not_fully_dead
    source_rows = view.rows_of_source.get(server, ())
    if alive and is_replication_table_group(group, server) and not any(group in row.offsets for row in source_rows):
        released = view.release.replication_table_wals
        return deletable(Reason.REPLICATION_TABLE_WAL) if released else held(Reason.REPLICATION_TABLE_WAL)
    missing = tuple(peer for peer in view.peer_ids if not view.queues(peer, server))
    if missing and not alive and view.restless is not None:
        return held(Reason.CLUSTER_MOVED, _without_queue(missing, server))
    if missing and alive and server not in view.online and server not in view.crashing:
        return held(Reason.LEFTOVER_WAL_DIR, _without_queue(missing, server))
    needing = tuple(
        _holder(row, server, group)
        for peer in view.peer_ids
        for row in view.queues(peer, server)
        if timestamp >= row.need(group)
    )
    ungrouped = any(
        rows and not any(group in row.offsets for row in rows)
        for rows in (view.queues(peer, server) for peer in view.peer_ids)
    )
    if alive and (missing or ungrouped):
        return held(Reason.QUEUE_MISSING, _sorted(needing + _without_queue(missing, server)))
    if needing:
        return held(Reason.PENDING, _sorted(needing))
    if len(missing) < len(view.peer_ids):
        return deletable(Reason.REPLICATED)
    if not alive:
        return deletable(Reason.DEAD_NO_QUEUE)
    return held(Reason.UNDECIDED)


def _holder(row: MergedQueueRow, source: ServerName, group: str) -> Holder:
    offset = row.offsets.get(group)
    return Holder(
        row.queue.peer_id, row.queue.owner, source, offset.wal if offset else None, offset.offset if offset else None
    )


def _without_queue(peers: tuple[str, ...], source: ServerName) -> tuple[Holder, ...]:
    return tuple(Holder(peer, None, source, None, None) for peer in peers)


def _sorted(holders: tuple[Holder, ...]) -> tuple[Holder, ...]:
    return tuple(sorted(holders, key=lambda holder: (holder.peer_id, str(holder.owner or ""), str(holder.source))))
