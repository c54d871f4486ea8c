"""Table `dumped_wals`: the WALs of the replication queues of a snapshot, from `dump-queues`."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

DUMPED_WALS = Table(
    "dumped_wals",
    "One row for each queue and WAL: those that the queue still has to read, and those that its offsets name.",
    StructType(
        [
            *identity(),
            column("queue_id", StringType(), "The queue; see `dumped_queues`."),
            column("peer_id", StringType(), "Peer of the queue."),
            column("owner", StringType(), "The server that has the queue."),
            column("source", StringType(), "The server that wrote its WALs."),
            column("wal_group", StringType(), "WAL group, URL-encoded."),
            column("wal", StringType(), "File name."),
            column("path", StringType(), "Below the WAL root; NULL = not in the listing (not looked for if finished)."),
            column(
                "offset", LongType(), "Bytes into this WAL, as recorded; negative = finished; NULL = none recorded."
            ),
            column("pending", BooleanType(), "The queue still has to read it."),
            column("length", LongType(), "Bytes as listed; an open file shows short."),
        ]
    ),
)
