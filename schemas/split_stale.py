"""Table `split_stale`: what Pegasus's compaction filter would do with the rows of each partition."""

from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SPLIT_STALE = Table(
    "split_stale",
    "One row for each partition and fate of its rows in the next compaction, by `split-stale`.",
    StructType(
        [
            *identity(),
            column("table_name", StringType(), "Name of the Pegasus table, as given to the job."),
            column("partition_index", IntegerType(), "The partition that stores the rows."),
            column(
                "fate", StringType(), "DROPPED_EXPIRED, DROPPED_STALE, or KEPT_… with the reason (docs/split-stale)."
            ),
            column("is_dropped", BooleanType(), "Whether the filter drops the rows."),
            column(
                "is_stale", BooleanType(), "Whether the rows belong to another partition, whatever the filter does."
            ),
            column("rows", LongType(), "How many."),
            column("bytes", LongType(), "Bytes of the rows' keys and values, before compression."),
        ]
    ),
)
