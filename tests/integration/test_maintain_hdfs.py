"""maintain on a lake in HDFS: deltalake names the files that VACUUM removes."""

import pytest
from pyspark.sql import SparkSession

from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.lake_queries import LakeQueries, SparkTables
from pipelines.lake.maintenance import LakeMaintenance
from pipelines.lake.retention import FileTotals
from schemas.runs import RUNS
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.maintained_lake import key, run_row

pytestmark = [pytest.mark.realhbase, pytest.mark.long]
LONG_AGO = 1_000_000_000_000


def test_deltalake_and_spark_name_the_files_that_vacuum_removes(spark: SparkSession, hdfs_cluster: HdfsCluster) -> None:
    lake = f"{hdfs_cluster.uri}/maintained"
    tables, keeper = DeltaTables(spark, lake), LakeMaintenance(spark, lake)
    tables.ensure((RUNS,))
    tables.append_rows(RUNS, [run_row(key("a", 1), 1)])
    night = f"run_date={key('a', 1).run_date}"
    for name in ("stray.parquet", "with space, ü.parquet", "_hidden"):
        path = f"/maintained/runs/{night}/{name}"
        hdfs_cluster.create_file(path, b"four")
        hdfs_cluster.file_system().setTimes(hdfs_cluster.path(path), LONG_AGO, LONG_AGO)
    expected = [f"{night}/stray.parquet", f"{night}/with space, ü.parquet"]
    for engine in (LakeQueries.of(spark, lake), SparkTables(spark, lake)):
        assert sorted(engine.unneeded(RUNS)) == expected
    assert keeper.removable(RUNS, named=1) == FileTotals(2, 8)
    keeper.vacuum(RUNS)
    assert keeper.removable(RUNS, named=1) == FileTotals()
