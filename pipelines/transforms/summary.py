"""The one pass over all files that everything small is computed from."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from pipelines.domain.totals import BucketTotal
from pipelines.transforms.wal_names import is_master_local_wal, is_procedure_wal

CONTROL_OR_LINE_END = r"[\x00-\x1f\x7f\x{85}\x{2028}\x{2029}]"
KEYS = ("cluster", "archived", "verdict", "reason", "hbase_verdict", "bucket")


def bucket_totals(decided: DataFrame, clusters: DataFrame, cleaner_interval_ms: int) -> DataFrame:
    """Totals per bucket, as `pipelines.domain.totals.BucketTotal`, and counts for the gate.

    Args:
        decided: `pipelines.transforms.verdicts.decided`.
        clusters: `DecisionFrames.clusters`, for the TTLs.
        cleaner_interval_ms: `hbase.master.cleaner.interval`.
    """
    name = F.substring_index("path", "/", -1)
    named = decided.withColumn("name", name)
    ttls = F.broadcast(
        clusters.select("cluster", "files_started", "wal_ttl", "procedure_wal_ttl", "master_local_wal_ttl")
    )
    age = F.col("files_started") - F.unix_millis("modification_time")
    overdue = (
        F.col("archived")
        & (F.col("hbase_verdict") == "DELETE")
        & ~F.col("reason").isin("BACKUP", "FOREIGN_CLEANER", "ADD_PEER_RUNNING", "SNAPSHOT_UNTRUSTED")
        & (age > _ttl() + F.lit(3 * cleaner_interval_ms))
    )
    return (
        named.join(ttls, "cluster")
        .groupBy(*KEYS)
        .agg(
            F.count(F.lit(1)).alias("files"),
            F.sum("length").alias("bytes"),
            F.min("wal_timestamp").alias("oldest_timestamp"),
            F.min(F.unix_millis("modification_time")).alias("oldest_modification"),
            F.count_if(overdue).alias("overdue_files"),
            F.sum(F.when(overdue, F.col("length")).otherwise(F.lit(0))).alias("overdue_bytes"),
            F.count_if(bad_path()).alias("bad_paths"),
            F.count_if(F.col("length").isNull() | F.col("modification_time").isNull() | (F.col("length") < 0)).alias(
                "bad_values"
            ),
            F.count_if((F.col("verdict") == "DELETABLE") & (F.size("blocking") > 0)).alias("deletable_and_blocking"),
        )
    )


def _ttl() -> Column:
    return (
        F.when(F.col("wal_group").isNotNull(), F.col("wal_ttl"))
        .when(is_procedure_wal(), F.col("procedure_wal_ttl"))
        .when(is_master_local_wal(), F.col("master_local_wal_ttl"))
        .otherwise(F.lit(0))
    )


def bad_path() -> Column:
    """A path that no listing of wal_root can contain, or that a line-based list could not carry."""
    path = F.col("path")
    return (
        path.isNull()
        | path.startswith("/")
        | path.contains("//")
        | path.endswith("/")
        | F.concat(F.lit("/"), path, F.lit("/")).rlike(r"/\.\.?/")
        | ~path.contains("/")
        | path.rlike(CONTROL_OR_LINE_END)
    )


def duplicate_paths(files: DataFrame) -> DataFrame:
    """How many rows of each cluster repeat a path: `cluster`, `duplicate_paths`.

    Hashes are counted instead of paths, since 64 bits are quick to shuffle; two paths with one hash would refuse a
    sound listing (some 3 in a million for 10 million files), never pass a broken one.
    """
    return (
        files.groupBy("cluster", F.xxhash64("path").alias("hash"))
        .agg((F.count(F.lit(1)) - 1).alias("repeats"))
        .filter("repeats > 0")
        .groupBy("cluster")
        .agg(F.sum("repeats").alias("duplicate_paths"))
    )


def as_bucket_total(row: Row) -> BucketTotal:
    """A collected row of `bucket_totals`."""
    values: Mapping[str, object] = row.asDict()
    return BucketTotal(**{name: values[name] for name in BucketTotal.__slots__})  # type: ignore[arg-type]
