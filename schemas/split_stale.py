"""Table `split_stale`: what Pegasus's compaction filter would do with the rows of each partition."""

from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SPLIT_STALE = Table(
    "split_stale",
    "One row for each partition and fate of its rows in the next compaction, by `split-stale`.",
    StructType(
        [
            *identity(),
            column("table_name", StringType(), "The Pegasus table, as the run was told."),
            column("partition_index", IntegerType(), "The partition that the rows lie in."),
            column("fate", StringType(), "DROPPED_EXPIRED, DROPPED_STALE, or KEPT_…: why (docs/split-stale)."),
            column("is_dropped", BooleanType(), "The filter takes them."),
            column("is_stale", BooleanType(), "They belong to another partition, whatever the filter does."),
            column("rows", LongType(), "How many."),
            column("bytes", LongType(), "Of their keys and values, before compression."),
        ]
    ),
)
