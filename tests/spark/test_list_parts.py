"""The parts of a long list."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.reconcile import list_parts
from tests.labs.small_cluster import D1, Desk, group, small, timestamp, with_files

pytestmark = pytest.mark.long


@pytest.mark.usefixtures("as_many")
@pytest.mark.promise("decision-is-replayable")
def test_parts_are_the_same_bytes_however_the_listing_was_cut(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some folders sort differently by UTF-16 units than by bytes."""
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
    for desk, capture, partitions in zip(desks, (made, reversed_), ("2", "7"), strict=True):
        monkeypatch.setattr("pipelines.snapshot.writer.GROUPS_PER_PART", 1)
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        try:
            assert desk.reconcile(desk.snapshot(capture), run_id="r").exit_code == 0
        finally:
            spark.conf.set("spark.sql.shuffle.partitions", "2")
    lines = desks[0].lines("many", "r")
    assert len(lines) == 304
    assert lines == sorted(lines, key=str.encode)
    assert sorted(lines) != sorted(lines, key=lambda line: line.encode("utf-16-be")), "the folders are no trap"
    parts = [{name: content for name, content in desk.list_files("many").items() if "part-" in name} for desk in desks]
    assert parts[0] == parts[1]
    assert sorted(parts[0]) == [f"r/part-{number:05d}.txt" for number in range(len(parts[0]))]
    assert 4 <= len(parts[0]) <= 8
