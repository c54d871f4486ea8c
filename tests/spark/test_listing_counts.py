"""The counts of a listing are the same whether the driver or Spark counts."""

import pytest
from pyspark.sql import SparkSession

from pipelines.common.spark import few_rows
from pipelines.reconcile.listing_counts import listing_counts
from pipelines.reconcile.rows import ListingCounts

ROWS = [
    ("a", "oldWALs/x", 5),
    ("a", "oldWALs/x", 6),
    ("a", "oldWALs/x", 6),
    ("a", "oldWALs/y", None),
    ("a", "oldWALsX", 7),
    ("a", "WALs/s/x", 8),
    ("a", "remoteWALs/p/x", 9),
    ("a", "remoteWALs/p/x", 9),
    ("b", "oldWALs/x", -1),
    ("c", None, 4),
]


@pytest.mark.parametrize("few", [few_rows.FEW, 0])
def test_the_driver_counts_as_spark_does(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(few_rows, "FEW", few)
    files = spark.createDataFrame(ROWS, "cluster string, path string, length bigint")
    assert listing_counts(files, len(ROWS)) == {
        "a": ListingCounts(8, 4, 17, 3, 2),
        "b": ListingCounts(1, 1, -1, 0, 0),
        "c": ListingCounts(1, 0, 0, 0, 0),
    }
