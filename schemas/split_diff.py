"""Table `split_diff`: keys of a Pegasus table on which two copies differ."""

from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SPLIT_DIFF = Table(
    "split_diff",
    "One row for each difference that `split-verify` found, up to its limit for each reason.",
    StructType(
        [
            *identity(),
            column("table_name", StringType(), "Name of the Pegasus table, as given to the job."),
            column(
                "partition",
                IntegerType(),
                "Partition that owns the key in the copy with more partitions; NULL if the key is malformed.",
            ),
            column(
                "reason",
                StringType(),
                "lost, value, expired, stale-newer, stale, foreign, malformed (docs/split-verify).",
            ),
            column("side", StringType(), "before or after: the side on which the row is missing, older or misplaced."),
            column(
                "key",
                StringType(),
                "Raw key with bytes escaped as in Pegasus's shell; its first two bytes are a length.",
            ),
            column("raw_key", BinaryType(), "Bytes of the raw key."),
            column("key_hash", StringType(), "CRC-64/NVME of its hash key, 16 hexadecimal digits."),
            column("before_index", IntegerType(), "Partition that stored the row before."),
            column("after_index", IntegerType(), "Partition that stores the row after."),
            column(
                "before_timetag", LongType(), "Timetag of the row's value before: timestamp µs << 8, cluster, deleted."
            ),
            column("after_timetag", LongType(), "Timetag of the row's value after."),
            column("stale_timetag", LongType(), "Timetag of the copy that was left in another partition."),
            column("detail", StringType(), "What is wrong, in words."),
        ]
    ),
)
