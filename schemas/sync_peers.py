"""Table `sync_peers`: the synchronous replication peers and their states, night by night."""

from pyspark.sql.types import IntegerType, StringType, StructType, TimestampType

from schemas.table import Table, column, identity

SYNC_PEERS = Table(
    "sync_peers",
    "One row for each peer with synchronous replication.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Peer."),
            column("state", StringType(), "ENABLED or DISABLED: whether asynchronous replication ships the rest."),
            column("sync_state", StringType(), "ACTIVE, DOWNGRADE_ACTIVE or STANDBY; NULL = unknown."),
            column("remote_wal_dir", StringType(), "Directory to which this cluster writes copies while it is ACTIVE."),
            column(
                "previous_sync_state", StringType(), "Newest known state of the nights before; NULL = none is known."
            ),
            column(
                "since",
                TimestampType(),
                "First of the consecutive nights with this state (UTC); a night on which it is unknown counts as one "
                "of them.",
            ),
            column("nights", IntegerType(), "Number of consecutive nights with this state, including this night."),
        ]
    ),
)
