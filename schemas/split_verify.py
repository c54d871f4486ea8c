"""Table `split_verify`: the comparison of two copies of a Pegasus table, partition by partition."""

from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SPLIT_VERIFY = Table(
    "split_verify",
    "One row for each partition of the copy with more partitions, from the two copies that `split-verify` compared.",
    StructType(
        [
            *identity(),
            column("table_name", StringType(), "Name of the Pegasus table, as given to the job."),
            column("partition", IntegerType(), "Partition in the copy with more partitions: hash % partitions."),
            column("before_rows", LongType(), "Number of its live rows before, counted where clients look for them."),
            column("after_rows", LongType(), "Number of its live rows after."),
            column("before_bytes", LongType(), "Bytes of the live rows' keys and values before."),
            column("after_bytes", LongType(), "Bytes of the live rows' keys and values after."),
            column(
                "before_digest",
                StringType(),
                "Sum and exclusive or of the 64-bit digests of the live rows before, hexadecimal.",
            ),
            column(
                "after_digest",
                StringType(),
                "Sum and exclusive or of the 64-bit digests of the live rows after, hexadecimal.",
            ),
            column("is_equal", BooleanType(), "Whether both sides have the same live rows."),
            column("before_expired", LongType(), "Number of expired rows before in their own partition; not compared."),
            column("after_expired", LongType(), "Number of expired rows after in their own partition; not compared."),
            column("stale_rows", LongType(), "Number of copies after that a split left in another partition."),
            column("stale_bytes", LongType(), "Bytes of these copies' keys and values."),
            column("foreign_rows", LongType(), "Number of rows after in partitions to which they never belonged."),
        ]
    ),
)
