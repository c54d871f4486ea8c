"""The parts of a long list."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.reconcile import list_parts
from pipelines.reconcile.list_parts import ListSize, PartPlan, partition_key, sampled_lines
from pipelines.snapshot.writer import SnapshotWriter
from tests.labs.small_cluster import D1, Desk, group, small, timestamp, with_files

LINES = StructType().add("cluster", "string").add("path", "string")


def test_a_line_goes_to_the_partition_of_its_part(spark: SparkSession) -> None:
    plan = PartPlan({"a": 0, "long": 1, "longer": 4, "b": 8}, {"long": ("c", "e"), "longer": ("b", "d", "f")}, 9)
    lines = [
        *(("a", "d", 0), ("b", "d", 8)),
        *(("long", "b", 1), ("long", "c", 2), ("long", "d", 2), ("long", "e", 3), ("long", "x", 3)),
        *(("longer", "a", 4), ("longer", "b", 5), ("longer", "c", 5), ("longer", "d", 6), ("longer", "z", 7)),
    ]
    rows = [(cluster, path, plan.first[cluster]) for cluster, path, _ in lines]
    frame = local_frame(spark, rows, StructType([*LINES.fields]).add("first", "integer"))
    placed = frame.select("cluster", "path", plan.partition().alias("to"))
    assert [tuple(row) for row in placed.collect()] == lines
    keyed = placed.repartition(9, partition_key(spark, 9, F.col("to"))).select("to", F.spark_partition_id())
    assert all(to == number for to, number in keyed.collect())


def test_a_sample_has_about_a_hundred_lines_of_each_part(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none of a list that is not cut."""
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 1000)
    sizes = [ListSize("long", 8000), ListSize("longer", 20_000), ListSize("whole", 1000), ListSize("little", 1001)]
    paths = [(size.cluster, f"p{number}") for size in sizes for number in range(size.lines)]
    sample = sampled_lines(local_frame(spark, paths, LINES), sizes)
    found = {row["cluster"]: row["count"] for row in sample.groupBy("cluster").count().collect()}
    assert sample.columns == ["cluster", "path"]
    assert found.keys() == {"long", "longer", "little"}
    assert all(60 <= found[size.cluster] / size.parts <= 140 for size in sizes if size.cluster in found)


@pytest.mark.long
@pytest.mark.usefixtures("many_rows")
@pytest.mark.promise("decision-is-replayable")
def test_parts_are_the_same_bytes_however_the_listing_was_cut(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some folders sort differently by UTF-16 units than by bytes.

    With code that Spark generates, test_delete_lists.py cuts lists.
    """
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 60)
    folders = ("", "a/", "\uffee/", "\U0001f600/", "\xe9/", "Z/")
    wals = [
        ArchivedFile(f"oldWALs/{folder}{group(D1)}.{timestamp(0) - number}", 1, timestamp(0))
        for folder in folders
        for number in range(50)
    ]
    made = with_files(small("many"), *wals)
    reversed_ = replace(made, files=made.files[::-1])
    desks = [Desk(spark, tmp_path / name) for name in ("one", "other")]
    for desk, capture, partitions, rows in zip(desks, (made, reversed_), ("2", "7"), (1000, 50), strict=True):
        cut = partial(SnapshotWriter, rows_per_group=rows, groups_per_part=1)
        monkeypatch.setattr("pipelines.snapshot.writer.SnapshotWriter", cut)
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        try:
            assert desk.reconcile(desk.snapshot(capture), run_id="r").exit_code == 0
        finally:
            spark.conf.set("spark.sql.shuffle.partitions", "2")
    listings = [len([*(desk.root / "snapshots" / "many" / "files").glob("*.parquet")]) for desk in desks]
    assert listings == [1, 7]
    lines = desks[0].lines("many", "r")
    assert len(lines) == 304
    assert lines == sorted(lines, key=str.encode)
    assert sorted(lines) != sorted(lines, key=lambda line: line.encode("utf-16-be")), "the folders are no trap"
    parts = [{name: content for name, content in desk.list_files("many").items() if "part-" in name} for desk in desks]
    assert parts[0] == parts[1]
    assert sorted(parts[0]) == [f"r/part-{number:05d}.txt" for number in range(len(parts[0]))]
    assert 4 <= len(parts[0]) <= 8
