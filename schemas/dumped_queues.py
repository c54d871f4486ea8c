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
            column(
                "peer_exists", BooleanType(), "Whether the peer exists; if not, HBase calls the queue a deleted queue."
            ),
            column("owner", StringType(), "The server that has the queue now."),
            column("source", StringType(), "The server that wrote its WALs; equals owner in a normal queue."),
            column("recovered", BooleanType(), "Whether the queue was claimed from a dead server."),
            column(
                "dead_servers",
                ArrayType(StringType()),
                "Former owners, the first owner first; with queues in the table, only the first one is known.",
            ),
            column("owner_online", BooleanType(), "Whether the owner is alive; NULL = the snapshot does not show it."),
            column("pending_wals", LongType(), "Number of WALs that the queue still has to read."),
            column("pending_bytes", LongType(), "Bytes of these WALs, as far as they are in the listing."),
            column(
                "missing_wals",
                LongType(),
                "Number of these WALs that are not in the listing, without those that may be younger than it.",
            ),
        ]
    ),
)
