"""Rows in the driver, a partition at a time: what has been given is let go."""

from pyspark.sql import SparkSession

from pipelines.local_rows import local_rows


def queries_with_jobs(spark: SparkSession) -> int:
    return spark.sparkContext._jsc.sc().dagScheduler().activeQueryToJobs().size()


def test_what_was_given_is_let_go(spark: SparkSession) -> None:
    """Spark's own iterator is asked, too: when it lets go, `local_rows` is needed no more."""
    before = queries_with_jobs(spark)
    frame = spark.range(0, 100, 1, 4).selectExpr("id", "cast(id as string) as name")
    assert [row["name"] for row in local_rows(frame)] == [str(number) for number in range(100)]
    assert queries_with_jobs(spark) == before
    assert len(list(frame.toLocalIterator())) == 100
    assert queries_with_jobs(spark) == before + 1
