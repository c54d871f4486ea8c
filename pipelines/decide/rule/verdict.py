"""The rule: decides which files of oldWALs are deletable, and what holds the others.

This is the specification: `decide` has the order in which the rule asks. What the queues need comes last and differs by
their storage: `table_rule` for `hbase:replication`, `zookeeper_rule` for ZooKeeper. The Spark form
(`pipelines.decide.spark.verdicts`) looks up its answers in a table that these functions compute, and a property test
checks that the two are equal.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import FileKind, WalName, file_kind, parse_wal_name


class Verdict(StrEnum):
    """Whether a file can be deleted."""

    DELETABLE = "DELETABLE"
    HELD = "HELD"


class Reason(StrEnum):
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


class Holder(NamedTuple):
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
    early = _before_queues(file, view)
    return view.storage.decide(view, file) if early is None else early


def _before_queues(file: ArchivedFile, view: ClusterView) -> Decision | None:
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
    queued = file.name in view.queued.queues_of
    if kind is FileKind.PROCEDURE_WAL:
        return None if queued else deletable(Reason.PROCEDURE_WAL)
    if kind is FileKind.MASTER_LOCAL_WAL:
        return None if queued else deletable(Reason.MASTER_LOCAL_WAL)
    if view.backup.enabled and not _backed_up(parse_wal_name(file.name), view):
        return held(Reason.BACKUP)
    return None if view.peer_ids or not view.storage.asks_peers else deletable(Reason.NO_PEERS)


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
