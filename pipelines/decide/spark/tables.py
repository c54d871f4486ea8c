"""Builds the per-file table, and looks up the few files that findings need by name."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.common.spark.columns import prefix_columns, same_but_no_key
from pipelines.common.spark.local_frames import local_frame
from pipelines.lake.run_summary import RunKey
from pipelines.lake.twins import twin_columns
from schemas.table import identity
from schemas.wal_verdicts import WAL_VERDICTS

_LAST_BYTES = 32
_NAMES = StructType([StructField("cluster", StringType()), StructField("name", StringType())])


def wal_verdicts(decided: DataFrame, keys: Sequence[RunKey]) -> DataFrame:
    """Returns the rows of `wal_verdicts`: the archived files of `decided` with the identity of their runs."""
    archived = decided.filter("archived").withColumns(twin_columns(WAL_VERDICTS))
    if len(keys) == 1:
        identified = archived.withColumns({"run_id": F.lit(keys[0].run_id), "run_date": F.lit(keys[0].run_date)})
    else:
        runs = local_frame(
            archived.sparkSession,
            [(key.cluster, key.run_id, key.run_date) for key in keys],
            StructType(identity()),
        )
        identified = archived.join(F.broadcast(runs), "cluster")
    return identified.select(*(F.col(field.name).cast(field.dataType) for field in WAL_VERDICTS.schema))


def offset_wals(spark: SparkSession, files: DataFrame, names: Sequence[tuple[str, str]]) -> DataFrame:
    """Finds the WALs that offsets name: `cluster`, `name`, `archived`, `length` (bytes), one row for each WAL.

    If a name is in several directories, an archived file counts before a live one, and of the archived ones the
    shortest: a copy that ends before the offset is what BEYOND_EOF looks for, and nobody knows which one HBase wrote.

    Args:
        spark: used only to create the small side of the join.
        files: listings of all clusters.
        names: (cluster, file name) of every offset that names the WAL it reads next.
    """
    # the last bytes of a path are cut without searching for the name, and a long is looked up without a copy; the few
    # rows found are compared in full
    last = min(_LAST_BYTES, *(len(name.encode()) for _, name in names))

    def key(text: str) -> Column:
        return F.xxhash64(F.substring(F.col(text).cast("binary"), F.octet_length(text) - last + 1, F.lit(last)))

    wanted = local_frame(spark, names, _NAMES).withColumn("key", key("name"))
    wanted = F.broadcast(wanted.select(*prefix_columns(wanted, "w")))
    found = files.withColumn("key", key("path")).join(wanted, F.col("key") == F.col("w_key"))
    named = found.withColumns(
        {"name": F.substring_index("path", "/", -1), "live": ~F.col("path").startswith("oldWALs/")}
    ).filter(same_but_no_key([("cluster", "w_cluster"), ("name", "w_name")]))
    first = named.groupBy("cluster", "name").agg(F.min(F.struct("live", "length")).alias("first"))
    return first.select("cluster", "name", (~F.col("first.live")).alias("archived"), "first.length")


def examples(verdicts: DataFrame) -> DataFrame:
    """Shows where files are, by reason: `cluster`, `reason`, `directory`, `files`, `bytes`, `example` (a path).

    Args:
        verdicts: `cluster`, `path`, `length`, `reason`.
    """
    return (
        verdicts.withColumn("directory", F.regexp_replace("path", r"/[^/]*\z", ""))
        .groupBy("cluster", "reason", "directory")
        .agg(F.count(F.lit(1)).alias("files"), F.sum("length").alias("bytes"), F.min("path").alias("example"))
    )
