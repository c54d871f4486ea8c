"""Says which findings pause the clean-up, and why; docs/findings.md names those that do.

A finding pauses the clean-up if continuing may lose data: it says that the queue rows, by which both looks of the
clean-up decide, may not be what HBase wrote. Where the files are held anyway, a pause would only fill the disk.
"""

from collections.abc import Mapping

PAUSES: Mapping[str, str] = {
    "QUEUE_TABLE_REWOUND": (
        "if some rows were set back, other rows may be missing, and a queue without a row looks finished"
    ),
    "BEYOND_EOF": (
        "HBase writes no such offset, so row or file was replaced, and nobody knows what the queue has shipped"
    ),
}
"""`clean` and `purge` refuse while such a finding is open and not acknowledged. The values say why."""

_HELD_BY_QUEUE = "walsafe holds the WALs of this queue as long as the queue needs them"
_NEVER_TOUCHED = "the clean-up never touches `remoteWALs/`"
_READ_AS_IT_IS = "walsafe reads the peer's queues as they are now; in every state they hold what they need"
_MIGRATION = (
    "this is about the planned migration, not about today's queues; while a migration is pending, walsafe refuses "
    "every snapshot"
)
_SYNC_UP = "this is about a cluster that is down; the clean-up works only on a live cluster"

GOES_ON: Mapping[str, str] = {
    # replication queues
    "ORPHAN_QUEUE": (
        "the row holds its WALs as any other does; in `hbase:replication`, a row of a removed peer holds none"
    ),
    "DUPLICATE_QUEUE": "the smaller need of its rows counts",
    "QUEUE_STALLED": _HELD_BY_QUEUE,
    "GROWTH": "walsafe holds these bytes, however many they are",
    # files
    "POISON_FILE": "the file itself is held, and no verdict on another one depends on it",
    "INVALID_NAME": "these files are not WALs, so no queue can need them",
    "CLOCK_SKEW": "such files are held, and a NameNode that is ahead makes the others look younger",
    "LEAKED_REP_WAL": "no peer wants these WALs, and they are listed only if you say so",
    "MISSING_WAL": "the row holds that WAL and all later ones of its group, below oldWALs and in the quarantine alike",
    # inside the WALs
    "HEADERLESS_WAL": _HELD_BY_QUEUE,
    "CORRUPT_WAL": _HELD_BY_QUEUE,
    "OFFSET_MID_ENTRY": "only `inspect-wals` raises it, and the clean-up considers only findings of `reconcile`",
    "UNWANTED_EDITS": _HELD_BY_QUEUE,
    "UNREADABLE_WAL": "no verdict depends on the content of a WAL",
    # synchronous replication
    "ORPHAN_REMOTE_WALS": _NEVER_TOUCHED,
    "REMOTE_WALS_UNEXPECTED": _NEVER_TOUCHED,
    "REMOTE_WALS_PILE_UP": _NEVER_TOUCHED,
    "REMOTE_WALS_NOT_REPLAYED": _NEVER_TOUCHED,
    "SYNC_STATE_CHANGED": _READ_AS_IT_IS,
    "SYNC_DOWNGRADED": _READ_AS_IT_IS,
    # HBase backup, serial peers and bulk-loaded HFiles
    "BACKUP_UNKNOWN": "every WAL past its TTL is held for it",
    "BACKUP_BEHIND": "the WALs that a backup still needs are held",
    "SERIAL_STUCK": _HELD_BY_QUEUE,
    "ORPHAN_HFILE_REFS": "the clean-up touches no HFile",
    # audits of queues
    "LOST_WALS": "these WALs are gone already, and the queue holds what is left of them",
    "SUSPECT_QUEUE": "the smaller need of its rows counts",
    "STALE_LOCK": "a lock prevents the claim of these queues, but they still hold their WALs",
    "EMPTY_REPLICATOR": "there is no queue in it",
    "CLAIM_OVERDUE": "the row of the queue still exists and holds its WALs",
    # the migration to HBase 3
    "MIGRATION_BLOCKED": _MIGRATION,
    "MIGRATION_COLLAPSED_QUEUES": _MIGRATION,
    "MIGRATION_ENABLED_PEERS": _MIGRATION,
    "MIGRATION_DROPS": _MIGRATION,
    "MIGRATION_MISSING_WAL": _MIGRATION,
    "MIGRATION_HALF_CLAIMED": _MIGRATION,
    "MIGRATION_UNSETTLED": _MIGRATION,
    "MIGRATION_DIFFERENCE": "a person reads it before the upgrade goes on, with the jobs of the night off",
    # sync-up
    "SYNCUP_LEFTOVER": _SYNC_UP,
    "SYNCUP_DISABLED_PEER": _SYNC_UP,
    "SYNCUP_WAL_UNFOUND": _SYNC_UP,
    "SYNCUP_EMPTY_QUEUE": _SYNC_UP,
    "SYNCUP_TWO_FILE_SYSTEMS": _SYNC_UP,
    "SYNCUP_STALENESS_UNKNOWN": _SYNC_UP,
    "SYNCUP_FLAG_STAYS": _SYNC_UP,
    "SYNCUP_STALE_OFFSETS": _SYNC_UP,
    "SYNCUP_REMOVED_PEER": _SYNC_UP,
    # directories and the cluster
    "LEFTOVER_WAL_DIRECTORY": "WALs of that server that a peer without a queue may need are held",
    "CLEANER_NOT_RUNNING": "the clean-up exists for this case",
    "FOREIGN_CLEANER": "everything past its TTL is held",
    "ADD_PEER_RUNNING": "everything is held, and the second look stops while a peer is added",
    "CLUSTER_MOVED": "files of dead servers are held, and the second look stops while the cluster moves",
}
"""The other findings, and why the clean-up need not wait for them."""


def pauses_clean_up(code: str) -> bool:
    """Whether the clean-up waits while a finding of this code is open; it does if nobody has judged the code."""
    return code not in GOES_ON
