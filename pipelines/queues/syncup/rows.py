"""Rows of the tables of `plan-syncup`.

Field names equal the column names of the tables in `schemas/`; a test compares them.
"""

from dataclasses import dataclass
from enum import StrEnum

PLAN_SUFFIX = "-syncup"
"""Suffix of the run ids of plans, which separates their rows in shared tables from those of reconcile."""


class SyncUpAction(StrEnum):
    """What ReplicationSyncUp does with one queue."""

    SHIP = "SHIP"
    """It reads the WALs and ships what the peer wants."""
    WAITS = "WAITS"
    """It waits forever: the peer is disabled, or there is no WAL to read."""
    REMOVED_PEER = "REMOVED_PEER"
    """Nothing: the peer does not exist."""
    STANDBY = "STANDBY"
    """It drops the queue: the peer of synchronous replication is STANDBY."""
    MOVES = "MOVES"
    """HBase 2: it moves the queue to a server name of its own and ships nothing: the peer is disabled."""
    EMPTY = "EMPTY"
    """HBase 2: it deletes the queue, which has no WAL."""


class SyncUpContent(StrEnum):
    """How ReplicationSyncUp treats a WAL of a queue."""

    EDITS = "EDITS"
    """It reads the WAL from `start` to its end."""
    QUEUE_TABLE = "QUEUE_TABLE"
    """A WAL of hbase:replication itself: it reads the WAL and sends nothing of it."""
    MISSING = "MISSING"
    """The WAL of an offset, or HBase 2: a WAL of the queue; no directory has it."""
    NOT_READ = "NOT_READ"
    """The peer is disabled or STANDBY. HBase 2 also: it is where the tool does not look, or behind such a WAL."""


@dataclass(frozen=True, slots=True)
class SyncUpWalRow:
    """A row of `syncup_wals`; bytes."""

    queue: str
    peer_id: str
    source: str
    wal_group: str
    position: int
    wal: str
    path: str | None
    content: str
    length: int | None
    start: int | None
    bytes: int


@dataclass(frozen=True, slots=True)
class SyncUpQueueRow:
    """A row of `syncup_queues`; bytes."""

    queue: str
    peer_id: str
    peer_state: str | None
    owner: str
    source: str
    is_placeholder: bool
    action: str
    reason: str | None
    wal_groups: int
    files: int
    bytes: int
    first_path: str | None
    first_start: int | None
    missing_files: int
    is_stale: bool | None
    resent_bytes: int | None


@dataclass(frozen=True, slots=True)
class SyncUpPeerRow:
    """A row of `syncup_peers`; bytes."""

    peer_id: str
    peer_state: str | None
    cluster_key: str | None
    queues: int
    files: int
    bytes: int
    resent_bytes: int | None
    hfile_refs: int
    last_sequence_ids: int
