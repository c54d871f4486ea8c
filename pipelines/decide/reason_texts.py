"""What each reason of a verdict means, and what the operator can do: the one place for report, explain, demo and docs.

docs/verdicts.md has the short form in its first table and explains each reason at length; a test compares them.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReasonText:
    """The explanation of one reason.

    Attributes:
        short: the same in a few words, for the tables of the demo and of docs/verdicts.md.
        why: why the file got this verdict.
        way_out: what makes the file deletable; empty if there is nothing to do.
    """

    short: str
    why: str
    way_out: str = ""


REASON_TEXTS: Mapping[str, ReasonText] = {
    "SNAPSHOT_UNTRUSTED": ReasonText(
        "the capture cannot be believed",
        "the capture cannot be believed, so no file of this cluster can be deleted",
        "look at the run's reason, put it right, and capture again",
    ),
    "ADD_PEER_RUNNING": ReasonText(
        "a peer was being added",
        "a peer was being added while the cluster was read, and it may need any file",
        "wait for the procedure, then capture again",
    ),
    "INVALID_NAME": ReasonText(
        "not a WAL at all; HBase deletes it itself",
        "this is no WAL; HBase's own cleaner deletes such files without waiting for any TTL",
        "move it elsewhere if it is wanted",
    ),
    "FUTURE_TIMESTAMP": ReasonText(
        "modified after the listing: a clock is wrong",
        "it was modified after the listing ended, so the clocks differ",
        "check NTP on the NameNode and on the host that captured",
    ),
    "TOO_YOUNG": ReasonText(
        "younger than its time to live", "it has been in oldWALs for less than the TTL", "wait until its TTL has passed"
    ),
    "FOREIGN_CLEANER": ReasonText(
        "something unknown could need it",
        "a log-cleaner plugin or HBase backup, of which walsafe does not know enough, could need it",
        "the finding FOREIGN_CLEANER says which of these to put into the configuration: a plugin that keeps no WAL you "
        "need in cleaners.harmless, backup.enabled: false, or an unknown list of plugins in cleaners.plugins",
    ),
    "PROCEDURE_WAL": ReasonText("a procedure WAL past its time to live", "a procedure WAL past its TTL"),
    "MASTER_LOCAL_WAL": ReasonText(
        "the master's own store, past its time to live", "a WAL of the master's local region past its TTL"
    ),
    "BACKUP": ReasonText(
        "not backed up yet",
        "the next incremental backup of HBase backup may need it",
        "run an incremental backup, or delete backups nobody needs; the finding BACKUP_BEHIND names the root. No later "
        "backup below the same root takes the last WALs of a server that has left: take a full backup below a new root "
        "and delete the backups of the old one, or start a server at that host and port before the next backup",
    ),
    "NO_PEERS": ReasonText("no replication peer", "the cluster has no replication peer"),
    "META_WAL": ReasonText("hbase:meta is never replicated", "a WAL of hbase:meta, which is never replicated"),
    "POISON_NAME": ReasonText(
        "a name HBase's cleaner throws on, leaving the whole directory uncleaned",
        "HBase throws on this name, and skips its whole directory each time it cleans",
        "look at the file and move it out of oldWALs",
    ),
    "REPLICATION_TABLE_WAL": ReasonText(
        "WAL of hbase:replication itself, which HBase 3 never frees",
        "a WAL of hbase:replication itself: no peer wants it, and HBase 3 never frees it while its server lives",
        "set release.replication_table_wals to have such WALs listed",
    ),
    "CLUSTER_MOVED": ReasonText(
        "servers or queues moved during the capture, so a missing queue proves nothing",
        "servers or queues moved while the cluster was read, so both readings may have missed a queue",
        "capture again when no server starts, stops or crashes, and no queue comes or goes",
    ),
    "LEFTOVER_WAL_DIR": ReasonText(
        "a directory below WALs/ says its server may not be fully dead",
        "its server is dead, but its directory below WALs/ still stands, and a peer has no queue of it",
        "HBCK2 scheduleRecoveries for that server, or remove the directory if it is empty",
    ),
    "QUEUE_MISSING": ReasonText(
        "a peer has no offset for it yet, so it may need all of it",
        "its server is not fully dead, and a peer has no queue, or no offset, for its WALs yet",
        "if the peer is disabled, enable it; else it comes free when the server has shipped its first WAL "
        "of the group. After a crash of the server it becomes PENDING",
    ),
    "PENDING": ReasonText(
        "a queue still has to ship it",
        "a queue still has to ship it",
        "let the peer catch up; see explain --peer",
    ),
    "REPLICATED": ReasonText("every peer has shipped it", "every peer that had to ship it has done so"),
    "DEAD_NO_QUEUE": ReasonText(
        "its server is fully dead and no peer has a queue of it: all was shipped",
        "its server is fully dead, and no peer has a queue of it any more",
    ),
    "NOT_QUEUED": ReasonText("in no queue in ZooKeeper", "it is in no replication queue in ZooKeeper"),
    "QUEUE_READ_TOO_OLD": ReasonText(
        "archived after the queues were read",
        "it was archived after the queues in ZooKeeper were read, so they may have got it unseen",
        "capture again",
    ),
    "UNDECIDED": ReasonText(
        "a defect of walsafe", "no rule applied; this is a defect of walsafe", "report it with the snapshot"
    ),
}
