"""Table `syncup_wals`: the WALs that ReplicationSyncUp would read, in its order."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity

SYNCUP_WALS = Table(
    "syncup_wals",
    "One row for each queue and WAL that ReplicationSyncUp would read for it.",
    StructType(
        [
            *identity(),
            column("queue", StringType(), "Row key of the queue, as in `syncup_queues`."),
            column("peer_id", StringType(), "Peer of the queue."),
            column("source", StringType(), "The server that wrote the WAL."),
            column("wal_group", StringType(), "WAL group, URL-encoded; each group has its own worker."),
            column(
                "position", LongType(), "Position in the queue, from 1; a MISSING WAL comes before all others, at 0."
            ),
            column("wal", StringType(), "File name."),
            column("path", StringType(), "Path below the WAL root; NULL if MISSING."),
            column(
                "content",
                StringType(),
                "EDITS, QUEUE_TABLE (the tool reads it and sends nothing of it), MISSING, or NOT_READ (the peer "
                "is disabled or STANDBY; HBase 2 also: the tool does not get to it).",
            ),
            column("length", LongType(), "Length of the file in the listing, bytes; too small while the file is open."),
            column(
                "start",
                LongType(),
                "Offset of the first byte that is read; 0 = from the first entry; NULL if nothing is.",
            ),
            column("bytes", LongType(), "Bytes that are read."),
        ]
    ),
)
