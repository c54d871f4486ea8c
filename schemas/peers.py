"""Table `peers`: the state of every replication peer, night by night."""

from pyspark.sql.types import BooleanType, IntegerType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

PEERS = Table(
    "peers",
    "One row for each replication peer and night: its state, and since which night it has been in it.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Peer."),
            column("state", StringType(), "ENABLED or DISABLED."),
            column(
                "state_since",
                TimestampType(),
                "Start of step `files` of the first of the consecutive nights with this state (UTC); the state changed "
                "between this night and the night before it, or before the first night that walsafe knows.",
            ),
            column("nights", IntegerType(), "Number of consecutive nights with this state, including this night."),
            column("previous_state", StringType(), "State on the night before; NULL = the peer was not known then."),
            column("cluster_key", StringType(), "The peer cluster, as HBase has it."),
            column("endpoint", StringType(), "Class of the replication endpoint; NULL = HBase's own."),
            column("serial", BooleanType(), "Whether the peer replicates serially."),
            column(
                "replicate_all",
                BooleanType(),
                "Whether it replicates all tables that are not excluded; NULL = unknown.",
            ),
            column("sync_state", StringType(), "State of synchronous replication; NULL or NONE = it has none."),
        ]
    ),
)
