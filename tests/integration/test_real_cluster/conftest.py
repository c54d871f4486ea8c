"""One HBase is driven through the life of a cluster once; all its captures are reconciled together."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.config import parse_config
from jobs.cli.context import JobContext
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.common.job_result import JobResult
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.thrift import ThriftGateway
from tests.labs.cluster_life import ONE, TABLE, Story, tell


@pytest.fixture(scope="package")
def clusters(hbase_cluster: HBaseCluster, peer_cluster: HBaseCluster) -> tuple[HBaseCluster, HBaseCluster]:
    """Source and peer, without what other tests left."""
    for peer_id in hbase_cluster.peers():
        hbase_cluster.remove_peer(peer_id)
    for cluster in (hbase_cluster, peer_cluster):
        cluster.create_table(TABLE)
    return hbase_cluster, peer_cluster


@pytest.fixture(scope="package")
def story(
    clusters: tuple[HBaseCluster, HBaseCluster],
    multiwal_cluster: HBaseCluster,
    hdfs_cluster: HdfsCluster,
    thrift_gateway: ThriftGateway,
    hbase_spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Story:
    cluster, peer = clusters
    hadoop = {"files": {"source": "hadoop"}, "queues": {"source": "hbase"}}
    webhdfs = {
        "files": {"source": "webhdfs", "urls": [hdfs_cluster.webhdfs()], "user": "reader"},
        "queues": {"source": "thrift", "host": thrift_gateway.host, "port": thrift_gateway.port},
    }
    work = tmp_path_factory.mktemp("story")
    story = Story(cluster, peer, hbase_spark, work, (hadoop, webhdfs))
    tell(story)
    # Thrift's gateway knows the first cluster alone
    multi = Story(multiwal_cluster, peer, hbase_spark, work, (hadoop, {**webhdfs, "queues": {"source": "hbase"}}))
    multi.captures = 1_000
    multiwal_cluster.create_table("groups", splits=("e", "i", "m", "q", "u"))
    peer.create_table("groups")
    multiwal_cluster.add_peer(ONE, peer.cluster_key)
    multiwal_cluster.archive_wals("groups")
    multiwal_cluster.wait_replicated("groups", peer, 26)
    story.stages["multiwal"] = multi.see("multiwal")
    multiwal_cluster.remove_peer(ONE)
    return story


@pytest.fixture(scope="package")
def outcome(story: Story) -> JobResult:
    """One reconcile over the captures of all stages, as a fleet."""
    fleet = story.work / "fleet"
    fleet.mkdir()
    for name, stage in story.stages.items():
        stage.snapshot.rename(fleet / name)
    # as it stands in the cluster's own hbase-site.xml
    config = parse_config("{cleaners: {interval: 24h}}", "test.yaml")
    places = OutputPlaces(f"file:{story.work}/lake", f"file:{story.work}/lists")
    return run_reconcile(JobContext("reconcile", spark=story.spark), config, places, (), fleet=f"file:{fleet}")


@pytest.fixture(scope="package")
def verdicts(story: Story, outcome: JobResult) -> dict[str, dict[str, dict[str, Any]]]:
    """By stage and path, the rows of `wal_verdicts`."""
    assert outcome.exit_code == 0, outcome.text
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in story.spark.read.format("delta").load(f"file:{story.work}/lake/wal_verdicts").collect():
        found.setdefault(row["cluster"], {})[row["path"]] = row.asDict(recursive=True)
    return found
