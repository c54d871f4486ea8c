"""The counts of a listing are the same whether the driver or Spark counts."""

import pytest
from pyspark.sql import SparkSession

from pipelines.common.spark import few_rows
from pipelines.decide.spark.summary import duplicate_paths
from pipelines.snapshot.listings import totals_by_part, totals_of
from pipelines.snapshot.opened_snapshot import ListingTotals

ROWS = [
    ("a", "oldWALs/x", 5),
    ("a", "oldWALs/x", 6),
    ("a", "oldWALs/x", 6),
    ("a", "oldWALs/y", None),
    ("a", "oldWALsX", 7),
    ("a", "WALs/s,1,1/x", 8),
    ("a", "WALs/s,1,1/y", 8),
    ("a", "WALs/t,1,1-splitting/x", 8),
    ("a", "WALs/file", 1),
    ("a", "WALsX/s,2,2/x", 8),
    ("a", "remoteWALs/p/x", 9),
    ("a", "remoteWALs/p/x", 9),
    ("b", "oldWALs/x", -1),
    ("c", None, 4),
    ("c", "oldWALs/z", None),
]
TOTALS = {
    "a": ListingTotals(12, 4, 17, 2, frozenset({"s,1,1", "t,1,1-splitting", "file"}), 75),
    "b": ListingTotals(1, 1, -1, 0, bytes=1),
    "c": ListingTotals(2, 1, 0, 0, bytes=4),
}


@pytest.mark.parametrize("few", [few_rows.FEW, 0])
def test_the_driver_counts_repeated_paths_as_spark_does(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(few_rows, "FEW", few)
    files = spark.createDataFrame(ROWS, "cluster string, path string, length bigint")
    assert duplicate_paths(files, len(ROWS)) == {"a": 3}


def test_the_driver_counts_a_part_as_spark_does(spark: SparkSession) -> None:
    files = spark.createDataFrame(ROWS, "part string, path string, length bigint")
    assert totals_by_part(files) == TOTALS
    assert {part: totals_of(files.where(files["part"] == part).toArrow()) for part in TOTALS} == TOTALS


def test_lengths_that_do_not_fit_64_bits_do_not_stop_the_opening(spark: SparkSession) -> None:
    rows = [("d", "oldWALs/x", 1 << 62), ("d", "oldWALs/y", 1 << 62), ("e", "oldWALs/x", 5)]
    files = spark.createDataFrame(rows, "part string, path string, length bigint")
    assert totals_by_part(files) == {
        "d": ListingTotals(2, 2, 0, 0, bytes=1 << 63),
        "e": ListingTotals(1, 1, 5, 0, bytes=5),
    }


def test_live_servers_are_those_that_live_directories_are_named_after() -> None:
    assert sorted(map(str, TOTALS["a"].live_servers)) == ["s,1,1", "t,1,1"]
