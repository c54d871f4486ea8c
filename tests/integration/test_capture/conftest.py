"""A cluster that has shipped all it could, with a serial peer that is disabled: nothing moves."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.real_captures import Lab


@pytest.fixture(scope="package")
def lab(
    hbase_cluster: HBaseCluster,
    peer_cluster: HBaseCluster,
    hbase_spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Lab]:
    for cluster in (hbase_cluster, peer_cluster):
        cluster.create_table("capture")
    hbase_cluster.add_peer("capture", peer_cluster.cluster_key, serial=True)
    hbase_cluster.archive_wals("capture")
    hbase_cluster.wait_replicated("capture", peer_cluster, 26)
    hbase_cluster.disable_peer("capture")  # nothing moves from here on
    yield Lab(hbase_cluster, hbase_spark, tmp_path_factory.mktemp("capture"))
    hbase_cluster.remove_peer("capture")
