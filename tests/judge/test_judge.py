"""HBase's own ReplicationLogCleaner judges fabricated states: the corpus, random ones, and more with `--deep`."""

from collections.abc import Iterator

import pytest

from tests.judge.corpus import QUEUE_TABLE
from tests.judge.states import JudgedState
from tests.judge.storage import Entry
from tests.judge.trial import Trial
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.judge import Judge
from tests.labs.cluster.oracle import Oracle
from tests.suite.sizes import examples

pytestmark = pytest.mark.realhbase


@pytest.fixture(scope="module")
def judge(peer_cluster: HBaseCluster, lab: Oracle) -> Iterator[Judge]:
    """The cleaner of the peer cluster, whose queue table `lab` has made."""
    judge = Judge(peer_cluster)
    yield judge
    judge.clear()
    lab.set_peers([])


@pytest.mark.promise("real-cleaner-judges-made-up-states")
@pytest.mark.parametrize("entry", QUEUE_TABLE.entries(), ids=lambda entry: entry.name)
def test_the_corpus(judge: Judge, entry: Entry[JudgedState]) -> None:
    assert tuple(judge.answers(entry.state)) == entry.answers
    Trial(QUEUE_TABLE, judge).check(entry.state, entry.answers)


@pytest.mark.slow("HBase's own cleaner judges each of many states")
@pytest.mark.promise("real-cleaner-judges-made-up-states")
def test_random_states(judge: Judge) -> None:
    Trial(QUEUE_TABLE, judge).random_states(examples(200))


@pytest.mark.deep
def test_many_random_states(judge: Judge, peer_cluster: HBaseCluster) -> None:
    Trial(QUEUE_TABLE, judge).many_random_states(peer_cluster.version())
