"""Sums up the files below `remoteWALs/` by directory."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.decide.rule.remote_wals import REMOTE_WALS, UNFINISHED_SUFFIX


def remote_directories(files: DataFrame) -> DataFrame:
    """Returns `cluster` and the columns of `RemoteDirectory`, one row for each directory; times in ms since the epoch.

    Args:
        files: listings; Parquet's statistics let Spark skip the row groups of `oldWALs/`.
    """
    below = files.filter(F.col("path").startswith(f"{REMOTE_WALS}/"))
    parts = F.split("path", "/")
    empty = F.col("length") == 0
    modified = F.unix_millis("modification_time")
    return below.groupBy("cluster", F.when(F.size(parts) > 2, parts[1]).otherwise(F.lit("")).alias("name")).agg(
        F.count(F.lit(1)).alias("files"),
        F.sum("length").alias("bytes"),
        F.count_if(empty).alias("empty_files"),
        F.count_if(F.col("path").endswith(UNFINISHED_SUFFIX)).alias("unfinished_files"),
        F.min(F.when(~empty, modified)).alias("oldest_modification"),
        F.max(modified).alias("newest_modification"),
    )
