"""Table `syncup_wals`: the WALs that ReplicationSyncUp would read, in its order."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity

SYNCUP_WALS = Table(
    "syncup_wals",
    "One row for each queue and WAL that ReplicationSyncUp would take up for it.",
    StructType(
        [
            *identity(),
            column("queue", StringType(), "Row key of the queue, as in `syncup_queues`."),
            column("peer_id", StringType(), "Peer of the queue."),
            column("source", StringType(), "The server that wrote the WAL."),
            column("wal_group", StringType(), "WAL group, URL-encoded; each is shipped by a worker of its own."),
            column("position", LongType(), "Place in the queue, from 1; a MISSING one stands before all others, at 0."),
            column("wal", StringType(), "File name."),
            column("path", StringType(), "Below the WAL root; NULL when MISSING."),
            column("content", StringType(), "EDITS, QUEUE_TABLE (read, nothing of it is sent) or MISSING."),
            column("length", LongType(), "Bytes of the file as listed; an open file shows short there."),
            column("start", LongType(), "Offset of the first byte that is read; 0 = from the first entry."),
            column("bytes", LongType(), "Bytes that are read."),
        ]
    ),
)
