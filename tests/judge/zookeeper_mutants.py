"""Both rules for queues in ZooKeeper with one mistake each: HBase 2's answers must tell every one from the truth."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_2_verdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.verdict import ArchivedFile, Decision, Reason, decide, deletable
from pipelines.hbase.wal_names import parse_wal_name
from tests.judge import zookeeper_comparison
from tests.judge.comparison import Answer
from tests.judge.zookeeper_comparison import zk_mismatches
from tests.judge.zookeeper_states import ZkJudgedState

Rule = Callable[[ArchivedFile, ClusterView], Decision]
Transcription = Callable[[str, int, ClusterView], HBaseVerdict]


def meta_may_go(file: ArchivedFile, view: ClusterView) -> Decision:
    wal, decision = parse_wal_name(file.name), decide(file, view)
    pending = decision.reason is Reason.PENDING
    return deletable(Reason.META_WAL) if pending and wal is not None and wal.is_meta else decision


def existing_peers_alone(file: ArchivedFile, view: ClusterView) -> Decision:
    decision = decide(file, view)
    holders = [one for one in decision.blocking if one.peer_id in view.peer_ids]
    return deletable(Reason.NOT_QUEUED) if decision.reason is Reason.PENDING and not holders else decision


def any_case(file: ArchivedFile, view: ClusterView) -> Decision:
    queued = view.queued
    names = {name.lower(): queues for name, queues in queued.queues_of.items()}
    decision = decide(file, view)
    if decision.reason is Reason.NOT_QUEUED and file.name.lower() in names:
        return Decision(decision.verdict.HELD, Reason.PENDING)
    return decision


def never_too_late(name: str, _modified: int, view: ClusterView) -> HBaseVerdict:
    return hbase_2_verdict(name, 0, view)


def late_by_one(name: str, modified: int, view: ClusterView) -> HBaseVerdict:
    return hbase_2_verdict(name, modified - 1, view)


def either_reading(name: str, modified: int, view: ClusterView) -> HBaseVerdict:
    queued = view.queued
    return hbase_2_verdict(
        name, modified, replace(view, queued=replace(queued, first_reading=frozenset(queued.queues_of)))
    )


def no_name_is_queued(name: str, modified: int, view: ClusterView) -> HBaseVerdict:
    wal = parse_wal_name(name)
    return HBaseVerdict.DELETE if wal is None or wal.is_meta else hbase_2_verdict(name, modified, view)


def blocked_is_passed_over(name: str, modified: int, view: ClusterView) -> HBaseVerdict:
    return hbase_2_verdict(name, modified, replace(view, hbase_keeps_all=False))


RULES: dict[str, Rule] = {
    "rule: a WAL of meta is in no queue": meta_may_go,
    "rule: queues of removed peers do not hold": existing_peers_alone,
    "rule: names match in any case": any_case,
}
TRANSCRIPTIONS: dict[str, Transcription] = {
    "transcription: no file is too late": never_too_late,
    "transcription: the moment itself is before": late_by_one,
    "transcription: names of either reading": either_reading,
    "transcription: what is no WAL is in no queue": no_name_is_queued,
    "transcription: a server that it cannot read is passed over": blocked_is_passed_over,
}
ZK_MUTANTS = (*RULES, *TRANSCRIPTIONS)


def zk_caught_on(mutant: str, state: ZkJudgedState, answers: Sequence[Answer]) -> int | None:
    """The number of a file on which the mutant differs from the real answers without a reason; None = on no file."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        if mutant in RULES:
            monkeypatch.setattr(zookeeper_comparison, "decide", RULES[mutant])
        else:
            monkeypatch.setattr(zookeeper_comparison, "hbase_2_verdict", TRANSCRIPTIONS[mutant])
        found = {one.path for one in zk_mismatches(state, answers)}
    return next((number for number, file in enumerate(state.files) if file.path in found), None)
