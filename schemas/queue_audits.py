"""Table `queue_audits`: the class of every replication queue, with evidence and remedy."""

from pyspark.sql.types import ArrayType, LongType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

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
                "What it is, the most urgent first: UNDELETED_PEER, LOST_WALS, MISSING_WAL, SUSPECT, DUPLICATE, "
                "STALE_LOCK, CLAIM_LOCK, ORPHAN, IN_FAILOVER, UNPROVEN, EMPTY_REPLICATOR, FINISHED, RECOVERED, NORMAL.",
            ),
            column("also", ArrayType(StringType()), "Other classes that it has as well."),
            column("storage", StringType(), "table or zookeeper."),
            column("peer_id", StringType(), "Peer of the queue; NULL for a znode that is no queue."),
            column("peer_state", StringType(), "ENABLED or DISABLED; NULL for a removed peer."),
            column("owner", StringType(), "The server whose row or znode it is."),
            column("owner_state", StringType(), "ONLINE, CRASHING, DIRECTORY, RECENT, DEAD, UNKNOWN."),
            column("source", StringType(), "The server that wrote the WALs; equals owner in a normal queue."),
            column(
                "hops",
                ArrayType(StringType()),
                "Dead servers over which it came, the first owner first; the table names that one alone.",
            ),
            column("pending_files", LongType(), "Files under oldWALs that it still has to read."),
            column("pending_bytes", LongType(), "Their bytes: what it pins, alone or with other queues."),
            column("live_pending_files", LongType(), "Files under WALs/ that it still has to read."),
            column("live_pending_bytes", LongType(), "Their bytes; an open file shows short."),
            column("alone_files", LongType(), "Files under oldWALs that no other queue holds."),
            column("alone_bytes", LongType(), "Their bytes: what is free once it has shipped them."),
            column("oldest_pending_timestamp", LongType(), "Timestamp of the oldest needed WAL, ms."),
            column("missing_wals", ArrayType(StringType()), "WALs that it is to read and that are nowhere."),
            column("evidence", StringType(), "Why it is that, in words."),
            column("remedy", StringType(), "What to do; NULL = nothing."),
            column("observed_at", TimestampType(), "Start of step `files` (UTC)."),
        ]
    ),
)
