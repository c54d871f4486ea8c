"""Table `split_diff`: keys of a Pegasus table on which two copies differ."""

from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SPLIT_DIFF = Table(
    "split_diff",
    "One row for each difference that `split-verify` found, up to its limit for each reason.",
    StructType(
        [
            *identity(),
            column("table_name", StringType(), "The Pegasus table, as the run was told."),
            column("partition", IntegerType(), "Partition of the finer copy that owns the key; NULL if malformed."),
            column(
                "reason",
                StringType(),
                "lost, value, expired, stale-newer, stale, foreign, malformed (docs/split-verify).",
            ),
            column("side", StringType(), "before or after: where the row is missing, older, or lies."),
            column("key", StringType(), "Raw key as Pegasus's shell escapes bytes; its first two bytes are a length."),
            column("raw_key", BinaryType(), "The same key, its bytes."),
            column("key_hash", StringType(), "CRC-64/NVME of its hash key, 16 hexadecimal digits."),
            column("before_index", IntegerType(), "Partition it lay in before."),
            column("after_index", IntegerType(), "Partition it lies in after."),
            column("before_timetag", LongType(), "Timetag of its value before: timestamp µs << 8, cluster, deleted."),
            column("after_timetag", LongType(), "Timetag of its value after."),
            column("stale_timetag", LongType(), "Timetag of the copy that was left in another partition."),
            column("detail", StringType(), "What is wrong, in words."),
        ]
    ),
)
