"""clean, restore and purge where the queues are in ZooKeeper: on HBase 2.6.4 and HBase 1; their cleaners judge.

The suite cleans a list in test_zookeeper_cluster.py; here peers, claims and queues change in between.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from kazoo.client import KazooClient
from pyspark.sql import SparkSession

from pipelines.capture.sources.zookeeper_client import ZooKeeperClient
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.hbase.zookeeper.tree import parse_tree
from tests.labs.cleanup.real import HOME, RealLab
from tests.labs.cluster.hbase import HBaseCluster, wait_until
from tests.labs.cluster.hbase_data import ROWS
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.oracle import Oracle, wait_shipped

pytestmark = [pytest.mark.realhbase, pytest.mark.deep]

TABLE, SENT, PEER, LATE = "cleaned2", "sent2", "cleaned", "late"
NOWHERE = "nowhere:2181:/hbase"
"""Its endpoint takes everything, and keeps nothing."""


@dataclass
class Queues:
    """The znodes below `rs`, with the rights of whoever restores an old ZooKeeper."""

    cluster: HBaseCluster
    writer: KazooClient
    reader: ZooKeeperQueues
    put: list[str] = field(default_factory=list)

    @property
    def root(self) -> str:
        return f"/{self.cluster.name}/replication/rs"

    def owners(self) -> set[str]:
        return {str(queue.owner) for queue in parse_tree(self.reader.znodes("queues-1")).queues}

    def names(self) -> set[str]:
        return {wal for queue in parse_tree(self.reader.znodes("queues-1")).queues for wal in queue.wals}

    def set_back(self, path: str) -> None:
        """A WAL that was shipped stands in a queue again."""
        queues = parse_tree(self.reader.znodes("queues-1")).queues
        queue = next(one for one in queues if one.queue.peer_id == PEER)
        self.put.append(f"{self.root}/{queue.owner}/{queue.queue.text}/{path.rpartition('/')[2]}")
        self.writer.create(self.put[-1], b"")

    def clear(self) -> None:
        while self.put:
            self.writer.delete(self.put.pop())

    @contextmanager
    def claimed_without_end(self) -> Iterator[None]:
        """Meanwhile the cversion of `rs` goes up, as with each claim (HBASE-12865)."""
        ended = threading.Event()

        def claim() -> None:
            while not ended.wait(0.01):
                self.writer.create(f"{self.root}/cversion_9")
                self.writer.delete(f"{self.root}/cversion_9")

        thread = threading.Thread(target=claim)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


@pytest.fixture
def queues(zookeeper_cluster: HBaseCluster) -> Iterator[Queues]:
    client = ZooKeeperClient(zookeeper_cluster.zookeeper_quorum, 300_000)
    writer = KazooClient(hosts=zookeeper_cluster.zookeeper_quorum)
    writer.start(timeout=300)
    found = Queues(zookeeper_cluster, writer, ZooKeeperQueues(client, f"/{zookeeper_cluster.name}"))
    yield found
    found.clear()
    for peer in found.reader.peers():
        zookeeper_cluster.remove_peer(peer.peer_id)
    wait_until(lambda: not found.owners(), "HBase removes the queues of removed peers")
    writer.stop()
    writer.close()
    client.close()


def lab_of(
    cluster: HBaseCluster, hdfs: HdfsCluster, spark: SparkSession, work: pytest.TempPathFactory, name: str
) -> RealLab:
    queues = {"source": "zookeeper", "quorum": cluster.zookeeper_quorum, "parent": f"/{cluster.name}"}
    sections = {"queues": queues, "state": {"source": "zookeeper"}, "quiet_attempts": 1}
    hdfs.file_system().mkdirs(hdfs.path(f"{HOME}/quarantine"))
    return RealLab(cluster, hdfs, spark, work.mktemp(name), f"{name}-{cluster.name}", sections=sections)


def kept(cluster: HBaseCluster) -> set[str]:
    """What HBase's own cleaner would keep now."""
    files = cluster.old_wals()
    return {file.path for file, one in zip(files, Oracle(cluster).verdicts(files), strict=True) if one != "DELETE"}


