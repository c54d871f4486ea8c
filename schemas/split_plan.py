"""Table `split_plan`: predicted partition sizes after a split."""

from pyspark.sql.types import DoubleType, IntegerType, LongType, StructType

from schemas.table import Table, column, identity

SPLIT_PLAN = Table(
    "split_plan",
    "One row for each partition that would be split: what it would keep and what its child would get.",
    StructType(
        [
            *identity(),
            column("parent", IntegerType(), "Partition now."),
            column("child", IntegerType(), "Its child after one split."),
            column("rows", LongType(), "Rows it owns now."),
            column("bytes", LongType(), "Bytes of their keys and values."),
            column("keep_rows", LongType(), "Rows that would stay."),
            column("keep_bytes", LongType(), "Their bytes."),
            column("move_rows", LongType(), "Rows that would go to the child."),
            column("move_bytes", LongType(), "Their bytes."),
            column(
                "skew", DoubleType(), "Bytes of the greater half over those of an even one: 1 = even, 2 = all in one."
            ),
        ]
    ),
)
