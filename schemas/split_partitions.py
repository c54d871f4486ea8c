"""Table `split_partitions`: partition configurations, from `split-audit-config`."""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.table import Table, column, identity, twin

SPLIT_PARTITIONS = Table(
    "split_partitions",
    "One row for each partition of a Pegasus table in each state that `split-audit-config` read.",
    StructType(
        [
            *identity(),
            column("observed_at", TimestampType(), "When the state was observed (UTC)."),
            column("app_id", IntegerType(), "Id of the table."),
            column("table", StringType(), "Its name."),
            column("partition", IntegerType(), "Index of the partition."),
            column("partition_count", IntegerType(), "Number of partitions that meta counts."),
            column("ballot", LongType(), "Ballot; -1 = a child that is not registered."),
            column("registered", BooleanType(), "Whether meta has the partition."),
            column("primary", StringType(), "Server of the primary."),
            column("secondaries", ArrayType(StringType()), "Servers of the secondaries."),
            column("split_state", StringType(), "Split state of the partition or of its parent, as meta reports it."),
            twin("table"),
            twin("primary"),
        ]
    ),
)
