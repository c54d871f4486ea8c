"""Rows of the tables of plan-migration and verify-migration.

Field names equal the column names of the tables in `schemas/`; a test compares them.
"""

from dataclasses import dataclass
from enum import StrEnum

PLAN_SUFFIX, VERIFY_SUFFIX = "-plan-migration", "-verify-migration"
"""Suffixes of run ids, which separate their rows in shared tables from those of reconcile."""
LEGACY_PEER = "region_replica_replication"
LEGACY_ENDPOINT = "org.apache.hadoop.hbase.replication.regionserver.RegionReplicaReplicationEndpoint"
"""The peer of asynchronous region replicas before HBase 3. HBase 3 neither loads nor migrates it (HBASE-26233)."""


class Family(StrEnum):
    """Column families of `hbase:replication`."""

    QUEUE = "queue"
    SEQUENCE_ID = "sid"
    HFILE_REF = "hfileref"


class MigrationAction(StrEnum):
    """What the migration does with an item in ZooKeeper."""

    WRITE = "WRITE"
    DROP = "DROP"
    BLOCK = "BLOCK"
    """HBase throws on it and retries forever."""


class MigrationReason(StrEnum):
    """Why an item is dropped or blocks, or why another value may be written."""

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
    """A row of `migration_rows`: one cell that would be written, or one item that is not.

    Attributes:
        znode: path below the replication znode.
        row: row key in `hbase:replication`, also for dropped items.
        qualifier: WAL group, encoded region, or HFile.
        value: `<wal>:<position>`, the sequence id, or empty.
        wals: number of WALs of this group in the znode.
        bytes: their sum as listed.
        wal_listed: whether the listing has the WAL of `value`; None = `value` names no WAL, or one that may have been
            created after the listing began.
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


class MigrationRule(StrEnum):
    """Rules that must be true after the migration (docs/migration.md)."""

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


class CheckAnswer(StrEnum):
    """The result of checking a rule."""

    SAME = "SAME"
    CLAIMED = "CLAIMED"
    """The same offset, in the row of another server, which has claimed the queue since."""
    AHEAD = "AHEAD"
    BEHIND = "BEHIND"
    MISSING = "MISSING"
    EXTRA = "EXTRA"
    PLACEHOLDER = "PLACEHOLDER"
    """A row written by a crash procedure, which makes the peer read every WAL, or what it has become since."""
    NEW = "NEW"
    """Of a server or peer that did not exist when ZooKeeper was captured."""
    UNKNOWN = "UNKNOWN"
    DIFFERENT = "DIFFERENT"


@dataclass(frozen=True, slots=True)
class MigrationCheck:
    """A row of `migration_checks`: one rule, checked for one cell, peer or flag.

    Attributes:
        severity: error, warning, info; None = the rule is true.
        subject: row key, peer, or flag.
        qualifier: WAL group, encoded region, or HFile.
        expected: as in ZooKeeper.
        found: as in the table.
    """

    rule: str
    answer: str
    severity: str | None
    peer_id: str | None
    subject: str
    qualifier: str | None = None
    expected: str | None = None
    found: str | None = None
