"""One HBase is driven through the life of a cluster once; all its captures are reconciled together."""

import pytest
from pyspark.sql import SparkSession

from pipelines.common.job_result import JobResult
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.thrift import ThriftGateway
from tests.labs.cluster_life import ONE, TABLE, Story, tell
from tests.labs.judged_stages import Verdicts, reconciled, verdicts_of


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
    """A cluster that replicates, and one with several WAL groups, stage by stage; some from two sets of sources."""
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
    return reconciled(story.spark, story.work, {name: stage.snapshot for name, stage in story.stages.items()})


@pytest.fixture(scope="package")
def verdicts(story: Story, outcome: JobResult) -> Verdicts:
    """By stage and path, the rows of `wal_verdicts`."""
    return verdicts_of(story.work, outcome)
