"""The shape of `findings.evidence`, by the name of the finding: which values it has, of which type.

docs/findings.md shows this table, and every finding that the tests produce is compared with it. The findings of the
split jobs are in `split_evidence.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EvidenceValue:
    """One value of the JSON object in `findings.evidence`.

    Attributes:
        kind: its JSON type, a key of `TYPES` in tests/conftest.py.
        meaning: what it says, for the page.
        always: whether every finding of this name has it.
        may_be_null: whether its value may be null.
    """

    kind: str
    meaning: str
    always: bool = True
    may_be_null: bool = False


_WAL = EvidenceValue("string", "the WAL of the offset")
_OFFSET = EvidenceValue("number", "the offset in it, bytes")
_REMOTE: Mapping[str, EvidenceValue] = {
    "kind": EvidenceValue("string", "what HBase uses the directory for"),
    "empty_files": EvidenceValue("number", "files without a byte"),
    "unfinished_files": EvidenceValue("number", "files that are still being written or copied"),
    "oldest_modification": EvidenceValue("string", "when the oldest file was changed, UTC", may_be_null=True),
    "state": EvidenceValue("string", "the peer's state of synchronous replication", may_be_null=True),
}

EVIDENCE: Mapping[str, Mapping[str, EvidenceValue]] = {
    "ORPHAN_QUEUE": {"cause": EvidenceValue("string", "`removed peer` or `dead owner`")},
    "DUPLICATE_QUEUE": {"queues": EvidenceValue("list of strings", "these queues")},
    "QUEUE_STALLED": {"nights_looked_at": EvidenceValue("number", "nights that were compared")},
    "QUEUE_TABLE_REWOUND": {
        "before": EvidenceValue("string", "the furthest known position, `WAL:offset`"),
        "now": EvidenceValue("string", "the position of this night, `WAL:offset`"),
        "stood": EvidenceValue("object", "the furthest known position: `need` (ms), `wal`, `offset`"),
    },
    "GROWTH": {"bytes_by_night": EvidenceValue("list of numbers", "bytes held for the peer, oldest night first")},
    "POISON_FILE": {"example": EvidenceValue("string", "one of the files")},
    "INVALID_NAME": {"example": EvidenceValue("string", "one of the files")},
    "CLOCK_SKEW": {"example": EvidenceValue("string", "one of the files")},
    "LEAKED_REP_WAL": {},
    "MISSING_WAL": {
        "wal": EvidenceValue("string", "the missing WAL", always=False),
        "offset": EvidenceValue("number", "the offset in it, bytes; from `reconcile`", always=False),
        "wals": EvidenceValue("list of strings", "at most ten missing WALs; from `audit-queues`", always=False),
    },
    "BEYOND_EOF": {
        "wal": _WAL,
        "offset": _OFFSET,
        "length": EvidenceValue("number", "length of the WAL, bytes; from `reconcile`", always=False),
    },
    "HEADERLESS_WAL": {
        "wal": EvidenceValue("string", "the WAL at the head of the queue"),
        "length": EvidenceValue("number", "its length, bytes", may_be_null=True),
    },
    "CORRUPT_WAL": {
        "wal": EvidenceValue("string", "the WAL at the head of the queue"),
        "good_end": EvidenceValue("number", "offset after its last whole entry", may_be_null=True),
    },
    "OFFSET_MID_ENTRY": {"wal": _WAL, "offset": _OFFSET},
    "UNWANTED_EDITS": {"entries": EvidenceValue("number", "entries that the queue still has to read")},
    "UNREADABLE_WAL": {"path": EvidenceValue("string", "the file, below the WAL root")},
    "ORPHAN_REMOTE_WALS": _REMOTE,
    "REMOTE_WALS_UNEXPECTED": _REMOTE,
    "REMOTE_WALS_PILE_UP": _REMOTE,
    "REMOTE_WALS_NOT_REPLAYED": _REMOTE,
    "SYNC_STATE_CHANGED": {
        "before": EvidenceValue("string", "state on the night before", may_be_null=True),
        "now": EvidenceValue("string", "state on this night", may_be_null=True),
    },
    "SYNC_DOWNGRADED": {"nights": EvidenceValue("number", "consecutive nights in this state")},
    "BACKUP_UNKNOWN": {},
    "BACKUP_BEHIND": {
        "backup_id": EvidenceValue("string", "the newest backup of the root"),
        "state": EvidenceValue("string", "its state"),
        "started_at": EvidenceValue("string", "when it was started, UTC"),
        "tables": EvidenceValue("object", "by table, up to when it is backed up, UTC"),
    },
    "SERIAL_STUCK": {
        "regions": EvidenceValue(
            "list of objects", "some waiting regions: `region`, `table`, `pushed`, `barrier`, `opened_at`"
        ),
        "queues": EvidenceValue("list of strings", "some of the stalled queues and groups"),
    },
    "ORPHAN_HFILE_REFS": {"references": EvidenceValue("number", "references to HFiles")},
    "LOST_WALS": {"wals": EvidenceValue("list of strings", "at most ten of the WALs")},
    "SUSPECT_QUEUE": {},
    "STALE_LOCK": {},
    "EMPTY_REPLICATOR": {},
    "CLAIM_OVERDUE": {"waited_ms": EvidenceValue("number", "since when the owner is dead at least, ms")},
    "MIGRATION_BLOCKED": {"cause": EvidenceValue("string", "why HBase throws on it", may_be_null=True)},
    "MIGRATION_COLLAPSED_QUEUES": {"znodes": EvidenceValue("object", "by znode, the offset that it has")},
    "MIGRATION_ENABLED_PEERS": {"peers": EvidenceValue("list of strings", "the peers")},
    "MIGRATION_DROPS": {"znodes": EvidenceValue("list of strings", "some of the znodes")},
    "MIGRATION_MISSING_WAL": {"znode": EvidenceValue("string", "the znode of the offset")},
    "MIGRATION_HALF_CLAIMED": {
        "queues": EvidenceValue("list of strings", "the queues that have the same WALs", always=False)
    },
    "MIGRATION_UNSETTLED": {},
    "MIGRATION_DIFFERENCE": {
        "rule": EvidenceValue("string", "the rule of `verify-migration`"),
        "examples": EvidenceValue("list of strings", "some of the cells, peers or flags"),
    },
    "SYNCUP_LEFTOVER": {"servers": EvidenceValue("list of strings", "at most ten of the servers")},
    "SYNCUP_DISABLED_PEER": {"queues": EvidenceValue("number", "queues of the peer")},
    "SYNCUP_WAL_UNFOUND": {
        "queues": EvidenceValue("number", "queues that the tool never ends with"),
        "wals": EvidenceValue("list of strings", "at most ten of the WALs to copy, below the WAL root"),
    },
    "SYNCUP_EMPTY_QUEUE": {},
    "SYNCUP_TWO_FILE_SYSTEMS": {
        "root": EvidenceValue("string", "`hbase.rootdir`", may_be_null=True),
        "wal_root": EvidenceValue("string", "`hbase.wal.dir`"),
    },
    "SYNCUP_STALENESS_UNKNOWN": {},
    "SYNCUP_FLAG_STAYS": {"servers": EvidenceValue("list of strings", "at most ten of the servers")},
    "SYNCUP_STALE_OFFSETS": {"columns": EvidenceValue("number", "offsets that are newer than the last flush")},
    "SYNCUP_REMOVED_PEER": {},
    "LEFTOVER_WAL_DIRECTORY": {"entries": EvidenceValue("number", "entries of the directory")},
    "CLEANER_NOT_RUNNING": {
        "cause": EvidenceValue("string", "the cause, as far as it is known"),
        "reasons": EvidenceValue("list of strings", "reasons of walsafe's verdicts on these files"),
    },
    "FOREIGN_CLEANER": {},
    "ADD_PEER_RUNNING": {},
    "CLUSTER_MOVED": {},
}
"""The values by the finding's name; `{}` = the message says all."""
