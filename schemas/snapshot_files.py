"""Defines the schema of `files/*.parquet` in a snapshot. Other programs rely on it: columns are only ever added."""

from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

SNAPSHOT_FILES = StructType(
    [
        StructField("path", StringType()),
        StructField("length", LongType()),
        StructField("modification_time", TimestampType()),
    ]
)
