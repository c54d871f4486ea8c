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
        return max(1, -(-self.lines // LINES_PER_PART))


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
    """Assigns lines to Spark partitions; small lists share a partition, and each list has its own files."""

    first: Mapping[str, int]
    cuts: Mapping[str, tuple[str, ...]]
    partitions: int

    def partition(self) -> Column:
        """Returns the partition number of a line, computed from `cluster` and `path`."""
        shared: dict[int, list[str]] = {}
        for cluster, first in self.first.items():
            if not self.cuts.get(cluster):
                shared.setdefault(first, []).append(cluster)
        number = F.lit(None).cast("int")
        for first, clusters in shared.items():
            number = F.when(F.col("cluster").isin(clusters), F.lit(first)).otherwise(number)
        for cluster, points in self.cuts.items():
            if points:
                part = _search(points, self.first[cluster])
                number = F.when(F.col("cluster") == cluster, part).otherwise(number)
        return number


def part_plan(sizes: Sequence[ListSize], samples: Mapping[str, Sequence[str]]) -> PartPlan:
    """Gives each large list its own partitions and packs small lists together, in the given order."""
    first: dict[str, int] = {}
    points: dict[str, tuple[str, ...]] = {}
    partitions, room = 0, 0
    for size in sizes:
        if size.parts > 1:
            points[size.cluster] = part_boundaries(samples.get(size.cluster, ()), size.parts)
            first[size.cluster] = partitions
            partitions, room = partitions + len(points[size.cluster]) + 1, 0
            continue
        if room < size.lines or partitions == 0:
            partitions, room = partitions + 1, LINES_PER_PART
        first[size.cluster] = partitions - 1
        room -= size.lines
    return PartPlan(first, points, max(partitions, 1))


def partition_key(spark: SparkSession, partitions: int, number: Column) -> Column:
    """Returns a key with which `DataFrame.repartition` puts each row into the partition of this number.

    Spark hashes the keys of `repartition`. For each partition, this takes the first integer that Spark's hash puts
    there. Only Spark 4.1 and later have `repartitionById`.

    Args:
        spark: the session.
        partitions: the number of partitions.
        number: the number of the partition, from 0.
    """
    chosen: dict[int, int] = {}
    tried = 0
    while len(chosen) < partitions:
        candidates = range(tried, tried + 16 * partitions)
        frame = local_frame(spark, ((one,) for one in candidates), StructType().add("key", "long"))
        for key, place in frame.select("key", F.pmod(F.hash("key"), F.lit(partitions))).collect():
            chosen.setdefault(place, key)
        tried = candidates.stop
    return F.element_at(F.array(*(F.lit(chosen[place]).cast("long") for place in range(partitions))), number + 1)


def _search(points: Sequence[str], first: int) -> Column:
    """Returns a binary search as nested comparisons: few for each line, and Spark compiles them."""

    def between(low: int, high: int) -> Column:
        if low == high:
            return F.lit(first + low)
        middle = (low + high) // 2
        return F.when(F.col("path") < F.lit(points[middle]), between(low, middle)).otherwise(between(middle + 1, high))

    return between(0, len(points))
