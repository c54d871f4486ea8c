"""The rule and its table over generated states: nothing is undecided, HBase agrees, table and rule say the same."""

import pytest
from hypothesis import given, settings

from pipelines.decide.rule.cleaner_rule import for_every_file, for_tracked_wal, hbase_verdict
from pipelines.decide.rule.decision_table import decision_table
from pipelines.decide.rule.table_rule import decide_replication
from pipelines.decide.rule.verdict import Decision, Reason, Verdict, decide
from pipelines.hbase.wal_names import parse_wal_name
from tests.strategies import ClusterCase, any_cases, view_of
from tests.suite.sizes import examples


@pytest.mark.promise("checked-against-hbase")
@given(any_cases())
@settings(max_examples=examples(200), deadline=None)
def test_every_file_is_decided_and_hbase_would_delete_what_is_deletable(case: ClusterCase) -> None:
    view = view_of(case)
    for file in case.files:
        decision = decide(file, view)
        assert decision.reason is not Reason.UNDECIDED
        if decision.verdict is Verdict.DELETABLE:
            assert not decision.blocking
            if decision.reason is not Reason.REPLICATION_TABLE_WAL:
                assert hbase_verdict(file.name, view).value == "DELETE", file


@pytest.mark.promise("fast-form-equals-the-rule")
@given(any_cases())
@settings(max_examples=examples(200), deadline=None)
def test_the_table_says_what_the_rule_says(case: ClusterCase) -> None:
    view = view_of(case)
    table = decision_table(view)
    buckets = [answer.bucket for answer in table.answers()]
    assert len(set(buckets)) == len(buckets)
    for file in case.files:
        wal = parse_wal_name(file.name)
        if wal is None or wal.is_meta or wal.server is None or wal.timestamp is None or not view.peer_ids:
            continue
        groups = [row for row in table.groups if row.name == wal.group]
        expected = decide_replication(view, wal.server, wal.group, wal.timestamp)
        hbase = for_every_file(view) or for_tracked_wal(view, wal.server, wal.group, wal.timestamp)
        if groups:
            (group,) = groups
            answer = group.answer(wal.timestamp)
            assert (answer.decision, answer.hbase_verdict) == (expected, hbase)
            assert group.server == wal.server
            numbers = [stretch.answer.bucket for stretch in group.stretches]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


@given(any_cases())
@settings(max_examples=examples(100), deadline=None)
def test_removing_a_peer_never_pins_a_file(case: ClusterCase) -> None:
    view = view_of(case)
    for file in case.files:
        before: Decision = decide(file, view)
        if before.verdict is Verdict.DELETABLE:
            for peer in view.peer_ids:
                assert decide(file, view.without_peer(peer)).verdict is Verdict.DELETABLE
