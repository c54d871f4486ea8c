"""What Delta Kernel says of a table's log: which days it may hold, and that doubt is a yes."""

import shutil
from datetime import date
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pipelines.lake.delta_kernel import may_hold_days, newest_version
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.run_summary import RunKey, VerdictTotal, table_row
from schemas.verdict_totals import VERDICT_TOTALS

FIRST, LAST = date(2026, 11, 3), date(2026, 11, 5)


@pytest.fixture(scope="module")
def location(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    lake = DeltaTables(spark, str(tmp_path_factory.mktemp("kernel")))
    lake.ensure((VERDICT_TOTALS,))
    for day in (FIRST, LAST):
        key = RunKey("prod", "night", day)
        rows = [table_row(key, VerdictTotal("HELD", "PENDING", "KEEP", 1, 1, 1))]
        lake.replace({VERDICT_TOTALS.name: lake.frame(VERDICT_TOTALS, rows)}, [key])
    return lake.location(VERDICT_TOTALS)


@pytest.mark.parametrize(
    ("first", "last", "held"),
    [
        (date(2026, 11, 3), date(2026, 11, 3), True),
        (date(2026, 11, 1), date(2026, 11, 3), True),
        (date(2026, 11, 5), date(2027, 11, 5), True),
        (date(2026, 11, 1), date(2026, 11, 30), True),
        (date(2026, 11, 4), date(2026, 11, 4), False),
        (date(2026, 10, 1), date(2026, 11, 2), False),
        (date(2026, 11, 6), date(2026, 11, 7), False),
    ],
)
def test_days_are_found_ends_included(spark: SparkSession, location: str, first: date, last: date, held: bool) -> None:
    assert may_hold_days(spark, location, first, last) is held


def test_rows_that_were_replaced_are_gone(spark: SparkSession, tmp_path: Path) -> None:
    lake, key = DeltaTables(spark, str(tmp_path)), RunKey("prod", "night", FIRST)
    lake.ensure((VERDICT_TOTALS,))
    there = lake.location(VERDICT_TOTALS)
    assert not may_hold_days(spark, there, FIRST, FIRST)
    rows = [table_row(key, VerdictTotal("HELD", "PENDING", "KEEP", 1, 1, 1))]
    lake.replace({VERDICT_TOTALS.name: lake.frame(VERDICT_TOTALS, rows)}, [key])
    assert may_hold_days(spark, there, FIRST, FIRST)
    lake.replace({VERDICT_TOTALS.name: lake.frame(VERDICT_TOTALS, [])}, [key])
    assert not may_hold_days(spark, there, FIRST, FIRST)
    assert newest_version(spark, there) == 2


def test_a_log_that_cannot_be_read_may_hold_anything(spark: SparkSession, location: str, tmp_path: Path) -> None:
    """Spark's own error comes next, with what to do; an empty answer would hide it."""
    damaged = tmp_path / "damaged"
    shutil.copytree(location.removeprefix("file:"), damaged)
    (damaged / "_delta_log" / f"{1:020}.json").write_text("{")
    for place in (f"file:{damaged}", f"file:{tmp_path}/none"):
        assert may_hold_days(spark, place, date(2020, 1, 1), date(2020, 1, 2))
    with pytest.raises(Py4JJavaError):
        newest_version(spark, f"file:{tmp_path}/none")
