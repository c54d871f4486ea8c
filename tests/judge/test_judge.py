"""HBase's own ReplicationLogCleaner judges fabricated states: the corpus, random ones, and more with `--deep`."""

import os
import time
from collections.abc import Iterator, Sequence
from functools import partial

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.cluster.hbase import HBaseCluster
from tests.cluster.judge import Judge
from tests.cluster.oracle import Oracle
from tests.judge.comparison import Answer, mismatches
from tests.judge.corpus import Entry, entries, kind_of_each, kinds, save, smallest
from tests.judge.mutants import MUTANTS, caught_on
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
    new = Novelties(judge)
    faults: list[str] = []
    started = time.monotonic()
    while time.monotonic() - started < limit:
        try:
            one_round(judge, record, new, number)
        except AssertionError as error:
            faults.append(f"seed {number}: {error}")
        number += 1
    record.seeds = (first, number - 1)
    record.seconds = round(time.monotonic() - started)
    record.mismatches = len(faults)
    record.finished = time.strftime("%Y-%m-%d", time.gmtime())
    record.write()
    assert not faults, "\n".join(faults)


class Novelties:
    """What the corpus has no state for yet: kinds of answer, and mutants that none of its states catches."""

    def __init__(self, judge: Judge) -> None:
        corpus = entries()
        self._judge = judge
        self._kinds = {kind for entry in corpus for kind in kinds(entry.state, entry.answers)}
        self._at_large = [
            mutant
            for mutant in MUTANTS
            if all(caught_on(mutant, entry.state, entry.answers) is None for entry in corpus)
        ]

    def look_for(self, state: JudgedState, answers: Sequence[Answer]) -> None:
        """Adds the state to the corpus, made small, once for each thing that it is the first to show."""
        for kind, number in kinds(state, answers).items():
            if kind not in self._kinds:
                self._kinds.add(kind)
                save(kind, *smallest(state, number, self._judge.answers, partial(_shows, kind)))
        for mutant in tuple(self._at_large):
            caught = caught_on(mutant, state, answers)
            if caught is not None:
                self._at_large.remove(mutant)
                save(f"mutant {mutant}", *smallest(state, caught, self._judge.answers, partial(_tells, mutant)))


def _tells(mutant: str, state: JudgedState, answers: Sequence[Answer]) -> bool:
    return caught_on(mutant, state, answers) is not None


def _shows(kind: str, state: JudgedState, answers: Sequence[Answer]) -> bool:
    return kind in kinds(state, answers)


def one_round(judge: Judge, record: Record, new: Novelties, number: int) -> None:
    """Counts into the record; what is met for the first time goes into the corpus."""

    @seed(number)
    @settings(SETTINGS, max_examples=STATES_PER_ROUND, database=None)
    @given(judged_states())
    def every(state: JudgedState) -> None:
        answers = judge.answers(state)
        record.states += 1
        record.files += len(state.files)
        record.kinds.update(kind_of_each(state, answers))
        check(state, answers)
        new.look_for(state, answers)

    every()
