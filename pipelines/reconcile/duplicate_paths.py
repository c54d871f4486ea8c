"""Counts the paths that a listing contains more than once."""

from collections import Counter
from collections.abc import Mapping

from pyspark.sql import DataFrame

from pipelines.common.spark.few_rows import few
from pipelines.decide.spark import summary


def duplicate_paths(files: DataFrame, rows: int) -> Mapping[str, int]:
    """Returns, by cluster, the number of rows that repeat a path; a cluster without any is left out.

    Few rows, which are in the driver, are counted without Spark.

    Args:
        files: `cluster`, `path`.
        rows: approximate number of rows.
    """
    if few(rows):
        paths = files.select("cluster", "path").collect()
        return Counter(cluster for cluster, _ in paths) - Counter(cluster for cluster, _ in set(paths))
    if not summary.repeated_hashes(files, rows).collect()[0]["repeated"]:
        return {}
    return {row["cluster"]: row["duplicate_paths"] for row in summary.duplicate_paths(files).collect()}
