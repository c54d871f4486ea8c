"""What `plan-syncup` says: the rows of its tables as values.

The field names are the columns of the tables (schemas/; a test holds the two equal).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum

from pipelines.lake.run_summary import RunKey

PLAN_SUFFIX = "-syncup"
"""Run ids of plans end so: their rows in shared tables are no part of a night of reconcile."""


class Action(str, Enum):
    """What ReplicationSyncUp does with one queue."""

    SHIP = "SHIP"
    """It reads its WALs and ships what its peer wants."""
    WAITS = "WAITS"
    """It waits for ever: the peer is disabled, or there is no WAL to read."""
    REMOVED_PEER = "REMOVED_PEER"
    """Nothing: the peer does not exist."""
    STANDBY = "STANDBY"
    """It drops the queue: the peer of synchronous replication is STANDBY."""


class Content(str, Enum):
    """What a WAL of a queue is to ReplicationSyncUp."""

    EDITS = "EDITS"
    """Read from `start` to its end."""
    QUEUE_TABLE = "QUEUE_TABLE"
    """A WAL of hbase:replication itself: read, and nothing of it is sent."""
    MISSING = "MISSING"
    """The offset's WAL, which is nowhere."""


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


def plan_row(key: RunKey, row: SyncUpQueueRow | SyncUpWalRow | SyncUpPeerRow) -> Mapping[str, object]:
    """The row with its identity columns, by column name: what a table sink takes."""
    return {"cluster": key.cluster, "run_id": key.run_id, "run_date": key.run_date, **asdict(row)}
