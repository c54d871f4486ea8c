"""What is planned with each file, from tables of a few rows."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.cleanup import clean_plan as plans
from pipelines.cleanup.clean_plan import clean_plan, in_pieces, lines_not_deletable, listed_paths, purge_plan

ROOT = "hdfs://ns1/hbase"
FILE = "path STRING, length LONG, modification_time TIMESTAMP"
LOOKED = f"{FILE}, verdict STRING, reason STRING"
OUTCOMES = f"path STRING, outcome STRING, {FILE.partition(', ')[2]}"
THEN = datetime(2026, 11, 21, 1, 2, 3, 4000, UTC)
THEN_MS = int(THEN.timestamp()) * 1_000 + 4
LATER = THEN + timedelta(milliseconds=1)


def rows(frame: DataFrame) -> dict[str, dict[str, Any]]:
    assert frame.columns == ["path", "length", "modification_time", "outcome", "why", "reason"]
    found = [row.asDict() for row in frame.collect()]
    assert len({row["path"] for row in found}) == len(found)
    return {row.pop("path"): row for row in found}


def file(length: int, outcome: str | None, why: str | None, reason: str | None) -> dict[str, Any]:
    return {"length": length, "modification_time": THEN_MS, "outcome": outcome, "why": why, "reason": reason}


# the lines of a list


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (f"{ROOT}/oldWALs/a", "oldWALs/a"),
        (f"{ROOT}/oldWALs/h1/a", "oldWALs/h1/a"),
        (f"{ROOT}/oldWALs/", None),
        (f"{ROOT}/oldWALs", None),
        (f"{ROOT}/WALs/a", None),
        (f"{ROOT}2/oldWALs/a", None),
        (f"x{ROOT}/oldWALs/a", None),
        (f"{ROOT}/oldWALs/../data", None),
        (f"{ROOT}/oldWALs//a", None),
        (f"{ROOT}/oldWALs/a\tb", None),
        ("", None),
    ],
)
def test_a_line_is_a_path_only_below_the_archive(spark: SparkSession, line: str, path: str | None) -> None:
    (row,) = listed_paths(spark.createDataFrame([(line, 1)], "line STRING, more INT"), ROOT).collect()
    assert row.asDict() == {"line": line, "path": path}


def test_a_line_is_known_and_there_once_or_it_is_named(spark: SparkSession) -> None:
    paths = spark.createDataFrame(
        [(f"root/{path}", path) for path in ("known", "unknown", "twice", "twice")], "line STRING, path STRING"
    )
    listed = spark.createDataFrame([(path, 1) for path in ("known", "twice", "not listed")], "path STRING, length LONG")
    found = lines_not_deletable(paths, listed)
    assert found.columns == ["line"]
    assert sorted(row["line"] for row in found.collect()) == ["root/twice", "root/unknown"]


# clean


def test_what_clean_does_with_each_file_of_a_list(spark: SparkSession) -> None:
    looked = spark.createDataFrame(
        [
            ("ready", 1, THEN, "DELETABLE", "PROVEN"),
            ("longer", 3, THEN, "DELETABLE", "PROVEN"),
            ("later", 1, LATER, "DELETABLE", "PROVEN"),
            ("held", 1, THEN, "HELD", "PENDING"),
            ("changed and held", 2, LATER, "HELD", "PENDING"),
            ("settled", 1, THEN, "DELETABLE", "PROVEN"),
            ("tried", 1, THEN, "DELETABLE", "PROVEN"),
            ("no length", None, THEN, "DELETABLE", "PROVEN"),
            ("no time", 1, None, "DELETABLE", "PROVEN"),
            ("not of the list", 1, THEN, "DELETABLE", "PROVEN"),
        ],
        LOOKED,
    )
    names = [row["path"] for row in looked.collect() if row["path"] != "not of the list"]
    names += ["gone", "was gone", "moved"]
    paths = spark.createDataFrame([(f"{ROOT}/{name}", name) for name in names], "line STRING, path STRING")
    listed = spark.createDataFrame([(name, 1, THEN) for name in [*names, "decided and not listed"]], FILE)
    settled = spark.createDataFrame(
        [("settled", "MOVED"), ("was gone", "ALREADY_GONE"), ("moved", "MOVED"), ("tried", "FAILED")],
        "path STRING, outcome STRING",
    )
    found = rows(clean_plan(paths, listed, looked, settled))
    changed = {name: found.pop(name) for name in ("longer", "later", "changed and held", "no length", "no time")}
    assert found == {
        "ready": file(1, None, None, "PROVEN"),
        "tried": file(1, None, None, "PROVEN"),
        "held": file(1, "REFUSED", "the second look holds it: PENDING", "PENDING"),
        "gone": file(1, "ALREADY_GONE", "the second look did not list it", None),
    }
    assert {row["outcome"] for row in changed.values()} == {"CHANGED"}
    assert changed["changed and held"]["reason"] == "PENDING"
    zone = spark.sql("SELECT CAST(TIMESTAMP_MILLIS(0L) AS STRING) AS text").collect()[0]["text"]
    assert zone.startswith("19")
    assert changed["longer"]["why"].startswith("it has 3 bytes of 2026-11-2")
    assert "; the list was decided on 1 bytes of 2026-11-2" in changed["longer"]["why"]
    now, then = (
        changed["later"]["why"].removeprefix("it has 1 bytes of ").split(" now; the list was decided on 1 bytes of ")
    )
    assert (now[-4:], then[-4:]) == (".005", ".004")


# purge


def test_what_purge_does_with_each_file_of_the_quarantine(spark: SparkSession) -> None:
    looked = spark.createDataFrame(
        [
            ("ready", 1, THEN, "DELETABLE", "PROVEN"),
            ("stranger", 1, THEN, "DELETABLE", "PROVEN"),
            ("restored", 1, THEN, "DELETABLE", "PROVEN"),
            ("longer", 3, THEN, "DELETABLE", "PROVEN"),
            ("held", 1, THEN, "HELD", "PENDING"),
            ("not decided", 1, THEN, None, None),
            ("later and held", 1, LATER, "HELD", "PENDING"),
        ],
        LOOKED,
    )
    moved = ("ready", "longer", "held", "not decided", "later and held", "moved and not there")
    outcomes = spark.createDataFrame(
        [*((name, "MOVED", 1, THEN) for name in moved), ("restored", "RESTORED", 1, THEN)], OUTCOMES
    )
    found = rows(purge_plan(looked, outcomes))
    longer, later = found.pop("longer"), found.pop("later and held")
    nobody = (
        "no audit row says that walsafe moved it here, so it is not walsafe's to delete; before you remove it, try "
        "restore with its path: clean may have taken it in place of another file"
    )
    assert found == {
        "ready": file(1, None, None, "PROVEN"),
        "stranger": file(1, "REFUSED", nobody, "PROVEN"),
        "restored": file(1, "REFUSED", nobody, "PROVEN"),
        "held": file(1, "REFUSED", "the second look holds it: PENDING", "PENDING"),
        "not decided": file(1, "REFUSED", None, None),
    }
    assert (longer["length"], longer["outcome"], longer["reason"]) == (3, "CHANGED", "PROVEN")
    assert longer["why"].startswith("it has 3 bytes of 2026-11-2")
    assert " now, but walsafe moved a file of 1 bytes of 2026-11-2" in longer["why"]
    assert (later["modification_time"], later["outcome"], later["reason"]) == (THEN_MS + 1, "CHANGED", "PENDING")
    now, then = later["why"].partition(": somebody")[0].split(" now, but walsafe moved a file of 1 bytes of ")
    assert (now[-4:], then.removesuffix(" here")[-4:]) == (".005", ".004")


# pieces


def test_a_plan_comes_in_order_and_in_pieces_that_fit_the_driver(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "FILES_AT_ONCE", 10)
    names = [f"{number * 37 % 101:03d}" for number in range(40)]
    pieces = in_pieces(spark.createDataFrame([(name,) for name in names], "path STRING"), len(names))
    assert [row["path"] for row in pieces.toLocalIterator()] == sorted(names)
    assert pieces.rdd.getNumPartitions() == 5
    one = in_pieces(spark.createDataFrame([(name,) for name in names], "path STRING"), 9)
    assert one.rdd.getNumPartitions() == 1
