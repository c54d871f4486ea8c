"""Cuts the lines of all delete-safe lists of a run into parts, in the same places on every machine.

Spark's range partitioning samples at random, so two runs would cut in different places. Here the cuts are quantiles of
the lines whose hash is divisible by a fixed number, so they depend on the lines alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipelines.common.spark.local_frames import local_frame

LINES_PER_PART = 500_000
SAMPLES_PER_PART = 100


@dataclass(frozen=True, slots=True)
class ListSize:
    """The number of lines of one cluster's list."""

    cluster: str
    lines: int

    @property
    def parts(self) -> int:
        """The number of parts that the list is cut into."""
        return -(-self.lines // LINES_PER_PART)


def sampled_lines(lines: DataFrame, sizes: Sequence[ListSize]) -> DataFrame:
    """Returns a small, repeatable sample by hash of the lists that need more than one part: `cluster`, `path`."""
    thinning = F.lit(None).cast("long")
    for size in sizes:
        if size.parts > 1:
            every = max(1, size.lines // (size.parts * SAMPLES_PER_PART))
            thinning = F.when(F.col("cluster") == size.cluster, F.lit(every)).otherwise(thinning)
    return lines.filter(F.pmod(F.xxhash64("path"), thinning) == 0).select("cluster", "path")


def part_boundaries(sample: Sequence[str], parts: int) -> tuple[str, ...]:
    """Returns the first path of the second and each later part."""
    ordered = sorted(sample)  # by code points, which is the order of UTF-8 bytes and so that of Spark
    picks = (ordered[len(ordered) * part // parts] for part in range(1, parts)) if ordered else ()
    return tuple(dict.fromkeys(picks))


@dataclass(frozen=True, slots=True)
class PartPlan:
    """Assigns lines to Spark partitions: each part of each list has its own.

    Attributes:
        first: the partition of the first part, by cluster.
        cuts: the first path of each later part, by cluster, for lists of several parts; empty if the sample has none.
        partitions: the number of partitions.
    """

    first: Mapping[str, int]
    cuts: Mapping[str, tuple[str, ...]]
    partitions: int

    def partition(self) -> Column:
        """Returns the partition of a line, computed from its `path` and from `first`, the value of its cluster."""
        part = F.lit(0)
        for cluster, points in self.cuts.items():
            part = F.when(F.col("first") == self.first[cluster], _search(points)).otherwise(part)
        return F.col("first") + part


def part_plan(sizes: Sequence[ListSize], samples: Mapping[str, Sequence[str]]) -> PartPlan:
    """Returns the partitions of the lists in the given order.

    Args:
        sizes: one for each list.
        samples: paths by cluster, from `sampled_lines`; a list without any is not cut.
    """
    cuts = {
        size.cluster: part_boundaries(samples.get(size.cluster, ()), size.parts) for size in sizes if size.parts > 1
    }
    first: dict[str, int] = {}
    partitions = 0
    for size in sizes:
        first[size.cluster] = partitions
        partitions += 1 + len(cuts.get(size.cluster, ()))
    return PartPlan(first, cuts, partitions)


def partition_key(spark: SparkSession, partitions: int, number: Column) -> Column:
    """Returns a key with which `DataFrame.repartition` puts each row into the partition of this number.

    Spark hashes the keys of `repartition`. For each partition, this takes an integer that Spark's hash puts there. Only
    Spark 4.1 and later have `repartitionById`.

    Args:
        spark: the session.
        partitions: the number of partitions.
        number: the number of the partition, from 0.
    """
    # with 64 integers for each partition, the probability that one gets none is e^-64
    candidates = local_frame(spark, ((one,) for one in range(64 * partitions)), StructType().add("key", "integer"))
    placed = candidates.select("key", F.pmod(F.hash("key"), F.lit(partitions)).alias("partition")).collect()
    keys = {row["partition"]: row["key"] for row in placed}
    return F.element_at(F.array(*(F.lit(keys[partition]) for partition in range(partitions))), number + 1)


def _search(points: Sequence[str]) -> Column:
    """Returns the number of the part that a path belongs to, from 0.

    It is a binary search of nested comparisons: few for each line, and Spark compiles them.
    """

    def between(low: int, high: int) -> Column:
        if low == high:
            return F.lit(low)
        middle = (low + high) // 2
        return F.when(F.col("path") < F.lit(points[middle]), between(low, middle)).otherwise(between(middle + 1, high))

    return between(0, len(points))
