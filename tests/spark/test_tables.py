"""The few files that findings look at by name."""

import re
from itertools import permutations
from typing import Any

from pyspark.sql import SparkSession

from pipelines.decide.spark.tables import offset_wals

LONG = "rs1.example.org%2C16020%2C1787404400000.1787404400000"
FILES = [
    ("a", f"oldWALs/{LONG}", 1),
    ("a", f"WALs/rs1.example.org,16020,1787404400000/{LONG}", 2),
    ("b", f"oldWALs/{LONG}", 3),
    ("a", f"oldWALs/x{LONG}", 4),  # the same last bytes, another name
    ("a", "oldWALs/short.1", 5),
]


def found(spark: SparkSession, *names: tuple[str, str]) -> set[tuple[Any, ...]]:
    files = spark.createDataFrame(FILES, "cluster string, path string, length bigint")
    return {tuple(row) for row in offset_wals(spark, files, names).collect()}


def test_by_cluster_and_whole_name(spark: SparkSession) -> None:
    assert found(spark, ("a", LONG)) == {("a", LONG, True, 1)}
    assert found(spark, ("b", LONG)) == {("b", LONG, True, 3)}
    assert found(spark, ("c", LONG)) == set()


def test_of_a_name_in_several_directories_the_shortest_archived_file_counts(spark: SparkSession) -> None:
    """In whatever order Spark finds them."""
    rows = [
        ("a", f"{directory}/w.1", length) for directory, length in (("oldWALs", 9), ("oldWALs/h", 8), ("WALs/h", 1))
    ]
    for order in permutations(rows):
        files = spark.createDataFrame(order, "cluster string, path string, length bigint")
        assert [tuple(row) for row in offset_wals(spark, files, [("a", "w.1")]).collect()] == [("a", "w.1", True, 8)]
    live = spark.createDataFrame(rows[2:], "cluster string, path string, length bigint")
    assert [tuple(row) for row in offset_wals(spark, live, [("a", "w.1")]).collect()] == [("a", "w.1", False, 1)]


def test_a_short_name_makes_all_keys_short(spark: SparkSession) -> None:
    assert found(spark, ("a", "short.1"), ("b", LONG)) == {("a", "short.1", True, 5), ("b", LONG, True, 3)}


def test_a_name_is_no_key_of_the_join(spark: SparkSession) -> None:
    """Spark makes an equality after the join a key of the join, which cost ten million files seconds."""
    files = spark.createDataFrame(FILES, "cluster string, path string, length bigint")
    plan = str(offset_wals(spark, files, [("a", LONG)])._jdf.queryExecution().sparkPlan().toString())
    assert re.search(r"HashJoin \[key#\d+L?\], \[w_key#\d+L?\]", plan), plan
