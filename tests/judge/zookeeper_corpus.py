"""Queues in ZooKeeper, for the judge of HBase 2."""

from collections.abc import Iterator
from dataclasses import replace

from pipelines.decide.rule.cleaner_rule import hbase_2_verdict
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.zookeeper.tree import Znode
from tests.judge.comparison import Answer
from tests.judge.record import ZOOKEEPER
from tests.judge.storage import Storage
from tests.judge.zookeeper_comparison import zk_mismatches
from tests.judge.zookeeper_mutants import ZK_MUTANTS, zk_caught_on
from tests.judge.zookeeper_states import RS, ZkJudgedState, parse_zk_state, zk_judged_states, zk_state_document
from tests.labs.places import CORPUS


def _alone(state: ZkJudgedState, number: int) -> ZkJudgedState:
    return ZkJudgedState(replace(state.case, files=(state.files[number],)))


def _aside(state: ZkJudgedState, file: ArchivedFile, real: Answer) -> str:
    transcribed = hbase_2_verdict(file.name, file.modification_time, state.view).value
    return "" if real in (transcribed, "BLOCKED") else f", transcribed {transcribed}"


def _smaller(state: ZkJudgedState) -> Iterator[ZkJudgedState]:
    """The state without one of its parts: a znode with all below it, in one reading or both, or a peer."""
    case = state.case
    paths = dict.fromkeys(znode.path for znode in (*case.pass_1, *case.pass_2) if znode.path != RS)
    for path in paths:
        first, second = _without(case.pass_1, path), _without(case.pass_2, path)
        for left in ((first, second), (first, case.pass_2), (case.pass_1, second)):
            if left != (case.pass_1, case.pass_2):
                yield ZkJudgedState(replace(case, pass_1=left[0], pass_2=left[1]))
    for peer in case.snapshot.peers:
        others = tuple(one for one in case.snapshot.peers if one != peer)
        yield ZkJudgedState(replace(case, snapshot=replace(case.snapshot, peers=others)))


def _without(znodes: tuple[Znode, ...], path: str) -> tuple[Znode, ...]:
    return tuple(znode for znode in znodes if znode.path != path and not znode.path.startswith(f"{path}/"))


QUEUE_ZNODES = Storage(
    folder=CORPUS / "judge_zookeeper",
    place=ZOOKEEPER,
    states=zk_judged_states,
    parse=parse_zk_state,
    document=zk_state_document,
    alone=_alone,
    smaller=_smaller,
    aside=_aside,
    mismatches=zk_mismatches,
    mutants=ZK_MUTANTS,
    caught_on=zk_caught_on,
)
