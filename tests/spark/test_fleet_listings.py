"""The listings of several snapshots are read as one frame, each row with its own cluster."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.files.file_batch import FileBatch
from pipelines.snapshot.model import Membership
from pipelines.snapshot.reader import SnapshotDirectories
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from tests.strategies.clusters import MASTER, NOW, snapshot_of


def write(out: Path, cluster: str, files: int) -> set[tuple[str, str]]:
    """Writes a snapshot with a part for each file and one part without files, and returns clusters and paths."""
    paths = [f"oldWALs/{cluster}.{number}" for number in range(files)]
    nobody = Membership(MASTER, frozenset(), frozenset())
    with SnapshotWriter(LocalTarget(out), rows_per_group=1, groups_per_part=1) as writer:
        writer.files([FileBatch(paths, [1] * files, [NOW] * files)])
        writer.files([])
        writer.cells("queues-1.jsonl", [])
        writer.cells("queues-2.jsonl", [])
        writer.finish(replace(snapshot_of((), nobody, nobody), cluster=cluster))
    return {(cluster, path) for path in paths}


@pytest.mark.parametrize("folder", ["fleet", "a b%20é+"])
def test_every_row_of_a_fleet_has_its_own_cluster(spark: SparkSession, tmp_path: Path, folder: str) -> None:
    """Whatever Spark makes of the names of folders, and however many parts a listing has."""
    sizes = {"a": 3, "b": 1, "c": 2}
    written = {row for name, files in sizes.items() for row in write(tmp_path / folder / name, name, files)}
    reader = SnapshotDirectories(spark)
    opened = reader.open([(tmp_path / folder / name).as_uri() for name in sizes])
    assert [one.fault for one in opened] == [None, None, None]
    rows = reader.files(opened).select("cluster", "path").collect()
    assert len(rows) == sum(sizes.values())
    assert {(row["cluster"], row["path"]) for row in rows} == written
