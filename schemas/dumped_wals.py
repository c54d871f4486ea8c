"""Table `dumped_wals`: the WALs of the replication queues of a snapshot, from `dump-queues`."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity, twin

DUMPED_WALS = Table(
    "dumped_wals",
    "One row for each queue and WAL that the queue still has to read or that one of its offsets names.",
    StructType(
        [
            *identity(),
            column("queue_id", StringType(), "The queue; see `dumped_queues`."),
            column("peer_id", StringType(), "Peer of the queue."),
            column("owner", StringType(), "The server that has the queue."),
            column("source", StringType(), "The server that wrote the WALs of the queue."),
            column("wal_group", StringType(), "WAL group, URL-encoded."),
            column("wal", StringType(), "File name."),
            column(
                "path",
                StringType(),
                "Path below the WAL root; NULL = not in the listing (not looked up if the WAL is finished).",
            ),
            column(
                "offset",
                LongType(),
                "Recorded offset in this WAL, bytes; negative = finished; NULL = no offset is recorded.",
            ),
            column("pending", BooleanType(), "Whether the queue still has to read the WAL."),
            column("length", LongType(), "Length in the listing, bytes; too small while the file is open."),
            twin("offset"),
        ]
    ),
)
