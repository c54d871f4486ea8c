"""Defines which findings pause the clean-up, and why; docs/findings.md names those that do.

A finding pauses the clean-up if continuing may lose data: it says that the queue rows, by which both looks of the
clean-up decide, may not be what HBase wrote. Where the files are held anyway, a pause would only fill the disk.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PauseRule:
    """The effect of a finding on the clean-up.

    Attributes:
        pauses: `clean` and `purge` refuse while the finding is open and not acknowledged.
        why: one sentence, without its full stop.
    """

    pauses: bool
    why: str


def _pauses(why: str) -> PauseRule:
    return PauseRule(pauses=True, why=why)


def _goes_on(why: str) -> PauseRule:
    return PauseRule(pauses=False, why=why)


_HELD_BY_QUEUE = "walsafe holds the WALs of this queue as long as the queue needs them"
_NEVER_TOUCHED = "the clean-up never touches `remoteWALs/`"
_READ_AS_IT_IS = "walsafe reads the peer's queues as they are now; in every state they hold what they need"
_MIGRATION = (
    "this is about the planned migration, not about today's queues; while a migration is pending, walsafe refuses "
    "every snapshot"
)
_SYNC_UP = "this is about a cluster that is down; the clean-up works only on a live cluster"

PAUSE_RULES: Mapping[str, PauseRule] = {
    "QUEUE_TABLE_REWOUND": _pauses(
        "if some rows were set back, other rows may be missing, and a queue without a row looks finished"
    ),
    "BEYOND_EOF": _pauses(
        "HBase writes no such offset, so row or file was replaced, and nobody knows what the queue has shipped"
    ),
    # replication queues
    "ORPHAN_QUEUE": _goes_on(
        "the row holds its WALs as any other does; in `hbase:replication`, a row of a removed peer holds none"
    ),
    "DUPLICATE_QUEUE": _goes_on("the smaller need of its rows counts"),
    "QUEUE_STALLED": _goes_on(_HELD_BY_QUEUE),
    "GROWTH": _goes_on("walsafe holds these bytes, however many they are"),
    # files
    "POISON_FILE": _goes_on("the file itself is held, and no verdict on another one depends on it"),
    "INVALID_NAME": _goes_on("these files are not WALs, so no queue can need them"),
    "CLOCK_SKEW": _goes_on("such files are held, and a NameNode that is ahead makes the others look younger"),
    "LEAKED_REP_WAL": _goes_on("no peer wants these WALs, and they are listed only if you say so"),
    "MISSING_WAL": _goes_on(
        "the row holds that WAL and all later ones of its group, below oldWALs and in the quarantine alike"
    ),
    # inside the WALs
    "HEADERLESS_WAL": _goes_on(_HELD_BY_QUEUE),
    "CORRUPT_WAL": _goes_on(_HELD_BY_QUEUE),
    "OFFSET_MID_ENTRY": _goes_on(
        "only `inspect-wals` raises it, and the clean-up considers only findings of `reconcile`"
    ),
    "UNWANTED_EDITS": _goes_on(_HELD_BY_QUEUE),
    "UNREADABLE_WAL": _goes_on("no verdict depends on the content of a WAL"),
    # synchronous replication
    "ORPHAN_REMOTE_WALS": _goes_on(_NEVER_TOUCHED),
    "REMOTE_WALS_UNEXPECTED": _goes_on(_NEVER_TOUCHED),
    "REMOTE_WALS_PILE_UP": _goes_on(_NEVER_TOUCHED),
    "REMOTE_WALS_NOT_REPLAYED": _goes_on(_NEVER_TOUCHED),
    "SYNC_STATE_CHANGED": _goes_on(_READ_AS_IT_IS),
    "SYNC_DOWNGRADED": _goes_on(_READ_AS_IT_IS),
    # HBase backup, serial peers and bulk-loaded HFiles
    "BACKUP_UNKNOWN": _goes_on("every WAL past its TTL is held for it"),
    "BACKUP_BEHIND": _goes_on("the WALs that a backup still needs are held"),
    "SERIAL_STUCK": _goes_on(_HELD_BY_QUEUE),
    "ORPHAN_HFILE_REFS": _goes_on("the clean-up touches no HFile"),
    # audits of queues
    "LOST_WALS": _goes_on("these WALs are gone already, and the queue holds what is left of them"),
    "SUSPECT_QUEUE": _goes_on("the smaller need of its rows counts"),
    "STALE_LOCK": _goes_on("a lock prevents the claim of these queues, but they still hold their WALs"),
    "EMPTY_REPLICATOR": _goes_on("there is no queue in it"),
    "CLAIM_OVERDUE": _goes_on("the row of the queue still exists and holds its WALs"),
    # the migration to HBase 3
    "MIGRATION_BLOCKED": _goes_on(_MIGRATION),
    "MIGRATION_COLLAPSED_QUEUES": _goes_on(_MIGRATION),
    "MIGRATION_ENABLED_PEERS": _goes_on(_MIGRATION),
    "MIGRATION_DROPS": _goes_on(_MIGRATION),
    "MIGRATION_MISSING_WAL": _goes_on(_MIGRATION),
    "MIGRATION_HALF_CLAIMED": _goes_on(_MIGRATION),
    "MIGRATION_UNSETTLED": _goes_on(_MIGRATION),
    "MIGRATION_DIFFERENCE": _goes_on("a person reads it before the upgrade goes on, with the jobs of the night off"),
    # sync-up
    "SYNCUP_LEFTOVER": _goes_on(_SYNC_UP),
    "SYNCUP_DISABLED_PEER": _goes_on(_SYNC_UP),
    "SYNCUP_WAL_UNFOUND": _goes_on(_SYNC_UP),
    "SYNCUP_EMPTY_QUEUE": _goes_on(_SYNC_UP),
    "SYNCUP_TWO_FILE_SYSTEMS": _goes_on(_SYNC_UP),
    "SYNCUP_STALENESS_UNKNOWN": _goes_on(_SYNC_UP),
    "SYNCUP_FLAG_STAYS": _goes_on(_SYNC_UP),
    "SYNCUP_STALE_OFFSETS": _goes_on(_SYNC_UP),
    "SYNCUP_REMOVED_PEER": _goes_on(_SYNC_UP),
    # directories and the cluster
    "LEFTOVER_WAL_DIRECTORY": _goes_on("WALs of that server that a peer without a queue may need are held"),
    "CLEANER_NOT_RUNNING": _goes_on("the clean-up exists for this case"),
    "FOREIGN_CLEANER": _goes_on("everything past its TTL is held"),
    "ADD_PEER_RUNNING": _goes_on("everything is held, and the second look stops while a peer is added"),
    "CLUSTER_MOVED": _goes_on("files of dead servers are held, and the second look stops while the cluster moves"),
}
"""By code. A code that is missing here pauses the clean-up, because its effect has not been judged."""


def pauses_clean_up(code: str) -> bool:
    """Whether the clean-up waits while a finding of this code is open."""
    ruling = PAUSE_RULES.get(code)
    return ruling is None or ruling.pauses
