"""Table `dumped_peers`: the replication peers of a snapshot, from `dump-queues`."""

from pyspark.sql.types import BooleanType, StringType, StructType

from schemas.table import Table, column, identity

DUMPED_PEERS = Table(
    "dumped_peers",
    "One row for each replication peer of a snapshot that `dump-queues` wrote; run ids of dumps end in `-queues`.",
    StructType(
        [
            *identity(),
            column("peer_id", StringType(), "Its id."),
            column("state", StringType(), "ENABLED or DISABLED."),
            column("cluster_key", StringType(), "The cluster to which the peer replicates."),
            column("endpoint", StringType(), "Class of the peer's endpoint; NULL = HBase's own class."),
            column(
                "config",
                StringType(),
                "The peer's configuration as `{name=value, …}`, sorted by name; secrets are hidden.",
            ),
            column(
                "table_cfs",
                StringType(),
                "Tables and families that the peer receives, `{t=[f], …}`; `null` = all families.",
            ),
            column("namespaces", StringType(), "Namespaces that the peer receives as a whole, `[ns, …]`."),
            column("rule_known", BooleanType(), "Whether the snapshot has the peer's tables and namespaces."),
        ]
    ),
)
