"""Table `queue_offsets`: the offset of every replication queue, per WAL group."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity, twin

QUEUE_OFFSETS = Table(
    "queue_offsets",
    "One row for each queue row and WAL group: the offset, and the files after it that are still to be shipped.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Peer of the queue."),
            column(
                "peer_exists", BooleanType(), "Whether the peer exists; the row of a removed peer is an orphan queue."
            ),
            column("owner", StringType(), "The server that owns the row."),
            column("source", StringType(), "The server that wrote the WALs; equals owner in a normal queue."),
            column("recovered", BooleanType(), "Whether the queue was claimed from another server."),
            column("wal_group", StringType(), "WAL group, URL-encoded; NULL for a row without any offset."),
            column("wal", StringType(), "WAL of the offset, as read (the smaller of two passes)."),
            column("offset", LongType(), "Offset in this WAL, bytes, as read; negative = the WAL is finished."),
            column("need_timestamp", LongType(), "Smallest WAL timestamp still needed, ms; -1 = all WALs are needed."),
            column("pending_files", LongType(), "Number of files under oldWALs that this queue still needs."),
            column("pending_bytes", LongType(), "Bytes of these files."),
            column("live_pending_files", LongType(), "Number of files under WALs/ that this queue still needs."),
            column("live_pending_bytes", LongType(), "Bytes of these files; an open file counts with too few bytes."),
            column("oldest_pending_timestamp", LongType(), "Timestamp of the oldest needed WAL, ms."),
            column("oldest_pending_age_ms", LongType(), "Age of this WAL at the start of step `files`, ms."),
            twin("offset"),
            twin("need_timestamp"),
            twin("oldest_pending_timestamp"),
        ]
    ),
)
