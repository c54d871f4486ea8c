"""Iterates over the rows of a DataFrame in the driver, one partition at a time."""

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row


def local_rows(frame: DataFrame) -> Iterator[Row]:
    """Iterates over rows that may be too many for the driver's memory, such as one row per file.

    The driver keeps two partitions in memory: it reads one while Spark computes the next.

    `DataFrame.toLocalIterator` keeps everything it ever returned until the session ends. Spark 4.2 registers a job for
    each partition under a query that it considers ended, and never removes it (`DAGScheduler.activeQueryToJobs`). Jobs
    that go through `rdd` belong to no query: they appear in no list of queries, and SQL settings apply up to the last
    stage only. No Python runs on executors. For few rows, use Spark's own methods.
    """
    return frame.rdd.toLocalIterator(prefetchPartitions=True)
