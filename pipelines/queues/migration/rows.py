"""Plan and verification as values: the rows of their tables.

The field names are the columns of the tables (schemas/; a test holds the two equal).
"""

from dataclasses import dataclass
from enum import Enum

PLAN_SUFFIX, VERIFY_SUFFIX = "-plan-migration", "-verify-migration"
"""Run ids end so: rows in shared tables are no part of a night of reconcile."""
LEGACY_PEER = "region_replica_replication"
LEGACY_ENDPOINT = "org.apache.hadoop.hbase.replication.regionserver.RegionReplicaReplicationEndpoint"
"""The peer of asynchronous region replicas before HBase 3, which neither loads nor migrates it (HBASE-26233)."""


class Family(str, Enum):
    """Column families of `hbase:replication`."""

    QUEUE = "queue"
    SEQUENCE_ID = "sid"
    HFILE_REF = "hfileref"


class Action(str, Enum):
    """What becomes of something in ZooKeeper."""

    WRITE = "WRITE"
    DROP = "DROP"
    BLOCK = "BLOCK"
    """HBase throws on it, and tries again for ever."""


class Why(str, Enum):
    """Why it is dropped, blocks, or may not be what is written."""

    UNKNOWN_PEER = "UNKNOWN_PEER"
    LEGACY_PEER = "LEGACY_PEER"
    EMPTY_QUEUE = "EMPTY_QUEUE"
    INVALID_WAL_NAME = "INVALID_WAL_NAME"
    WAL_TIMESTAMP = "WAL_TIMESTAMP"
    UNREADABLE_POSITION = "UNREADABLE_POSITION"
    COLLAPSED = "COLLAPSED"
    SAME_TIMESTAMP = "SAME_TIMESTAMP"


@dataclass(frozen=True, slots=True)
class MigrationRow:
    """A row of `migration_rows`: one cell that would be written, or one thing that is not.

    Attributes:
        znode: below the znode of replication.
        row: key in `hbase:replication`, also of what is dropped.
        qualifier: WAL group, encoded region, or HFile.
        value: `<wal>:<position>`, the sequence id, or empty.
        wals: of this group in the znode.
        bytes: their sum as listed.
        wal_listed: the listing has the WAL of `value`; None = there is none.
    """

    family: str
    action: str
    reason: str | None
    peer_id: str
    owner: str | None
    source: str | None
    znode: str
    row: str
    qualifier: str | None
    value: str | None
    wals: int | None = None
    bytes: int | None = None
    wal_listed: bool | None = None


class Rule(str, Enum):
    """What must hold after the migration (docs/migration.md)."""

    MIGRATION_ENDED = "MIGRATION_ENDED"
    ZNODES_GONE = "ZNODES_GONE"
    ROW_WRITTEN = "ROW_WRITTEN"
    OFFSET_EQUAL = "OFFSET_EQUAL"
    NO_EXTRA_ROW = "NO_EXTRA_ROW"
    NO_UNKNOWN_PEER = "NO_UNKNOWN_PEER"
    SEQUENCE_ID_EQUAL = "SEQUENCE_ID_EQUAL"
    HFILE_REF_EQUAL = "HFILE_REF_EQUAL"
    WAL_EXISTS = "WAL_EXISTS"
    PEER_AS_BEFORE = "PEER_AS_BEFORE"
    PEER_ID_PLAIN = "PEER_ID_PLAIN"


class Answer(str, Enum):
    """What a check of a rule found."""

    SAME = "SAME"
    CLAIMED = "CLAIMED"
    """The same, in the row of another server, which has claimed the queue since."""
    AHEAD = "AHEAD"
    BEHIND = "BEHIND"
    MISSING = "MISSING"
    EXTRA = "EXTRA"
    PLACEHOLDER = "PLACEHOLDER"
    """A row of a crash procedure that asks for everything."""
    NEW = "NEW"
    """Of a server or a peer that there was not yet when ZooKeeper was captured."""
    UNKNOWN = "UNKNOWN"
    DIFFERENT = "DIFFERENT"


@dataclass(frozen=True, slots=True)
class MigrationCheck:
    """A row of `migration_checks`: one rule, asked of one cell, peer or flag.

    Attributes:
        severity: error, warning, info; None = the rule holds.
        subject: row key, peer, or WAL.
        qualifier: WAL group, encoded region, or HFile.
        expected: as ZooKeeper had it.
        found: as the table has it.
    """

    rule: str
    answer: str
    severity: str | None
    peer_id: str | None
    subject: str
    qualifier: str | None = None
    expected: str | None = None
    found: str | None = None
