"""Table `syncup_queues`: what ReplicationSyncUp would do with each queue."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SYNCUP_QUEUES = Table(
    "syncup_queues",
    "One row for each queue that ReplicationSyncUp would claim; written by `plan-syncup`, run ids end in `-syncup`.",
    StructType(
        [
            *identity(),
            column("queue", StringType(), "Row key of `hbase:replication`, peer-owner or peer-owner/source."),
            column("peer_id", StringType(), "Peer of the queue."),
            column("peer_state", StringType(), "ENABLED or DISABLED; NULL for a removed peer."),
            column("owner", StringType(), "The server whose row it is; a flag file of this name is made."),
            column("source", StringType(), "The server that wrote the WALs; equals owner in a normal queue."),
            column(
                "is_placeholder",
                BooleanType(),
                "No row was flushed, and the server has a directory below WALs/: the tool reads all of its WALs.",
            ),
            column("action", StringType(), "SHIP, WAITS (forever), REMOVED_PEER or STANDBY (nothing is shipped)."),
            column("reason", StringType(), "Why it waits; NULL otherwise."),
            column("wal_groups", LongType(), "WAL groups with edits of users that are read."),
            column("files", LongType(), "WALs with edits of users that are read."),
            column("bytes", LongType(), "Bytes of them, each group from its offset on."),
            column("first_path", StringType(), "The WAL with edits of users that is read first; NULL = none."),
            column("first_start", LongType(), "Offset at which reading it begins."),
            column("missing_files", LongType(), "Offsets inside of a WAL that is nowhere."),
            column(
                "is_stale",
                BooleanType(),
                "The row has moved on since it was flushed; NULL = nobody knows.",
            ),
            column(
                "resent_bytes",
                LongType(),
                "Of `bytes`, those that the peer has been sent already; NULL = nobody knows.",
            ),
        ]
    ),
)
