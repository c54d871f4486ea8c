"""Table `split_plan`: predicted partition sizes after a split."""

from pyspark.sql.types import DoubleType, IntegerType, LongType, StructType

from schemas.table import Table, column, identity

SPLIT_PLAN = Table(
    "split_plan",
    "One row for each partition that would be split: the rows that it would keep and those that its child would get.",
    StructType(
        [
            *identity(),
            column("parent", IntegerType(), "Partition now."),
            column("child", IntegerType(), "Child of the partition after one split."),
            column("rows", LongType(), "Number of rows that the partition owns now."),
            column("bytes", LongType(), "Bytes of the keys and values of these rows."),
            column("keep_rows", LongType(), "Number of rows that would stay."),
            column("keep_bytes", LongType(), "Bytes of these rows."),
            column("move_rows", LongType(), "Number of rows that would go to the child."),
            column("move_bytes", LongType(), "Bytes of these rows."),
            column(
                "skew",
                DoubleType(),
                "Bytes of the larger half divided by the bytes of an even half: 1 = even, 2 = all rows are "
                "in one half.",
            ),
        ]
    ),
)
