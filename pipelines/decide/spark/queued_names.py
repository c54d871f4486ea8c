"""The rule by exact name in Spark, for queues in ZooKeeper: gives the same answers as `zookeeper_rule.decide_by_name`.

A queue in ZooKeeper lists every WAL, so there may be as many names as files. They are joined by a shuffle, because
broadcast data must fit one executor's memory whatever the backlog.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType

from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.verdict import Reason
from pipelines.decide.spark import wal_names

POSITIONS = "positions"
"""Column with the position of a file in each queue of its answer's holders; NULL for files of other queue storages."""
ONLY_OF_TABLES = (Reason.META_WAL, Reason.POISON_NAME)
"""Early reasons that do not apply here: the cleaner of HBase 1.x and 2.x compares only the name."""
UNLESS_QUEUED = (Reason.PROCEDURE_WAL, Reason.MASTER_LOCAL_WAL)
"""Early reasons that do not apply to a file in a queue."""
_WALS = StructType(
    [
        StructField("q_cluster", StringType()),
        StructField("q_wal", StringType()),
        StructField("q_bucket", IntegerType()),
        StructField(POSITIONS, ArrayType(LongType())),
    ]
)
_CLUSTERS = StructType(
    [
        StructField("n_cluster", StringType()),
        StructField("n_read_from", LongType()),
        StructField("n_not_queued", IntegerType()),
        StructField("n_too_late", IntegerType()),
    ]
)


@dataclass(frozen=True)
class NamedFrames:
    """The clusters of a run whose files are looked up by name.

    Attributes:
        names: names of these clusters.
        alone: whether the run has no other cluster.
        wals: every WAL in a queue, with the number of its answer.
        clusters: the numbers of the answers for any other file, and the start of the first reading, ms.
    """

    names: tuple[str, ...]
    alone: bool
    wals: DataFrame
    clusters: DataFrame


def named_frames(spark: SparkSession, tables: Iterable[DecisionTable]) -> NamedFrames | None:
    """Builds the frames of a run; None if no cluster has its queues in ZooKeeper."""
    every = list(tables)
    named = [(table, table.named) for table in every if table.named is not None]
    if not named:
        return None
    wals = (
        (table.cluster, wal, queued.bucket, list(queued.positions))
        for table, names in named
        for wal, queued in names.wals.items()
    )
    clusters = [(t.cluster, names.read_from, t.unknown.bucket, t.no_server.bucket) for t, names in named]
    return NamedFrames(
        names=tuple(table.cluster for table, _ in named),
        alone=len(named) == len(every),
        wals=local_frame(spark, wals, _WALS),
        clusters=local_frame(spark, clusters, _CLUSTERS),
    )


def looked_up_by_name(found: DataFrame, frames: NamedFrames) -> DataFrame:
    """Replaces what the table's rule found for files of these clusters by the answers by name.

    Args:
        found: what `pipelines.decide.spark.verdicts.looked_up` has found for all clusters before this call.
        frames: the names.

    Returns:
        The columns of `found`, and `positions`.
    """
    theirs = F.col("cluster").isin(*frames.names)
    # the join drops the others as well; without the filter they would be looked up twice
    ours = found if frames.alone else found.where(theirs)
    joined = (
        ours.withColumn("_name", wal_names.name())
        .join(F.broadcast(frames.clusters), F.col("cluster") == F.col("n_cluster"))
        .join(
            frames.wals.hint("shuffle_hash"),
            (F.col("_name") == F.col("q_wal")) & (F.col("cluster") == F.col("q_cluster")),
            "left",
        )
    )
    any_other = F.when(F.unix_millis("modification_time") < F.col("n_read_from"), F.col("n_not_queued")).otherwise(
        F.col("n_too_late")
    )

    def meaningful(early: str) -> Column:
        means_nothing = F.col(early).isin(_numbers(ONLY_OF_TABLES)) | (
            F.col("q_bucket").isNotNull() & F.col(early).isin(_numbers(UNLESS_QUEUED))
        )
        return F.when(~means_nothing, F.col(early))

    named = joined.withColumns(
        {
            "bucket": F.coalesce("q_bucket", any_other),
            "early": meaningful("early"),
            "early_once_aged": meaningful("early_once_aged"),
        }
    ).select(*found.columns, POSITIONS)
    return named if frames.alone else found.where(~theirs).unionByName(named, allowMissingColumns=True)


def with_own_names(blocking: Column) -> Column:
    """Puts the file's own name and its position in each queue into holders by name; leaves others as they are."""

    def own(holder: Column, place: Column) -> Column:
        return holder.withField("wal", wal_names.name()).withField("offset", F.get(POSITIONS, place))

    holders = F.transform(blocking, own)
    return F.when(F.col(POSITIONS).isNotNull(), holders).otherwise(blocking)


def _numbers(reasons: Iterable[Reason]) -> list[int]:
    every = list(Reason)
    return [every.index(reason) for reason in reasons]
