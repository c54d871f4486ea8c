"""Rows of a frame in the driver, a partition at a time."""

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row


def local_rows(frame: DataFrame) -> Iterator[Row]:
    """Iterate over rows of which there may be too many for the driver's memory.

    Two partitions are held at once: one is read while Spark computes the next. `DataFrame.toLocalIterator` holds all
    that it ever gave, until the session ends: Spark 4.2 enters a job for each partition under a query that it takes for
    ended, and never strikes it off (`DAGScheduler.activeQueryToJobs`). What goes through `rdd` belongs to no query; no
    Python runs on executors for it.
    """
    return frame.rdd.toLocalIterator(prefetchPartitions=True)
