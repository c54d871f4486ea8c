"""The findings on queues and WALs: the name of each, with its meaning and remedy for people, in one sentence each.

A name is the `code` of table `findings`. docs/conditions.md is generated from this table and from the table of refusals
(conditions.py); docs/findings.md explains each finding at length. A finding of a split is named SPLIT_ and the rule's
name (docs/split-rules.md).
"""

from collections.abc import Mapping

from pipelines.common.conditions import ConditionText

FINDINGS: Mapping[str, ConditionText] = {
    # replication queues
    "ORPHAN_QUEUE": ConditionText(
        "A queue that nobody will ever ship: its peer does not exist, or its owner is fully dead.",
        "HBCK2 `replication --fix` for a removed peer (HBase 1: `hbck -fixReplication`), `scheduleRecoveries` for a "
        "dead owner.",
    ),
    "DUPLICATE_QUEUE": ConditionText(
        "One peer has several rows for the WALs of one server.",
        "Let all finish; if one never moves, remove one only if it has come at least as far as another in every WAL "
        "group; in ZooKeeper, only if another names every WAL that it names.",
    ),
    "QUEUE_STALLED": ConditionText(
        "An offset has not moved for `findings.stalled_nights` nights, with files waiting all the while.",
        "Look at that server's log for the replication source.",
    ),
    "QUEUE_TABLE_REWOUND": ConditionText(
        "An offset is behind a position at which walsafe has seen the queue before.",
        "Compare the tables with VerifyReplication; acknowledge it once you know what was lost.",
    ),
    "GROWTH": ConditionText(
        "The bytes held for a peer have risen on each of the last `findings.growth_nights` nights.",
        "Enable the peer, or let it catch up.",
    ),
    # files
    "POISON_FILE": ConditionText(
        "HBase's cleaner throws on the name of a file, and skips that whole directory each time.",
        "Look at the file, then move it out of `oldWALs` by hand.",
    ),
    "INVALID_NAME": ConditionText(
        "There are files below `oldWALs` that are not WALs; HBase deletes them without waiting for any TTL.",
        "Move them elsewhere if they are wanted.",
    ),
    "CLOCK_SKEW": ConditionText(
        "Files were modified after the end of the listing.",
        "Check NTP on the NameNode and on the host that captured.",
    ),
    "LEAKED_REP_WAL": ConditionText(
        "HBase 3 keeps WALs of `hbase:replication` itself until their server dies, and no peer wants them.",
        "Set `release.replication_table_wals: true` to have them listed.",
    ),
    "MISSING_WAL": ConditionText(
        "An offset names a WAL to be read next that is neither below `WALs/` nor below `oldWALs/`.",
        "Look in `corrupt/` and in quarantines; if it is gone, delete its znode if the queue is in ZooKeeper, restart "
        "the owner of the queue, and compare the tables with VerifyReplication.",
    ),
    "BEYOND_EOF": ConditionText(
        "An offset lies beyond the end of its WAL, so the WAL was truncated or replaced.",
        "Compare the tables with VerifyReplication.",
    ),
    # inside the WALs
    "HEADERLESS_WAL": ConditionText(
        "The WAL at the head of a queue is empty or ends inside its header, so replication stands still there.",
        "If it cannot hold edits (its offset is 0, it has at most 1 KiB, and its header is not damaged), set "
        "`replication.source.eof.autorecovery=true` on the region servers; before HBase 2.6, delete the znode of a WAL "
        "that is not empty, and restart the owner of the queue; if it may hold edits, proceed as with a CORRUPT_WAL.",
    ),
    "CORRUPT_WAL": ConditionText(
        "The WAL at the head of a queue contains bytes that are not an entry, so replication stands still there; if "
        "the offset is behind the first of them, it may also go on.",
        "`hdfs fsck -files -blocks`; if all replicas are broken, move it away, and proceed as with a MISSING_WAL "
        "that is gone.",
    ),
    "OFFSET_MID_ENTRY": ConditionText(
        "A stored offset lies inside an entry, so no reader can continue there; or behind the last entry of a torn WAL "
        "that can be read, so it is not known whether one can.",
        "Set the offset to 0 (in ZooKeeper: empty the data of the WAL's znode) and restart the owner of the queue, or "
        "have it claimed if the owner is dead; if the WAL was replaced, compare the tables with VerifyReplication; if "
        "it cannot be read as far as the offset, proceed as with a CORRUPT_WAL.",
    ),
    "UNWANTED_EDITS": ConditionText(
        "A queue has 1 GiB or more still to read, but its peer wants none of these edits.",
        "`enable_peer` lets it read past them; if it is enabled, find out why the queue stands still.",
    ),
    "UNREADABLE_WAL": ConditionText(
        "The file system could not return a WAL.",
        "See the error; if blocks are missing, `hdfs fsck -files -blocks`; then `inspect-wals --path`.",
    ),
    # synchronous replication
    "ORPHAN_REMOTE_WALS": ConditionText(
        "There are files below `remoteWALs/` of a peer that does not exist.",
        "Make sure that no cluster still replicates here by that id, then remove the directory by hand.",
    ),
    "REMOTE_WALS_UNEXPECTED": ConditionText(
        "There are copies of WALs of a peer that is not STANDBY here, and only a STANDBY cluster gets any.",
        "Ask both clusters for the state of the peer; at most one may be ACTIVE.",
    ),
    "REMOTE_WALS_PILE_UP": ConditionText(
        "On a STANDBY cluster, a copy of a WAL is older than a day.",
        "See on the ACTIVE cluster whether the peer is enabled and catches up.",
    ),
    "REMOTE_WALS_NOT_REPLAYED": ConditionText(
        "A directory of WALs to replay holds files that HBase has not replayed.",
        "While the peer is STANDBY, `list_procedures`; after it, keep the directory and compare the tables.",
    ),
    "SYNC_STATE_CHANGED": ConditionText(
        "The peer is in another state of synchronous replication than on the night before.",
        "Nothing, if it was meant.",
    ),
    "SYNC_DOWNGRADED": ConditionText(
        "The peer has been DOWNGRADE_ACTIVE for more than `findings.stalled_nights` nights.",
        "`transit_peer_sync_replication_state`, once the other cluster is STANDBY.",
    ),
    # neighbours
    "BACKUP_UNKNOWN": ConditionText(
        "HBase backup is on, and what it has backed up is unknown, so every WAL past its TTL is held.",
        "Let the capture's user read `backup:system`, or state `backup.enabled: false` if it is off.",
    ),
    "BACKUP_BEHIND": ConditionText(
        "WALs are held for backups, and the newest backup of a root is older than `findings.backup_age`.",
        "Make an incremental backup with all tables of the root; `hbase backup repair` for one that died.",
    ),
    "SERIAL_STUCK": ConditionText(
        "A serial peer waits for an earlier range of a region, which has not been pushed.",
        "Find the queue that has the earlier entries: that of the server on which the region was.",
    ),
    "ORPHAN_HFILE_REFS": ConditionText(
        "There are references to bulk-loaded HFiles for a peer that does not exist.",
        "HBCK2 `replication --fix` (HBase 1: `hbck -fixReplication`).",
    ),
    # audits of queues
    "LOST_WALS": ConditionText(
        "A WAL that a queue still has to read is missing, and so are all WALs after it.",
        "Look in `corrupt/` and in quarantines; if it is gone, proceed as with MISSING_WAL.",
    ),
    "SUSPECT_QUEUE": ConditionText(
        "A queue was claimed from a server that is online.",
        "Find out why the master considered that server dead, and restart it.",
    ),
    "STALE_LOCK": ConditionText(
        "A server of HBase 1.x died while it copied the queues of another one, and left its lock.",
        "Make sure that no server is copying these queues, then delete the znode.",
    ),
    "EMPTY_REPLICATOR": ConditionText(
        "A dead server has a znode that contains no queue.",
        "Delete it, or leave it: it is harmless.",
    ),
    "CLAIM_OVERDUE": ConditionText(
        "The owner of a queue has been dead for an hour or more, and its crash still looks unfinished.",
        "If only a directory is left, run HBCK2 `scheduleRecoveries`.",
    ),
    # migration to HBase 3
    "MIGRATION_BLOCKED": ConditionText(
        "HBase would throw on a queue, and try to migrate forever with all peers disabled.",
        "Delete the znode if there is no such WAL; set the data of an unreadable position to nothing.",
    ),
    "MIGRATION_COLLAPSED_QUEUES": ConditionText(
        "Several queues of one server would be written to one row of the table, with different offsets.",
        "Let the peer ship until one of these queues is gone, then capture and plan again.",
    ),
    "MIGRATION_ENABLED_PEERS": ConditionText(
        "Peers are enabled.",
        "Disable them before the upgrade, enable them after the verification.",
    ),
    "MIGRATION_DROPS": ConditionText(
        "The migration deletes, without writing them to the table, the data of a peer that does not exist.",
        "Nothing, if it was removed for good; otherwise add a peer under another id, and copy what it misses before "
        "the upgrade.",
    ),
    "MIGRATION_MISSING_WAL": ConditionText(
        "The WAL that an offset would name is in no directory where HBase looks.",
        "Compare the tables with VerifyReplication, unless it was shipped.",
    ),
    "MIGRATION_HALF_CLAIMED": ConditionText(
        "A claim of HBase 1 died between copying and deleting, so WALs may be shipped twice.",
        "If nobody is claiming, delete the lock, and have the queues claimed; let one of equal queues be shipped.",
    ),
    "MIGRATION_UNSETTLED": ConditionText(
        "The two readings of ZooKeeper disagree.",
        "Capture again, as close to the upgrade as you can.",
    ),
    "MIGRATION_DIFFERENCE": ConditionText(
        "The table differs from the data that ZooKeeper had.",
        "Look up the rule that the finding names, on the page of the migration.",
    ),
    # sync-up
    "SYNCUP_LEFTOVER": ConditionText(
        "Files of an earlier ReplicationSyncUp exist; HBase drops the queues of their servers when it starts.",
        "Run `ReplicationSyncUp -f` to its end before HBase starts, or remove the files.",
    ),
    "SYNCUP_DISABLED_PEER": ConditionText(
        "ReplicationSyncUp claims the queues of a disabled peer and ships none; the tool of HBase 3 then waits "
        "forever.",
        "Enable the peer first, or start HBase instead; remove the flag files of a stopped tool before HBase starts.",
    ),
    "SYNCUP_WAL_UNFOUND": ConditionText(
        "ReplicationSyncUp of HBase 2 looks for WALs at wrong paths, and tries to open them forever.",
        "Start HBase and let it ship, or copy those that are not in `oldWALs` yet into it for the time of the run.",
    ),
    "SYNCUP_EMPTY_QUEUE": ConditionText(
        "An enabled peer has a queue without a WAL to read, and the tool waits for its end forever.",
        "Stop the tool when every other queue has finished, unless a peer is disabled: enable it before the run.",
    ),
    "SYNCUP_TWO_FILE_SYSTEMS": ConditionText(
        "`hbase.rootdir` and `hbase.wal.dir` are on two file systems, and the tool ends at once.",
        "Start the source cluster and let it ship.",
    ),
    "SYNCUP_STALENESS_UNKNOWN": ConditionText(
        "A queue that was claimed since the last flush may be unknown to the tool.",
        "Capture with `queues: hfiles`; compare the tables with VerifyReplication afterwards.",
    ),
    "SYNCUP_FLAG_STAYS": ConditionText(
        "Servers own queues but have no directory below `WALs/`, so their rows and flag files stay.",
        "HBCK2 `scheduleRecoveries` when HBase runs.",
    ),
    "SYNCUP_STALE_OFFSETS": ConditionText(
        "Offsets moved after the last flush of `hbase:replication`, so some bytes are shipped twice.",
        "Nothing needs to be done: the same cells arrive again.",
    ),
    "SYNCUP_REMOVED_PEER": ConditionText(
        "The tool leaves the rows of a peer that does not exist.",
        "HBCK2 `replication --fix` when HBase runs.",
    ),
    # directories
    "LEFTOVER_WAL_DIRECTORY": ConditionText(
        "`WALs/<server>` exists, but the server is not online and has no crash procedure.",
        "HBCK2 `scheduleRecoveries` if it has files; an empty one may be removed.",
    ),
    # the cluster
    "CLEANER_NOT_RUNNING": ConditionText(
        "HBase's own cleaner should have deleted files more than three of its intervals ago.",
        "Follow the remedy for the cause that the finding names.",
    ),
    "FOREIGN_CLEANER": ConditionText(
        "Everything past its TTL is held, because a log-cleaner plugin or the state of HBase backup is unknown.",
        "Set `cleaners.plugins`, `cleaners.harmless` or `backup.enabled: false`.",
    ),
    "ADD_PEER_RUNNING": ConditionText(
        "AddPeer was running, or it is unknown whether it was, so everything is held this night.",
        "Capture again once it has finished.",
    ),
    "CLUSTER_MOVED": ConditionText(
        "Files of dead servers are held because the cluster moved during the capture.",
        "Nothing needs to be done if it is rare; otherwise raise `capture.quiet_attempts`, or capture at a "
        "calmer time.",
    ),
}