@pytest.mark.promise("zookeeper-clean-stops", "zookeeper-names-again-are-left")
def test_the_life_of_a_list(
    zookeeper_cluster: HBaseCluster,
    hdfs_cluster: HdfsCluster,
    spark: SparkSession,
    queues: Queues,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    cluster = zookeeper_cluster
    cluster.create_table(TABLE)
    cluster.add_peer(PEER, NOWHERE)
    cluster.archive_wals(TABLE)
    wait_shipped(cluster, TABLE)
    victim = cluster.start_server()
    cluster.move_region(TABLE, victim)
    cluster.disable_peer(PEER)
    cluster.archive_wals(TABLE)
    lab = lab_of(cluster, hdfs_cluster, spark, tmp_path_factory, TABLE)
    lab.night()
    start, listed = lab.home(), sorted(lab.listed())
    assert len(listed) > 3
    assert not set(listed) & kept(cluster)

    # a peer that the list knows nothing of
    cluster.add_peer(LATE, NOWHERE, enabled=False)
    code, said = lab.attempt()
    assert (code, "peer 'late' was added since the list was decided" in said) == (3, True), said
    cluster.remove_peer(LATE)

    # a claim is under way
    with queues.claimed_without_end():
        code, said = lab.attempt()
    assert (code, "the cluster moved while it was read (servers or queues moved" in said) == (3, True), said
    assert lab.resting() == {}

    # a claim has ended since, and one listed WAL stands in a queue again
    cluster.kill_server(victim)
    wait_until(lambda: victim not in queues.owners(), f"the queues of {victim} are claimed")
    again, resting = listed[0], listed[1:]
    queues.set_back(again)
    pending = kept(cluster)
    assert {again} < pending
    done = lab.clean(execute=True)
    assert (done.exit_code, done.result["status"], done.result["done_files"]) == (0, "DONE", len(resting)), done.text
    assert f"{again}: the second look holds it: PENDING" in done.text
    assert sorted(lab.resting()) == resting
    assert pending <= set(lab.home()), "nothing that HBase keeps has moved"
    assert {path.rpartition("/")[2] for path in lab.resting()}.isdisjoint(queues.names())
    lab.assert_audit_is_true()

    # undone in part; one of the others stands in a queue again
    back, held, purged = resting[0], resting[1], resting[2:]
    assert lab.restore([back]).exit_code == 0
    assert back in lab.home()
    queues.set_back(held)
    gone = lab.purge("the disk is full")
    assert gone.exit_code == 0, gone.text
    assert sorted(lab.resting()) == [held]
    assert {path: lab.outcomes()[path] for path in purged} == dict.fromkeys(purged, "PURGED")
    lab.assert_nothing_is_lost(start)


@pytest.mark.promise("zookeeper-free-stays-free")
def test_all_rows_arrive_after_a_clean_up(
    zookeeper_cluster: HBaseCluster,
    hdfs_cluster: HdfsCluster,
    spark: SparkSession,
    queues: Queues,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """What a dead server wrote waits in a claimed queue; after the clean-up the cluster starts again and sends it."""
    cluster = zookeeper_cluster
    other = HBaseCluster(cluster.jvm, hdfs_cluster, f"{cluster.name}-peer", 1, zookeeper_of=cluster)
    for one in (cluster, other):
        one.create_table(SENT)
    cluster.add_peer(PEER, other.cluster_key)
    cluster.archive_wals(SENT)
    cluster.wait_replicated(SENT, other, len(ROWS))
    wait_shipped(cluster, SENT)
    cluster.disable_peer(PEER)
    victim = cluster.start_server()
    cluster.move_region(SENT, victim)
    cluster.put(SENT, [f"{row}-late" for row in ROWS])
    cluster.archive_wals(SENT)
    cluster.kill_server(victim)
    wait_until(lambda: victim not in queues.owners(), f"the queues of {victim} are claimed")

    lab = lab_of(cluster, hdfs_cluster, spark, tmp_path_factory, SENT)
    lab.night()
    start, listed = lab.home(), sorted(lab.listed())
    assert len(listed) > 1
    assert not set(listed) & kept(cluster)
    assert lab.clean(execute=True).result["done_files"] == len(listed)
    assert lab.restore(listed[:1]).exit_code == 0
    assert sorted(lab.resting()) == listed[1:]
    lab.assert_nothing_is_lost(start)

    assert other.count(SENT) == len(ROWS), "nothing has been sent meanwhile"
    cluster.crash()
    cluster.restart(2)
    assert cluster.count(SENT) == 2 * len(ROWS)
    cluster.enable_peer(PEER)
    cluster.wait_replicated(SENT, other, 2 * len(ROWS))
    other.crash()
