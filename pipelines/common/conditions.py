"""The conditions under which a job refuses: a stable name for programs, with its meaning and remedy for people.

The name is in the JSON result beside the message (`error.condition`) and in docs/conditions.md, which is generated from
this table and from the table of findings (finding_names.py). A name is never changed and never used for another
condition; the texts may change at any time.
"""

from dataclasses import dataclass
from enum import Enum, unique


@dataclass(frozen=True, slots=True)
class ConditionText:
    """The meaning of a condition, and what the operator does about it; one sentence each."""

    meaning: str
    what_to_do: str


@unique
class Condition(Enum):
    """The reason why a job did not do its work."""

    # snapshots and the inputs of snapshots
    SNAPSHOT_INCOMPLETE = ConditionText(
        "The capture did not finish, or a part that every snapshot has is missing.",
        "Capture again.",
    )
    SNAPSHOT_DAMAGED = ConditionText(
        "A file of the snapshot is missing, is new, or differs from its entry in `snapshot.json`.",
        "Capture again; find out who changed the directory.",
    )
    SNAPSHOT_OUT_OF_ORDER = ConditionText(
        "The steps were not taken in the capture order, or the clocks of two hosts stamped them.",
        "Capture again with walsafe, or with one run of the export script that it ships.",
    )
    SNAPSHOT_UNTRUSTED = ConditionText(
        "The snapshot is whole, but its data about the cluster cannot be trusted.",
        "Follow the message, then capture again; docs/runbook.md explains each cause.",
    )
    LISTING_EMPTY = ConditionText(
        "The snapshot lists no file, and a cluster with a region server always has some.",
        "Check `wal_root`, then capture again.",
    )
    FORMAT_UNKNOWN = ConditionText(
        "The snapshot, an extra of it or a list has a format that this walsafe does not know.",
        "Use the walsafe that wrote it, or capture and reconcile again.",
    )
    DOCUMENT_MALFORMED = ConditionText(
        "A document or a line is cut off, is not JSON, or has a key that is missing, unknown or wrong.",
        "Write it again in the way that the message names; capture a snapshot again.",
    )
    EXPORT_INCOMPLETE = ConditionText(
        "An exported text is cut off: its closing line is missing, or has another number of rows.",
        "Export again.",
    )
    EXPORT_DAMAGED = ConditionText(
        "An exported text does not have the form that the export script writes.",
        "Export again with the script of this version, and do not edit its files.",
    )
    QUEUE_MALFORMED = ConditionText(
        "HBase itself throws on a row or znode of a replication queue.",
        "Repair that queue, then capture again.",
    )
    PEER_ID_AMBIGUOUS = ConditionText(
        "A peer id has a `-`, so that its queues would be read as those of another peer.",
        "Add the peer again under an id without `-`.",
    )
    MIXED_CLUSTERS = ConditionText(
        "Files, queues and servers were not read from one cluster.",
        "Check `wal_root`, `capture.hbase.site` and the source of the queues, then capture again.",
    )
    MASTER_CHANGED = ConditionText(
        "The active master changed during the capture, or was not known at both looks, so a crash may have "
        "been missed.",
        "Capture again once one master is up.",
    )
    MIGRATION_PENDING = ConditionText(
        "The migration of the queues from ZooKeeper to `hbase:replication` is not known to have ended.",
        "Wait until it has ended, then capture again.",
    )
    CLUSTER_RUNNING = ConditionText(
        "HBase is running, but the requested job needs a cluster that is down.",
        "Stop HBase, then capture with `state.source: offline`; or use a job for a running cluster.",
    )
    CLUSTER_DOWN = ConditionText(
        "The snapshot shows a cluster that was down, so it is unknown which crashes were unfinished.",
        "Start HBase, then capture again; `plan-syncup` takes such a snapshot.",
    )
    QUEUES_IN_TABLE = ConditionText(
        "The queues were read from ZooKeeper, but they are, or may be, in `hbase:replication`, or are being "
        "moved there.",
        "Wait until a migration has ended, then capture with queues from that table.",
    )
    QUEUES_IN_ZOOKEEPER = ConditionText(
        "The queues are in ZooKeeper as HBase 1 keeps them, with a lock; this job knows HBase 2 and 3.",
        "Use `dump-queues` or `audit-queues`.",
    )
    QUEUE_TABLE_MISSING = ConditionText(
        "There are peers but no `hbase:replication`; HBase's own cleaner would delete everything in this state.",
        "`cleaner_chore_switch false`, then find out who dropped the table; if the cluster is down, check "
        "`hbase.rootdir`.",
    )

    # reconcile and its lists
    CLOCK_WRONG = ConditionText(
        "The start of the capture is later than the present time of this machine's clock.",
        "Check NTP on both hosts, then capture again.",
    )
    GATE_FAILED = ConditionText(
        "The quality gate found that the data of the night do not meet an expectation.",
        "Look up the expectation in table `quality_results`; docs/runbook.md explains each of them.",
    )
    GATE_NOT_EVALUATED = ConditionText(
        "Great Expectations gave no answer, or a contradictory one.",
        "Install the version that `requirements.txt` pins, then run the same command again.",
    )
    RUN_ID_TAKEN = ConditionText(
        "The run id was already used for another snapshot.",
        "Give another `--run-id`, or omit the option.",
    )
    RUN_UNKNOWN = ConditionText(
        "The lake has no ended run with that id and cluster.",
        "Check `--run-id`, `--cluster` and `--lake`.",
    )
    LIST_MISSING = ConditionText(
        "The run has no manifest: it wrote no list, or the list is incomplete.",
        "Check `--lists`, `--cluster` and `--run-id`, or reconcile again.",
    )
    LIST_DAMAGED = ConditionText(
        "The list differs from what reconcile wrote, or names a file that the run did not find DELETABLE.",
        "Reconcile again under another `--run-id`; find out who changed the list.",
    )
    LIST_OF_ANOTHER_RUN = ConditionText(
        "The list belongs to another run, cluster or snapshot than the one recorded in the lake.",
        "Use the list where reconcile wrote it, with the lake of that run.",
    )
    LIST_NOT_APPROVED = ConditionText(
        "The list is not the one whose digest was approved.",
        "Rehearse again, and approve what that rehearsal shows.",
    )
    LIST_WITHOUT_PROOF = ConditionText(
        "The list or its run does not record the cluster and the peers for which it was decided.",
        "Capture with a source that knows the cluster's id, and reconcile again.",
    )
    LIST_EXPIRED = ConditionText(
        "The list has expired.",
        "Capture and reconcile again, and clean that list.",
    )
    LIST_ALREADY_CLEANED = ConditionText(
        "The list was cleaned before, and a list is cleaned once.",
        "If that attempt stopped or died, go on with `--resume`.",
    )
    LIST_RESTORED_OR_PURGED = ConditionText(
        "Files of the list were restored or purged already.",
        "Capture and reconcile again, and clean that list.",
    )

    # clean, restore, purge, maintain
    CLEANUP_PAUSED = ConditionText(
        "A finding pauses the clean-up, or the cluster's newest run failed.",
        "Follow the finding's remedy, or acknowledge the finding; docs/findings.md says which findings pause.",
    )
    ANOTHER_CLUSTER = ConditionText(
        "The files were decided for a cluster with another id (`hbase.id`).",
        "Check `wal_root`, `capture.queues` and `capture.hbase.site`.",
    )
    ADD_PEER_RUNNING = ConditionText(
        "A peer is being added, and it may need any file.",
        "Wait until AddPeer has ended, then run the same command again.",
    )
    PEER_ADDED = ConditionText(
        "A peer was added since the list was decided.",
        "Capture and reconcile again, and clean that list.",
    )
    CLUSTER_NOT_QUIET = ConditionText(
        "Servers or queues moved while the cluster was read.",
        "Run the same command again when no server starts, stops or crashes.",
    )
    OUTSIDE_WAL_ROOT = ConditionText(
        "A path lies outside the directories that the clean-up may change.",
        "Check the list, `wal_root` and `clean.quarantine`.",
    )
    PATH_MALFORMED = ConditionText(
        "A path is not a full URI, or has control characters or an empty, `.` or `..` element.",
        "Write it like `hdfs://ns1/hbase/oldWALs/…`; rename such a file by hand.",
    )
    SYMBOLIC_LINK = ConditionText(
        "A directory is a symbolic link, which may lead anywhere.",
        "Give the path to which it leads.",
    )
    DIRECTORY_UNKNOWN = ConditionText(
        "A directory was not written by walsafe, or is not in a place where `maintain` looks, so it is not removed.",
        "Find out what it is; remove it by hand if nobody needs it.",
    )

    # plan-syncup
    SYNCUP_BAD_WAL_NAME = ConditionText(
        "ReplicationSyncUp would throw on the name of a file below `WALs/` or `oldWALs/`, or of a WAL in ZooKeeper.",
        "Follow the remedy in the message.",
    )
    SYNCUP_SERIAL_PEER = ConditionText(
        "ReplicationSyncUp would read queues of a serial peer: the tool of HBase 3 dies, and HBase drops queues at its "
        "next start; the tool of HBase 2 never ends.",
        "Start HBase and let it ship the queues.",
    )
    SYNCUP_WALS_UNREAD = ConditionText(
        "ReplicationSyncUp would not ship WALs that a peer needs.",
        "Follow the remedy in the message.",
    )

    # splits of Pegasus partitions
    DATA_ENCRYPTED = ConditionText(
        "Pegasus encrypted the files, and only their server has the key.",
        "Export the rows through a client as Parquet, or let the server read its own logs.",
    )
    DECREE_MISSING = ConditionText(
        "A decree that is committed, or may be, is neither in the data nor in a private log, so writes would be lost.",
        "Copy the logs too, or take the replica of another server.",
    )
    DECREE_NOT_REPLAYABLE = ConditionText(
        "A write in the log needs the previous value, which the log does not have.",
        "Flush the table first, or split a cold backup.",
    )
    REPLICA_DAMAGED = ConditionText(
        "The data or a log of a replica cannot be read to its end.",
        "Take the replica of another server.",
    )
    ROWS_INCOMPLETE = ConditionText(
        "A folder of rows that walsafe wrote lacks a file of its manifest, or has a file of another size or name.",
        "Copy the folder again, with all its files, to an empty place.",
    )

    # of walsafe itself
    SELF_CHECK_FAILED = ConditionText(
        "A demo did not find the data that it had written: this is a defect of walsafe.",
        "Report it with the output.",
    )

    # not refusals: exit codes 2 and 4
    SNAPSHOT_EXISTS = ConditionText(
        "The path given with `--out` exists already (exit 2).",
        "Use it if it is the snapshot of this night; otherwise give a directory that does not exist yet.",
    )
    OBSERVER_READS = ConditionText(
        "The Hadoop client would read from observer NameNodes, whose answers may be stale (exit 2).",
        "Configure a proxy provider that reads from the active NameNode for walsafe.",
    )
    USAGE = ConditionText(
        "Arguments, configuration or input are wrong in some other way (exit 2).",
        "Correct the argument, key or input that the message names.",
    )
    LEASE_HELD = ConditionText(
        "Another clean-up job holds the lease of the cluster (exit 4).",
        "Wait until it has ended, or until its lease has expired.",
    )
    LEASE_LOST = ConditionText(
        "The lease expired, or cannot be read, so another job may have taken over (exit 4).",
        "Run the same command again when no other job runs; to continue `clean`, give `--resume`.",
    )
    SPARK_ENDED = ConditionText(
        "Spark's JVM or its executors ended, for example for lack of memory (exit 4); a night does not try again.",
        "Look at the log, give Spark more memory, then run the same command again.",
    )
    UNAVAILABLE = ConditionText(
        "A source or sink did not answer (exit 4).",
        "Solve the problem that the message names, then run the same command again.",
    )
