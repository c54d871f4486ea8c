"""The listings of several snapshots are read as one frame, each row with its own cluster."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipelines.common.spark import few_rows
from pipelines.files.file_batch import FileBatch
from pipelines.snapshot.model import Membership
from pipelines.snapshot.opened_snapshot import ListingTotals
from pipelines.snapshot.reader import SnapshotDirectories
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from tests.strategies.clusters import MASTER, NOW, snapshot_of


def write(out: Path, cluster: str, files: int) -> set[tuple[str, str]]:
    """Writes a snapshot of so many archived files, and returns clusters and paths."""
    return write_paths(out, cluster, [f"oldWALs/{cluster}.{number}" for number in range(files)])


def write_paths(out: Path, cluster: str, paths: list[str], length: int = 1) -> set[tuple[str, str]]:
    """Writes a snapshot with a part for each file and one part without files, and returns clusters and paths."""
    files = len(paths)
    nobody = Membership(MASTER, frozenset(), frozenset())
    with SnapshotWriter(LocalTarget(out), rows_per_group=1, groups_per_part=1) as writer:
        writer.files([FileBatch(paths, [length] * files, [NOW] * files)])
        writer.files([])
        writer.cells("queues-1.jsonl", [])
        writer.cells("queues-2.jsonl", [])
        writer.finish(replace(snapshot_of((), nobody, nobody), cluster=cluster))
    return {(cluster, path) for path in paths}


@pytest.mark.parametrize("folder", ["fleet", "a b%20é+#1", "beside/../fleet"])
def test_every_row_of_a_fleet_has_its_own_cluster(spark: SparkSession, tmp_path: Path, folder: str) -> None:
    """Whatever Spark makes of the names of folders, and however many parts a listing has."""
    sizes = {"a": 3, "b": 1, "c": 2}
    (tmp_path / "beside").mkdir()
    written = {row for name, files in sizes.items() for row in write(tmp_path / folder / name, name, files)}
    reader = SnapshotDirectories(spark)
    opened = reader.open([f"file://{tmp_path}/{folder}/{name}" for name in sizes])
    assert [one.fault for one in opened] == [None, None, None]
    counted = {
        one.cluster: (one.listing.rows, one.listing.archived_files, one.listing.archived_bytes) for one in opened
    }
    assert counted == {name: (files, files, files) for name, files in sizes.items()}
    rows = reader.files(opened).select("cluster", "path").collect()
    assert len(rows) == sum(sizes.values())
    assert {(row["cluster"], row["path"]) for row in rows} == written


@pytest.mark.parametrize("few", [few_rows.FEW, 0])
def test_a_snapshot_that_is_opened_alone_is_counted_by_the_driver_or_by_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(few_rows, "FEW", few)
    write_paths(tmp_path / "a", "a", ["WALs/h,1,1/w", "WALs/h,1,1/x", "oldWALs/y", "remoteWALs/1/z"])
    (one,) = SnapshotDirectories(spark).open([(tmp_path / "a").as_uri()])
    assert one.fault is None
    assert one.listing == ListingTotals(4, 1, 1, 1, frozenset({"h,1,1"}), 4)
    assert bool(one.listing_parts) == (few == 0)


def test_lengths_that_64_bits_cannot_sum_up_are_a_fault_of_their_own_snapshot(
    spark: SparkSession, tmp_path: Path
) -> None:
    written = write(tmp_path / "a", "a", 1)
    write_paths(tmp_path / "b", "b", ["oldWALs/x", "oldWALs/y"], length=1 << 62)
    reader, places = SnapshotDirectories(spark), [(tmp_path / name).as_uri() for name in "ab"]
    opened = reader.open(places)
    for one in (opened[1], *reader.open(places[1:])):
        assert not one.listing_readable
        assert "more than 2^62 bytes together" in str(one.fault)
    assert {(row["cluster"], row["path"]) for row in reader.files(opened[:1]).collect()} == written


def test_some_snapshots_of_a_fleet_have_their_own_rows_only(spark: SparkSession, tmp_path: Path) -> None:
    written = {name: write(tmp_path / name, name, files) for name, files in {"a": 3, "b": 1, "c": 2, "d": 2}.items()}
    reader = SnapshotDirectories(spark)
    opened = reader.open([(tmp_path / name).as_uri() for name in written])
    for clusters in ("abcd", "ac", "b"):
        rows = reader.files([one for one in opened if one.cluster in clusters]).select("cluster", "path").collect()
        assert len(rows) == sum(len(written[cluster]) for cluster in clusters)
        assert {(row["cluster"], row["path"]) for row in rows} == {row for name in clusters for row in written[name]}


def test_a_snapshot_that_was_opened_alone_is_not_left_out_silently(spark: SparkSession, tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / name, name, 2)
    reader = SnapshotDirectories(spark)
    alone = [one for name in "ab" for one in reader.open([(tmp_path / name).as_uri()])]
    assert reader.files(alone[:1]).count() == 2
    with pytest.raises(ValueError, match="must be opened together"):
        reader.files(alone)


def test_a_snapshot_that_lost_all_its_rows_does_not_stop_the_others(spark: SparkSession, tmp_path: Path) -> None:
    written = {name: write(tmp_path / name, name, 1) for name in "ab"}
    described = tmp_path / "b" / "snapshot.json"
    document = json.loads(described.read_text(encoding="utf-8"))
    (part,) = (name for name, content in document["contents"].items() if content["rows"] and name.startswith("files/"))
    pq.write_table(pq.read_table(tmp_path / "b" / part).slice(1), tmp_path / "b" / part)
    document["contents"][part]["sha256"] = hashlib.sha256((tmp_path / "b" / part).read_bytes()).hexdigest()
    described.write_text(json.dumps(document), encoding="utf-8")
    reader = SnapshotDirectories(spark)
    opened = reader.open([(tmp_path / name).as_uri() for name in "ab"])
    assert [one.listing_readable for one in opened] == [True, True]
    assert "0 rows, but snapshot.json says 1" in str(opened[1].fault)
    assert {(row["cluster"], row["path"]) for row in reader.files(opened).collect()} == written["a"]
