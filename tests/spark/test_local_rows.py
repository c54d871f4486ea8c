"""Rows in the driver, a piece at a time: what has been given is let go."""

import pytest
from pyspark.sql import SparkSession

from pipelines.cleanup import clean_plan
from pipelines.common.spark.local_rows import local_rows


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


def test_a_plan_comes_in_the_order_of_paths_and_in_pieces(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean_plan, "FILES_AT_ONCE", 10)
    plan = clean_plan.in_pieces(spark.range(99, -1, -1).selectExpr("format_string('%03d', id) AS path"), 100)
    assert plan.rdd.getNumPartitions() == 11
    assert [row["path"] for row in local_rows(plan)] == [f"{number:03}" for number in range(100)]
