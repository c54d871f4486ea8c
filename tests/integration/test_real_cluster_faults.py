"""A disk that is full while reconcile writes: a quota on a real HDFS."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli.config.configuration import Config
from jobs.cli.context import JobContext
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.common.errors import UnavailableError
from pipelines.common.job_result import JobResult
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.lake_rows import lake_rows
from tests.labs.small_cluster import DECIDED_AFTER_MS, NOW, At, Desk, small

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

NO_LIMIT = (1 << 63) - 1
NONE_LEFT = 1
RESET = -1


class Full:
    """A lake and lists on HDFS, either of which can be filled up; the lake of a run may be another."""

    def __init__(self, hdfs: HdfsCluster, spark: SparkSession, snapshot: Path) -> None:
        self.hdfs = hdfs
        self.spark = spark
        self.snapshot = snapshot
        self.places = OutputPlaces(f"{hdfs.uri}/full/lake", f"{hdfs.uri}/full/lists")
        for place in (self.places.lake, self.places.lists):
            hdfs.file_system().mkdirs(hdfs.path(place))

    def space(self, place: str, limit: int) -> None:
        self.hdfs.file_system().setQuota(self.hdfs.path(place), NO_LIMIT, limit)

    def run(self, run_id: str, lake: str | None = None) -> JobResult:
        places = OutputPlaces(lake or self.places.lake, self.places.lists)
        context = JobContext("reconcile", At(NOW + DECIDED_AFTER_MS), self.spark)
        return run_reconcile(context, Config(), places, [f"file:{self.snapshot}"], run_id=run_id)

    def statuses(self, run_id: str) -> list[str]:
        """Returns those of a run into the lake on HDFS."""
        frame = self.spark.read.format("delta").load(f"{self.places.lake}/runs").where(f"run_id = '{run_id}'")
        return sorted(row["status"] for row in frame.collect())

    def has_manifest(self, run_id: str) -> bool:
        path = self.hdfs.path(f"{self.places.lists}/prod/{run_id}/manifest.json")
        return bool(self.hdfs.file_system().exists(path))


@pytest.fixture(scope="module")
def full(hdfs_cluster: HdfsCluster, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Full]:
    snapshot = Desk(spark, tmp_path_factory.mktemp("full")).snapshot(small("prod"))
    made = Full(hdfs_cluster, spark, snapshot)
    yield made
    for place in (made.places.lake, made.places.lists):
        made.space(place, RESET)


def test_a_full_lake_is_named_and_the_next_run_works(full: Full) -> None:
    full.space(full.places.lake, NONE_LEFT)
    with pytest.raises(UnavailableError, match="disk is full or over quota: free some space") as told:
        full.run("lake")
    assert full.places.lake in str(told.value)
    assert told.value.exit_code == 4
    assert not full.has_manifest("lake")
    full.space(full.places.lake, RESET)
    assert full.run("lake").exit_code == 0
    assert full.has_manifest("lake")
    assert full.statuses("lake") == ["DONE", "STARTED"]


def test_a_full_place_for_lists_is_named_and_the_next_run_works(full: Full, tmp_path: Path) -> None:
    lake = f"file:{tmp_path}/lake"

    def statuses() -> list[str]:
        return sorted(row["status"] for row in lake_rows(f"{lake}/runs"))

    full.space(full.places.lists, NONE_LEFT)
    with pytest.raises(UnavailableError, match=r"a list stands only where its manifest\.json does; run again") as told:
        full.run("lists", lake)
    assert "quota" in str(told.value).lower()
    assert not full.has_manifest("lists")
    assert statuses() == ["FAILED", "STARTED"]
    full.space(full.places.lists, RESET)
    assert full.run("lists", lake).exit_code == 0
    assert full.has_manifest("lists")
    assert statuses() == ["DONE", "FAILED", "STARTED", "STARTED"]
