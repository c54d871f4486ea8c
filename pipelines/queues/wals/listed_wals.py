"""Which of some WALs a listing has."""

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.spark.wal_names import name

_NAMES = StructType([StructField("wal", StringType())])


def wal_lengths(files: DataFrame, wals: Iterable[str]) -> dict[str, int]:
    """Bytes by name of the WALs that are there, below `WALs/` or `oldWALs/`; the longest of two of one name.

    Args:
        files: `path`, `length` of one listing.
        wals: file names.
    """
    found = queued_wals(files, wals).groupBy(name().alias("wal")).agg(F.max("length").alias("length"))
    return {row["wal"]: row["length"] for row in found.collect()}


def queued_wals(files: DataFrame, wals: Iterable[str]) -> DataFrame:
    """The files below `WALs/` and `oldWALs/` that are called so, in whatever directory: `path`, `length`.

    Queues in ZooKeeper may name as many WALs as there are files, so the names are joined by a shuffle.

    Args:
        files: `path`, `length` of one listing.
        wals: file names.
    """
    wanted = local_frame(files.sparkSession, [(wal,) for wal in sorted(set(wals))], _NAMES)
    there = files.filter(F.col("path").startswith("oldWALs/") | F.col("path").startswith("WALs/"))
    return (
        there.withColumn("wal", name()).join(wanted.hint("shuffle_hash"), "wal", "left_semi").select("path", "length")
    )
