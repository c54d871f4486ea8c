"""Rows of a frame in the driver, a partition at a time."""

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row


def local_rows(frame: DataFrame) -> Iterator[Row]:
    """Iterate over rows of which there may be too many for the driver's memory: as many as files.

    Two partitions are held at once: one is read while Spark computes the next. `DataFrame.toLocalIterator` holds all
    that it ever gave, until the session ends: Spark 4.2 enters a job for each partition under a query that it takes for
    ended, and never strikes it off (`DAGScheduler.activeQueryToJobs`). What goes through `rdd` belongs to no query, so
    it stands in no list of queries and takes no settings of SQL beyond its last stage; no Python runs on executors for
    it. Few rows are better asked for by Spark's own.
    """
    return frame.rdd.toLocalIterator(prefetchPartitions=True)
