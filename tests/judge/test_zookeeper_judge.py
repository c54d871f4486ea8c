"""The ReplicationLogCleaner of a real HBase 2 judges fabricated queues in ZooKeeper; more with `--deep`."""

from collections.abc import Iterator

import pytest

from tests.judge.trial import Trial
from tests.judge.zookeeper_corpus import QUEUE_ZNODES
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.judge import ZooKeeperJudge
from tests.suite.sizes import examples

pytestmark = [pytest.mark.realhbase, pytest.mark.long]


@pytest.fixture(scope="module")
def judge(hbase_2_cluster: HBaseCluster) -> Iterator[ZooKeeperJudge]:
    """The cleaner of the HBase 2 cluster, over a znode that nobody else uses."""
    judge = ZooKeeperJudge(hbase_2_cluster)
    yield judge
    judge.clear()


def test_the_corpus(judge: ZooKeeperJudge) -> None:
    for entry in QUEUE_ZNODES.entries():
        assert tuple(judge.answers(entry.state)) == entry.answers, entry.name
        Trial(QUEUE_ZNODES, judge).check(entry.state, entry.answers)


@pytest.mark.promise("real-cleaner-judges-made-up-states")
def test_random_states(judge: ZooKeeperJudge) -> None:
    Trial(QUEUE_ZNODES, judge).random_states(examples(200))


@pytest.mark.deep
def test_many_random_states(judge: ZooKeeperJudge, hbase_2_cluster: HBaseCluster) -> None:
    Trial(QUEUE_ZNODES, judge).many_random_states(hbase_2_cluster.version())
