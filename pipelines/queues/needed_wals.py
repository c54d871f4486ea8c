"""Selects listed files: those that some queue still needs, or those given by path or by name."""

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from pipelines.common.spark.columns import in_turn
from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.decide.spark.wal_names import WAL_NAME_REGEX, name, own_server
from pipelines.hbase.replication_queues import NEEDS_ALL
from pipelines.hbase.server_names import ServerName

_NEEDS = StructType([StructField("wal_group", StringType()), StructField("need", LongType())])
_SERVERS = StructType([StructField("own_server", StringType())])
_ENCODED_SERVER = r"^(.+?%2C[0-9]+%2C[0-9]+)"
_NAMES = StructType([StructField("wal", StringType())])
_PATHS = StructType([StructField("path", StringType())])


def smallest_needed_timestamps(rows: Sequence[MergedQueueRow]) -> dict[str, int]:
    """Returns the smallest WAL timestamp (ms) that a queue still needs, by group; NEEDS_ALL = all of them.

    A group that no row names is not in the result: every queue of its server needs all of it.
    """
    groups: dict[ServerName, set[str]] = {}
    for row in rows:
        groups.setdefault(row.queue.wals_of, set()).update(row.offsets)
    smallest: dict[str, int] = {}
    for row in rows:
        for group in groups[row.queue.wals_of]:
            smallest[group] = min(smallest.get(group, row.need(group)), row.need(group))
    return smallest


def needed_wals(files: DataFrame, servers: Sequence[str], needs: Mapping[str, int], group: str | None) -> DataFrame:
    """Returns the WALs below `oldWALs` and `WALs` that a queue may still have to read: `path`, `length`.

    Args:
        files: `path`, `length` of one listing.
        servers: servers whose WALs the queues read.
        needs: smallest timestamp (ms) still needed, by group; an absent group is needed whole.
        group: only this group; None = all groups.
    """
    spark = files.sparkSession
    wals = (
        files.filter(F.col("path").startswith("oldWALs/") | F.col("path").startswith("WALs/"))
        .withColumn("wal_group", F.nullif(F.regexp_extract(name(), WAL_NAME_REGEX, 1), F.lit("")))
        .withColumn("wal_timestamp", F.regexp_extract(name(), WAL_NAME_REGEX, 2).try_cast("bigint"))
        .filter(F.col("wal_group").isNotNull() if group is None else F.col("wal_group") == group)
    )
    of_servers = local_frame(spark, [(server,) for server in servers], _SERVERS)
    smallest = local_frame(spark, list(needs.items()), _NEEDS)
    return (
        wals.select("*", *in_turn(own_server(F.lit(True))))
        .join(F.broadcast(of_servers), "own_server", "left_semi")
        .join(F.broadcast(smallest), "wal_group", "left")
        # a WAL whose timestamp does not fit 64 bits cannot be compared with the need, so it is kept
        .filter(F.coalesce(F.col("wal_timestamp") >= F.coalesce("need", F.lit(NEEDS_ALL)), F.lit(True)))
        .select("path", "length")
    )


def live_or_odd_files(files: DataFrame, prefixes: Sequence[str]) -> DataFrame:
    """Returns all files below `WALs`, and files of `oldWALs` that are named after a server but are not WALs.

    Args:
        files: `path`, `length` of one listing.
        prefixes: servers, URL-encoded.

    Returns:
        `path`, `length`.
    """
    odd = F.regexp_extract(name(), _ENCODED_SERVER, 1).isin(*prefixes) & (
        F.regexp_extract(name(), WAL_NAME_REGEX, 1) == F.lit("")
    )
    live = F.col("path").startswith("WALs/")
    return files.filter(live | (F.col("path").startswith("oldWALs/") & odd)).select("path", "length")


def named_wals(files: DataFrame, paths: Sequence[str]) -> DataFrame:
    """Returns the files with these paths: `path`, `length`."""
    wanted = local_frame(files.sparkSession, [(path,) for path in paths], _PATHS)
    return files.join(F.broadcast(wanted), "path", "left_semi").select("path", "length")


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
