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
            column("cluster_key", StringType(), "The cluster it replicates to."),
            column("endpoint", StringType(), "Class of its endpoint; NULL = HBase's own."),
            column("config", StringType(), "Its configuration as `{name=value, …}`, by name; secrets hidden."),
            column("table_cfs", StringType(), "Tables and families it takes, `{t=[f], …}`; `null` = all families."),
            column("namespaces", StringType(), "Namespaces it takes whole, `[ns, …]`."),
            column("rule_known", BooleanType(), "False: the snapshot knows neither its tables nor its namespaces."),
        ]
    ),
)
