"""Checks Q1 to Q5 on request journals (docs/split-rules.md)."""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.pegasus.domain.journal import MISUSED, OK, REJECTS

REJECT = "REJECT"


def expected_answer() -> Column:
    """Returns what a primary of the row's `partition` with the row's `version` answers to a request for its `hash`.

    The answer is NULL if `version` is NULL.
    """
    return (
        F.when(F.col("version") == -1, REJECT)
        .when(F.col("hash").bitwiseAND(F.col("version")) != F.col("partition"), MISUSED)
        .when(F.col("version").isNotNull(), OK)
    )


def broken_route_rules(asked: DataFrame, old_count: int | None) -> DataFrame:
    """Returns the violations by rule and partition: the first line in the journal, and their number.

    Args:
        asked: the requests, `transforms.journal_rows.ASKED`.
        old_count: the number of partitions before the split; None = unknown: Q3 is not checked.
    """
    said = F.when(F.col("code").isin(*REJECTS), REJECT).otherwise(F.col("code"))
    keyed = asked.where("kind <> 'scan'").withColumn("said", said).withColumn("expected", expected_answer())
    judged = keyed.where(F.col("said").isin(REJECT, OK, MISUSED))
    accepted_by_nobody = (F.col("kind") == "write") & (F.col("said") == OK) & (F.col("version") == -1)
    by_client = Window.partitionBy("client", "hash").orderBy("at_us", "line")
    again = (F.lag("said").over(by_client) == MISUSED) & (F.lag("partition").over(by_client) == F.col("partition"))
    scans = asked.where("kind = 'scan' AND foreign_rows > 0")
    overlapping = F.col("version").isNull() | (F.col("version") == -1)
    frames = [
        _as(judged.where((F.col("said") != F.col("expected")) & ~accepted_by_nobody), "Q1"),
        _as(judged.where(accepted_by_nobody), "Q2"),
        _as(keyed.withColumn("again", again).where("again"), "Q4"),
        _as(scans.where(~overlapping), "Q5"),
        _as(scans.where(overlapping), "Q5_OVERLAP"),
    ]
    if old_count is not None:
        frames.append(_as(_two_owners(keyed, old_count), "Q3"))
    every = reduce(DataFrame.unionByName, frames)
    return every.groupBy("rule", "partition").agg(F.min("line").alias("line"), F.count("*").alias("number"))


def _two_owners(keyed: DataFrame, old_count: int) -> DataFrame:
    """Returns requests that a parent accepted after its child had accepted the same hash."""
    accepted = keyed.where(F.col("said") == OK)
    child = accepted.where(F.col("partition") >= old_count).groupBy("hash").agg(F.min("at_us").alias("since"))
    return accepted.where(F.col("partition") < old_count).join(child, "hash").where(F.col("at_us") > F.col("since"))


def _as(rows: DataFrame, rule: str) -> DataFrame:
    return rows.select(F.lit(rule).alias("rule"), "partition", "line")
