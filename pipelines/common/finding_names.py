"""The findings on queues and WALs: the name of each, with its meaning for people in one sentence.

A name is the `code` of table `findings`. docs/conditions.md is generated from this table and from the table of refusals
(conditions.py); docs/findings.md explains each finding at length, with its remedy. A finding of a split is named SPLIT_
and the rule's name (docs/split-rules.md).
"""

from collections.abc import Mapping

FINDINGS: Mapping[str, str] = {
    # replication queues
    "ORPHAN_QUEUE": "A queue that nobody will ever ship: its peer does not exist, or its owner is fully dead.",
    "DUPLICATE_QUEUE": "One peer has several rows for the WALs of one server.",
    "QUEUE_STALLED": "An offset has not moved for `findings.stalled_nights` nights, with files waiting all the while.",
    "QUEUE_TABLE_REWOUND": "An offset is behind a position at which walsafe has seen the queue before.",
    "GROWTH": "The bytes held for a peer have risen on each of the last `findings.growth_nights` nights.",
    # files
    "POISON_FILE": "HBase's cleaner throws on the name of a file, and skips that whole directory each time.",
    "INVALID_NAME": (
        "There are files below `oldWALs` that are not WALs; HBase deletes them without waiting for any TTL."
    ),
    "CLOCK_SKEW": "Files were modified after the end of the listing.",
    "LEAKED_REP_WAL": (
        "HBase 3 keeps WALs of `hbase:replication` itself until their server dies, and no peer wants them."
    ),
    "MISSING_WAL": "An offset names a WAL to be read next that is neither below `WALs/` nor below `oldWALs/`.",
    "BEYOND_EOF": "An offset lies beyond the end of its WAL, so the WAL was truncated or replaced.",
    # inside the WALs
    "HEADERLESS_WAL": (
        "The WAL at the head of a queue is empty or ends inside its header, so replication stands still there."
    ),
    "CORRUPT_WAL": (
        "The WAL at the head of a queue contains bytes that are not an entry, so replication stands still there; if "
        "the offset is behind the first of them, it may also go on."
    ),
    "OFFSET_MID_ENTRY": (
        "A stored offset lies inside an entry, so no reader can continue there; or behind the last entry of a torn WAL "
        "that can be read, so it is not known whether one can."
    ),
    "UNWANTED_EDITS": "A queue has 1 GiB or more still to read, but its peer wants none of these edits.",
    "UNREADABLE_WAL": "The file system could not return a WAL.",
    # synchronous replication
    "ORPHAN_REMOTE_WALS": "There are files below `remoteWALs/` of a peer that does not exist.",
    "REMOTE_WALS_UNEXPECTED": (
        "There are copies of WALs of a peer that is not STANDBY here, and only a STANDBY cluster gets any."
    ),
    "REMOTE_WALS_PILE_UP": "On a STANDBY cluster, a copy of a WAL is older than a day.",
    "REMOTE_WALS_NOT_REPLAYED": "A directory of WALs to replay holds files that HBase has not replayed.",
    "SYNC_STATE_CHANGED": "The peer is in another state of synchronous replication than on the night before.",
    "SYNC_DOWNGRADED": "The peer has been DOWNGRADE_ACTIVE for more than `findings.stalled_nights` nights.",
    # neighbours
    "BACKUP_UNKNOWN": "HBase backup is on, and what it has backed up is unknown, so every WAL past its TTL is held.",
    "BACKUP_BEHIND": "WALs are held for backups, and the newest backup of a root is older than `findings.backup_age`.",
    "SERIAL_STUCK": "A serial peer waits for an earlier range of a region, which has not been pushed.",
    "ORPHAN_HFILE_REFS": "There are references to bulk-loaded HFiles for a peer that does not exist.",
    # audits of queues
    "LOST_WALS": "A WAL that a queue still has to read is missing, and so are all WALs after it.",
    "SUSPECT_QUEUE": "A queue was claimed from a server that is online.",
    "STALE_LOCK": "A server of HBase 1.x died while it copied the queues of another one, and left its lock.",
    "EMPTY_REPLICATOR": "A dead server has a znode that contains no queue.",
    "CLAIM_OVERDUE": "The owner of a queue has been dead for an hour or more, and its crash still looks unfinished.",
    # migration to HBase 3
    "MIGRATION_BLOCKED": "HBase would throw on a znode of a queue, in the migration or after it.",
    "MIGRATION_COLLAPSED_QUEUES": (
        "Several queues of one server would be written to one row of the table, with different offsets."
    ),
    "MIGRATION_ENABLED_PEERS": "Peers are enabled.",
    "MIGRATION_DROPS": (
        "The migration deletes, without writing them to the table, the data of a peer that does not exist."
    ),
    "MIGRATION_MISSING_WAL": "The WAL that an offset would name is in no directory where HBase looks.",
    "MIGRATION_HALF_CLAIMED": "A claim of HBase 1 died between copying and deleting, so WALs may be shipped twice.",
    "MIGRATION_UNSETTLED": "The two readings of ZooKeeper disagree.",
    "MIGRATION_DIFFERENCE": "The table differs from the data that ZooKeeper had.",
    # sync-up
    "SYNCUP_LEFTOVER": (
        "Files of an earlier ReplicationSyncUp exist; HBase drops the queues of their servers when it starts."
    ),
    "SYNCUP_DISABLED_PEER": (
        "ReplicationSyncUp claims the queues of a disabled peer and ships none; the tool of HBase 3 then waits forever."
    ),
    "SYNCUP_WAL_UNFOUND": "ReplicationSyncUp of HBase 2 looks for WALs at wrong paths, and tries to open them forever.",
    "SYNCUP_EMPTY_QUEUE": "An enabled peer has a queue without a WAL to read, and the tool waits for its end forever.",
    "SYNCUP_TWO_FILE_SYSTEMS": (
        "`hbase.rootdir` and `hbase.wal.dir` are on two file systems, and the tool ends at once."
    ),
    "SYNCUP_STALENESS_UNKNOWN": "A queue that was claimed since the last flush may be unknown to the tool.",
    "SYNCUP_FLAG_STAYS": "Servers own queues but have no directory below `WALs/`, so their rows and flag files stay.",
    "SYNCUP_STALE_OFFSETS": (
        "Offsets moved after the last flush of `hbase:replication`, so some bytes are shipped twice."
    ),
    "SYNCUP_REMOVED_PEER": "The tool leaves the rows of a peer that does not exist.",
    # directories
    "LEFTOVER_WAL_DIRECTORY": (
        "`WALs/<server>` (or `-splitting`) exists, but the server is not online and has no crash procedure."
    ),
    # the cluster
    "CLEANER_NOT_RUNNING": "HBase's own cleaner should have deleted files more than three of its intervals ago.",
    "FOREIGN_CLEANER": (
        "Everything past its TTL is held, because a log-cleaner plugin or the state of HBase backup is unknown."
    ),
    "ADD_PEER_RUNNING": "AddPeer was running, or it is unknown whether it was, so everything is held this night.",
    "CLUSTER_MOVED": "Files of dead servers are held because the cluster moved during the capture.",
}
