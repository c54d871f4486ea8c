"""Table `syncup_peers`: what ReplicationSyncUp would ship to each peer."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity

SYNCUP_PEERS = Table(
    "syncup_peers",
    "One row for each peer: the data that ReplicationSyncUp would read for it, and its other data in "
    "`hbase:replication`.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Peer."),
            column("peer_state", StringType(), "ENABLED or DISABLED; NULL for a removed peer that has rows."),
            column("cluster_key", StringType(), "Cluster key of the peer; NULL = unknown."),
            column("queues", LongType(), "Number of queues that are claimed for the peer, including placeholders."),
            column("files", LongType(), "Number of WALs with users' edits that are read, counted once for each queue."),
            column("bytes", LongType(), "Bytes of these WALs."),
            column(
                "resent_bytes",
                LongType(),
                "Part of `bytes` that the peer has received already, or from a queue before; NULL = unknown.",
            ),
            column(
                "hfile_refs",
                LongType(),
                "Number of bulk-loaded HFiles that wait for the peer; the next master of HBase 3 drops those older "
                "than the run.",
            ),
            column(
                "last_sequence_ids",
                LongType(),
                "Number of regions of a serial peer with a last pushed sequence id; the next master drops "
                "them likewise.",
            ),
        ]
    ),
)
