"""Table `dumped_queues`: the replication queues of a snapshot, from `dump-queues`."""

from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

DUMPED_QUEUES = Table(
    "dumped_queues",
    "One row for each replication queue in the last reading of a snapshot, in the table or in ZooKeeper.",
    StructType(
        [
            *identity(),
            column("queue_id", StringType(), "Row key in hbase:replication, or name of the znode below its server."),
            column("peer_id", StringType(), "Peer of the queue."),
            column("peer_state", StringType(), "ENABLED or DISABLED; NULL for a removed peer."),
            column("peer_exists", BooleanType(), "False: HBase calls it a deleted queue."),
            column("owner", StringType(), "The server that has it."),
            column("source", StringType(), "The server that wrote its WALs; equals owner in a normal queue."),
            column("recovered", BooleanType(), "It was claimed from a dead server."),
            column(
                "dead_servers",
                ArrayType(StringType()),
                "Whose it was, the first owner first; the table keeps the first alone.",
            ),
            column("owner_online", BooleanType(), "Whether the owner is alive; NULL where the snapshot cannot tell."),
            column("pending_wals", LongType(), "WALs that it still has to read."),
            column("pending_bytes", LongType(), "Bytes of those that are in the listing."),
            column("missing_wals", LongType(), "How many of them are not in the listing."),
        ]
    ),
)
