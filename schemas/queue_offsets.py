"""Table `queue_offsets`: the offset of every replication queue, per WAL group."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

QUEUE_OFFSETS = Table(
    "queue_offsets",
    "Per queue row and WAL group: the offset, and what is still to be shipped behind it.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Peer of the queue."),
            column("peer_exists", BooleanType(), "False: the row belongs to a removed peer (orphan queue)."),
            column("owner", StringType(), "The server whose row it is."),
            column("source", StringType(), "The server that wrote the WALs; equals owner in a normal queue."),
            column("recovered", BooleanType(), "The queue was claimed from another server."),
            column("wal_group", StringType(), "WAL group, URL-encoded; NULL for a row without any offset."),
            column("wal", StringType(), "WAL of the offset, as read (the smaller of two passes)."),
            column("offset", LongType(), "Bytes into that WAL, as read; negative = that WAL is finished."),
            column("need_timestamp", LongType(), "Smallest WAL timestamp still needed, ms; -1 = all of them."),
            column("pending_files", LongType(), "Files under oldWALs still needed by this queue."),
            column("pending_bytes", LongType(), "Their bytes."),
            column("live_pending_files", LongType(), "Files under WALs/ still needed by this queue."),
            column("live_pending_bytes", LongType(), "Their bytes; an open file shows short."),
            column("oldest_pending_timestamp", LongType(), "Timestamp of the oldest needed WAL, ms."),
            column("oldest_pending_age_ms", LongType(), "Its age at the start of step `files`, ms."),
        ]
    ),
)
