"""HBase's own ReplicationLogCleaner judges fabricated states: the corpus, random ones, and more with `--deep`."""

import os
import time
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.cluster.hbase import HBaseCluster
from tests.cluster.judge import Judge
from tests.cluster.oracle import Oracle
from tests.judge.comparison import Answer, mismatches
from tests.judge.corpus import Entry, entries, kind_of_each, kinds, save, smallest
from tests.judge.record import Record
from tests.judge.states import JudgedState, judged_states

pytestmark = pytest.mark.realhbase
SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))
STATES_PER_ROUND = 500
SECONDS_ENV = "WALSAFE_JUDGE_SECONDS"


@pytest.fixture(scope="module")
def judge(peer_cluster: HBaseCluster, lab: Oracle) -> Iterator[Judge]:
    """The cleaner of the peer cluster, whose queue table `lab` has made."""
    judge = Judge(peer_cluster)
    yield judge
    judge.clear()
    lab.set_peers([])


def check(state: JudgedState, answers: Sequence[Answer]) -> None:
    """No rule differs from the real answers; of a shrunk mismatch the last is the smallest, and stays in the corpus."""
    found = mismatches(state, answers)
    if found:
        kept = save("found", state, answers)
        raise AssertionError("\n".join((*map(str, found), f"kept as {kept.name}")))


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_the_corpus(judge: Judge, entry: Entry) -> None:
    assert tuple(judge.answers(entry.state)) == entry.answers
    check(entry.state, entry.answers)


def test_random_states(judge: Judge) -> None:
    @settings(SETTINGS, max_examples=400)
    @given(judged_states())
    def every(state: JudgedState) -> None:
        check(state, judge.answers(state))

    every()


@pytest.mark.deep
def test_many_random_states(judge: Judge, peer_cluster: HBaseCluster) -> None:
    """A round for each seed, until the time is over; what was met is written down, new kinds go into the corpus."""
    limit = int(os.environ.get(SECONDS_ENV, "1800"))
    version = peer_cluster.jvm.view.org.apache.hadoop.hbase.util.VersionInfo.getVersion()
    first = number = int(time.time()) // 86_400 * 100_000
    record = Record(hbase=version, states_per_round=STATES_PER_ROUND)
    known = {kind for entry in entries() for kind in kinds(entry.state, entry.answers)}
    faults: list[str] = []
    started = time.monotonic()
    while time.monotonic() - started < limit:
        try:
            one_round(judge, record, known, number)
        except AssertionError as error:
            faults.append(f"seed {number}: {error}")
        number += 1
    record.seeds = (first, number - 1)
    record.seconds = round(time.monotonic() - started)
    record.mismatches = len(faults)
    record.finished = time.strftime("%Y-%m-%d", time.gmtime())
    record.write()
    assert not faults, "\n".join(faults)


def one_round(judge: Judge, record: Record, known: set[str], number: int) -> None:
    """Counts into the record; a kind met for the first time is added to `known`, and to the corpus."""

    @seed(number)
    @settings(SETTINGS, max_examples=STATES_PER_ROUND, database=None)
    @given(judged_states())
    def every(state: JudgedState) -> None:
        answers = judge.answers(state)
        record.states += 1
        record.files += len(state.files)
        record.kinds.update(kind_of_each(state, answers))
        for kind, position in kinds(state, answers).items():
            if kind not in known:
                known.add(kind)
                save(kind, *smallest(state, kind, judge.answers, position))
        check(state, answers)

    every()
