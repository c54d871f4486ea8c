"""Table `syncup_peers`: what ReplicationSyncUp would ship to each peer."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity

SYNCUP_PEERS = Table(
    "syncup_peers",
    "Per peer, what ReplicationSyncUp would read for it, and what else `hbase:replication` has of it.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Peer."),
            column("peer_state", StringType(), "ENABLED or DISABLED; NULL for a removed peer that has rows."),
            column("cluster_key", StringType(), "Where it is; NULL = unknown."),
            column("queues", LongType(), "Queues that are claimed for it, placeholders included."),
            column("files", LongType(), "WALs with edits of users that are read, counted once for each queue."),
            column("bytes", LongType(), "Bytes of them."),
            column("resent_bytes", LongType(), "Of these, sent already; NULL = nobody knows."),
            column(
                "hfile_refs",
                LongType(),
                "HFiles of bulk loads that wait for it; the next master drops those older than the run.",
            ),
            column(
                "last_sequence_ids",
                LongType(),
                "Regions of a serial peer with a last pushed sequence id; dropped likewise.",
            ),
        ]
    ),
)
