"""Table `queue_audits`: the class of every replication queue, with evidence and remedy."""

from pyspark.sql.types import ArrayType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity, twin

QUEUE_AUDITS = Table(
    "queue_audits",
    "One row for each queue that `audit-queues` saw, and for each lock and empty znode; its run ids end in `-queues`.",
    StructType(
        [
            *identity(),
            column(
                "queue", StringType(), "Row key in `hbase:replication`; in ZooKeeper `<owner>/<queue id>`, below `rs`."
            ),
            column(
                "queue_class",
                StringType(),
                "Class of the queue, here the most urgent first: UNDELETED_PEER, LOST_WALS, MISSING_WAL, SUSPECT, "
                "DUPLICATE, "
                "STALE_LOCK, CLAIM_LOCK, ORPHAN, IN_FAILOVER, UNPROVEN, EMPTY_REPLICATOR, FINISHED, RECOVERED, NORMAL.",
            ),
            column("also", ArrayType(StringType()), "Other classes that also apply."),
            column("storage", StringType(), "table or zookeeper."),
            column("peer_id", StringType(), "Peer of the queue; NULL for a znode that is not a queue."),
            column("peer_state", StringType(), "ENABLED or DISABLED; NULL for a removed peer."),
            column("owner", StringType(), "The server that owns the row or znode."),
            column("owner_state", StringType(), "ONLINE, CRASHING, DIRECTORY, RECENT, DEAD, UNKNOWN."),
            column("source", StringType(), "The server that wrote the WALs; equals owner in a normal queue."),
            column(
                "hops",
                ArrayType(StringType()),
                "Dead servers that owned the queue before, the first owner first; the table names only this one.",
            ),
            column("pending_files", LongType(), "Number of files under oldWALs that the queue still has to read."),
            column(
                "pending_bytes", LongType(), "Bytes of these files, which the queue pins alone or with other queues."
            ),
            column("live_pending_files", LongType(), "Number of files under WALs/ that the queue still has to read."),
            column("live_pending_bytes", LongType(), "Bytes of these files; an open file counts with too few bytes."),
            column("alone_files", LongType(), "Number of files under oldWALs that only this queue holds."),
            column(
                "alone_bytes", LongType(), "Bytes of these files, which become free once the queue has shipped them."
            ),
            column("oldest_pending_timestamp", LongType(), "Timestamp of the oldest needed WAL, ms."),
            column(
                "missing_wals",
                ArrayType(StringType()),
                "WALs that the queue still has to read and that are in no directory.",
            ),
            column("evidence", StringType(), "Why the queue has this class, in words."),
            column("remedy", StringType(), "What to do; NULL = nothing needs to be done."),
            column("observed_at", TimestampType(), "Start of step `files` (UTC)."),
            twin("oldest_pending_timestamp"),
        ]
    ),
)
