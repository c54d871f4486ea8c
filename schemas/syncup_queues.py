"""Table `syncup_queues`: what ReplicationSyncUp would do with each queue."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SYNCUP_QUEUES = Table(
    "syncup_queues",
    "One row for each queue that ReplicationSyncUp would claim; written by `plan-syncup`, run ids end in `-syncup`.",
    StructType(
        [
            *identity(),
            column(
                "queue",
                StringType(),
                "Row key in `hbase:replication`: peer-owner or peer-owner/source; in ZooKeeper: server/znode.",
            ),
            column("peer_id", StringType(), "Peer of the queue."),
            column("peer_state", StringType(), "ENABLED or DISABLED; NULL for a removed peer."),
            column(
                "owner",
                StringType(),
                "The server that owns the queue; the tool of HBase 3 creates a flag file of this name.",
            ),
            column("source", StringType(), "The server that wrote the WALs; equals owner in a normal queue."),
            column(
                "is_placeholder",
                BooleanType(),
                "Whether no row was flushed and the server has a directory below WALs/, so that the tool reads "
                "all its WALs.",
            ),
            column(
                "action",
                StringType(),
                "SHIP, WAITS (forever), REMOVED_PEER or STANDBY (nothing is shipped); HBase 2 also: MOVES (to the "
                "tool's own server name; nothing is shipped) and EMPTY (the queue is deleted).",
            ),
            column("reason", StringType(), "Why the queue waits; NULL unless WAITS."),
            column("wal_groups", LongType(), "Number of WAL groups with users' edits that are read."),
            column("files", LongType(), "Number of WALs with users' edits that are read."),
            column("bytes", LongType(), "Bytes of these WALs, for each group from its offset on."),
            column("first_path", StringType(), "The first WAL with users' edits that is read; NULL = none."),
            column("first_start", LongType(), "Offset at which reading of this WAL begins."),
            column(
                "missing_files",
                LongType(),
                "Number of offsets inside a WAL, or of WALs in a queue in ZooKeeper, that no directory has.",
            ),
            column(
                "is_stale",
                BooleanType(),
                "Whether the row has changed since it was flushed; NULL = unknown, false in ZooKeeper.",
            ),
            column(
                "resent_bytes",
                LongType(),
                "Part of `bytes` that the peer has received already, or from a queue before; NULL = unknown.",
            ),
        ]
    ),
)
