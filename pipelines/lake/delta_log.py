"""Asks Delta in the JVM about the log of one table."""

from typing import Any

from pyspark.sql import SparkSession

from pipelines.files.hadoop_jvm import HadoopJvm, java_errors


def has_log(spark: SparkSession, location: str) -> bool:
    """Returns whether the table's log folder exists, even if another process has only begun to create the table.

    Raises:
        UnavailableError: the file system does not answer.
    """
    hadoop = HadoopJvm.of(spark)
    with java_errors(location):
        log = hadoop.path(f"{location}/_delta_log")
        return bool(log.getFileSystem(hadoop.conf).exists(log))


def sql_name(spark: SparkSession, location: str) -> str:
    """Returns how Spark's SQL names the Delta table in a folder; it takes no relative path.

    Raises:
        UsageError, UnavailableError: as `HadoopJvm.qualified`.
    """
    return f"delta.`{HadoopJvm.of(spark).qualified(location).replace('`', '``')}`"


def newest_snapshot(spark: SparkSession, location: str) -> Any:  # noqa: ANN401 - a Java object
    """Returns Delta's `Snapshot` of the newest commit of a table, not a cached one; without a commit its version is -1.

    Delta has the last snapshot in memory and lists the log for later commits: no query, unlike a load or a history.
    """
    log = HadoopJvm.of(spark).view.org.apache.spark.sql.delta.DeltaLog
    return log.forTableWithSnapshot(spark._jsparkSession, location)._2()  # noqa: SLF001 - only the JVM has it
