"""Reads from a listing which WALs servers still have, for an audit of queues."""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.common.spark.columns import in_turn
from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.spark.wal_names import WAL_NAME_REGEX, ascii_lower, is_meta_wal, name, own_server
from pipelines.hbase.wal_root import ARCHIVE, LIVE

_SERVERS = StructType([StructField("own_server", StringType())])


def live_directories(files: DataFrame) -> DataFrame:
    """Returns the directories below `WALs/` that contain files: `directory` (its name), `files`."""
    return (
        files.filter(F.col("path").startswith(f"{LIVE}/") & (F.substring_index("path", "/", 2) != F.col("path")))
        .groupBy(F.split_part(F.col("path"), F.lit("/"), F.lit(2)).alias("directory"))
        .agg(F.count(F.lit(1)).alias("files"))
    )


def archived_of(files: DataFrame, servers: Collection[str]) -> DataFrame:
    """Counts the WALs below oldWALs of the given servers, without those of `hbase:meta` and `hbase:replication`.

    Args:
        files: of one listing.
        servers: `host,port,startcode`, host in lower case.

    Returns:
        `own_server`, `files`, `bytes`, `last` (newest modification time, ms since the epoch).
    """
    # encoded as in the file name, in lower case (`is_replication_table_group`): a host has no other character to encode
    own_groups = ascii_lower(F.regexp_replace(F.regexp_replace("own_server", ",", "%2c"), ":", "%3a"))
    group = ascii_lower(F.col("wal_group"))
    of_table = (group == F.concat(own_groups, F.lit(".rep"))) | group.startswith(
        F.concat_ws(".", own_groups, own_groups, F.lit("rep."))
    )
    wals = (
        files.filter(F.col("path").startswith(f"{ARCHIVE}/") & ~is_meta_wal())
        .withColumn("wal_group", F.nullif(F.regexp_extract(name(), WAL_NAME_REGEX, 1), F.lit("")))
        .filter(F.col("wal_group").isNotNull())
    )
    wanted = local_frame(files.sparkSession, [(server,) for server in sorted(servers)], _SERVERS)
    return (
        wals.select("*", *in_turn(own_server(F.lit(True))))
        .join(F.broadcast(wanted), "own_server", "left_semi")
        .filter(~of_table)
        .groupBy("own_server")
        .agg(
            F.count(F.lit(1)).alias("files"),
            F.sum("length").alias("bytes"),
            F.max(F.unix_millis("modification_time")).alias("last"),
        )
    )
