"""Looks up WALs by name in a listing."""

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.spark.wal_names import name

_NAMES = StructType([StructField("wal", StringType())])


def wal_lengths(files: DataFrame, wals: Iterable[str]) -> dict[str, int]:
    """Returns the bytes by name of the WALs below `WALs/` or `oldWALs/`; of two files with one name, the longer.

    Args:
        files: `path`, `length` of one listing.
        wals: file names.
    """
    found = queued_wals(files, wals).groupBy(name().alias("wal")).agg(F.max("length").alias("length"))
    return {row["wal"]: row["length"] for row in found.collect()}


def queued_wals(files: DataFrame, wals: Iterable[str]) -> DataFrame:
    """Returns the files with these names in any directory below `WALs/` and `oldWALs/`: `path`, `length`.

    Queues in ZooKeeper may name as many WALs as there are files, so the names are joined with a shuffle.

    Args:
        files: `path`, `length` of one listing.
        wals: file names.
    """
    wanted = local_frame(files.sparkSession, [(wal,) for wal in sorted(set(wals))], _NAMES)
    there = files.filter(F.col("path").startswith("oldWALs/") | F.col("path").startswith("WALs/"))
    return (
        there.withColumn("wal", name()).join(wanted.hint("shuffle_hash"), "wal", "left_semi").select("path", "length")
    )
