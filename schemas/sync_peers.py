"""Table `sync_peers`: the synchronous replication peers and their states, night by night."""

from pyspark.sql.types import IntegerType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

SYNC_PEERS = Table(
    "sync_peers",
    "One row per peer with synchronous replication.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Peer."),
            column("state", StringType(), "ENABLED or DISABLED: whether the rest is shipped asynchronously."),
            column("sync_state", StringType(), "ACTIVE, DOWNGRADE_ACTIVE or STANDBY; NULL = unknown."),
            column("remote_wal_dir", StringType(), "Where this cluster writes copies while it is ACTIVE."),
            column("previous_sync_state", StringType(), "Of the night before; NULL = none."),
            column("since", TimestampType(), "First of the nights in a row with this state (UTC)."),
            column("nights", IntegerType(), "How many nights these are, this one included."),
        ]
    ),
)
