"""Spark parses most names without a regular expression: which names are cut, and into what."""

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.common.spark.columns import in_turn
from pipelines.common.spark.few_rows import for_few_rows
from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.spark import wal_names

PATHS = StructType([StructField("path", StringType())])
CUT: dict[str, tuple[int | None, str | None]] = {
    "oldWALs/g.1700000000001": (1_700_000_000_001, "g"),
    "oldWALs/g.1700000000001.meta": (1_700_000_000_001, "g"),
    "oldWALs/g.1000000000000": (1_000_000_000_000, "g"),
    "oldWALs/g.9999999999999": (9_999_999_999_999, "g"),
    "oldWALs/g.0999999999999": (None, None),
    "oldWALs/g.999999999999": (None, None),
    "oldWALs/g.17000000000001": (None, None),
    "oldWALs/g.170000000000a": (None, None),
    "oldWALs/g-1700000000001": (None, None),
    "oldWALs/a/g.1700000000001": (1_700_000_000_001, "a/g"),
    "oldWALs/.1700000000001": (1_700_000_000_001, ""),
    "WALs/g.1700000000001": (1_700_000_000_001, None),
    ".1700000000001": (None, None),
    "x.1700000000001": (1_700_000_000_001, None),
    "": (None, None),
}
"""By path `cut_timestamp` and `flat_group`."""


def test_a_name_with_a_timestamp_of_thirteen_digits_is_cut(spark: SparkSession) -> None:
    rows = local_frame(for_few_rows(spark), [(path,) for path in CUT], PATHS)
    found = rows.select("path", *in_turn(wal_names.flat_group())).collect()
    assert {row["path"]: (row["cut_timestamp"], row["flat_group"]) for row in found} == CUT


@pytest.mark.parametrize(
    ("known", "path", "name", "group", "timestamp"),
    [
        (True, "oldWALs/g.1700000000001", None, None, 1_700_000_000_001),
        (False, "oldWALs/g.1700000000001", None, "g", 1_700_000_000_001),
        (False, "oldWALs/a/g.1700000000001", "g.1700000000001", "g", 1_700_000_000_001),
        (False, "oldWALs/a/g.1700000000001.meta", "g.1700000000001.meta", "g", 1_700_000_000_001),
        (False, "oldWALs/.1700000000001", ".1700000000001", None, None),
        (False, "oldWALs/g.7", "g.7", "g", 7),
        (False, "oldWALs/g.7.meta", "g.7.meta", "g", 7),
        (False, "oldWALs/g.99999999999999999999", "g.99999999999999999999", "g", None),
        (False, "oldWALs/g", "g", None, None),
    ],
)
def test_only_what_is_not_known_is_parsed(
    spark: SparkSession, known: bool, path: str, name: str | None, group: str | None, timestamp: int | None
) -> None:
    """A known group needs no name; an unknown one directly in oldWALs is taken as it was cut."""
    rows = local_frame(for_few_rows(spark), [(path,)], PATHS)
    columns: dict[str, Column] = wal_names.group_and_timestamp(F.lit(known))
    (row,) = rows.select("path", *in_turn(wal_names.flat_group())).select("*", *in_turn(columns)).collect()
    assert (row["_name"], row["other_group"], row["wal_timestamp"]) == (name, group, timestamp)


def test_the_directory_of_a_path_is_all_before_its_last_slash(spark: SparkSession) -> None:
    directories = {"oldWALs/g.7": "oldWALs", "a/\n/c.": "a/\n", "a//": "a/", "/g": "", "g": "", "é/ü/ö": "é/ü"}
    rows = local_frame(for_few_rows(spark), [(path,) for path in directories], PATHS)
    found = rows.select("path", wal_names.directory().alias("directory")).collect()
    assert {row["path"]: row["directory"] for row in found} == directories
