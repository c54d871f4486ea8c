"""`files/*.parquet` of a snapshot (design section 2; a contract)."""

from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

SNAPSHOT_FILES = StructType(
    [
        StructField("path", StringType()),
        StructField("length", LongType()),
        StructField("modification_time", TimestampType()),
    ]
)
