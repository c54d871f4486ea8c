"""Table `split_verify`: the comparison of two copies of a Pegasus table, partition by partition."""

from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SPLIT_VERIFY = Table(
    "split_verify",
    "One row for each partition of the finer of two copies of a Pegasus table that `split-verify` compared.",
    StructType(
        [
            *identity(),
            column("table_name", StringType(), "The Pegasus table, as the run was told."),
            column("partition", IntegerType(), "Partition of the finer copy: hash % partitions of its keys."),
            column("before_rows", LongType(), "Its live rows before, wherever clients look for them."),
            column("after_rows", LongType(), "Its live rows after."),
            column("before_bytes", LongType(), "Bytes of their keys and values before."),
            column("after_bytes", LongType(), "Bytes of their keys and values after."),
            column("before_digest", StringType(), "Sum and exclusive or of the 64-bit digests of these rows, hex."),
            column("after_digest", StringType(), "The same after."),
            column("is_equal", BooleanType(), "The same rows are live on both sides."),
            column("before_expired", LongType(), "Expired rows before, in their own partition; not compared."),
            column("after_expired", LongType(), "Expired rows after, in their own partition; not compared."),
            column("stale_rows", LongType(), "Copies after that a split left in another partition."),
            column("stale_bytes", LongType(), "Bytes of their keys and values."),
            column("foreign_rows", LongType(), "Rows after in partitions where they never belonged."),
        ]
    ),
)
