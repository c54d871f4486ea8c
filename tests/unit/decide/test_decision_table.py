"""The rule and its table over generated states: nothing is undecided, HBase agrees, table and rule say the same."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from pipelines.decide.rule.cleaner_rule import for_every_file, for_tracked_wal, hbase_verdict
from pipelines.decide.rule.decision_table import TableAnswer, decision_table
from pipelines.decide.rule.table_rule import decide_by_offset, decide_replication
from pipelines.decide.rule.verdict import Decision, Reason, Verdict, decide
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import is_replication_table_group, parse_wal_name
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


def named(answer: TableAnswer, server: ServerName) -> TableAnswer:
    """The answer for every server without a row, with the name of one of them."""
    blocking = tuple(holder._replace(source=server) for holder in answer.decision.blocking)
    return replace(answer, decision=replace(answer.decision, blocking=blocking))


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
        if wal is None or wal.is_meta or not view.peer_ids:
            continue
        if wal.server is None:
            expected, hbase = decide_by_offset(view, file.name), hbase_verdict(file.name, view)
            assert (table.no_server.decision, table.no_server.hbase_verdict) == (expected, hbase)
            continue
        if wal.timestamp is None:
            continue
        groups = [row for row in table.groups if row.name == wal.group]
        servers = [one for one in table.servers if one.server == wal.server]
        if groups:
            (group,) = groups
            answer = group.answer(wal.timestamp)
            assert group.server == wal.server
            numbers = [stretch.answer.bucket for stretch in group.stretches]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        elif servers:
            (server,) = servers
            answer = server.replication_table if is_replication_table_group(wal.group, wal.server) else server.plain
        else:
            answer = named(table.unknown, wal.server)
        hbase = for_every_file(view) or for_tracked_wal(view, wal.server, wal.group, wal.timestamp)
        expected = decide_replication(view, wal.server, wal.group, wal.timestamp)
        assert (answer.decision, answer.hbase_verdict) == (expected, hbase)


@given(any_cases())
@settings(max_examples=examples(100), deadline=None)
def test_removing_a_peer_never_pins_a_file(case: ClusterCase) -> None:
    view = view_of(case)
    for file in case.files:
        before: Decision = decide(file, view)
        if before.verdict is Verdict.DELETABLE:
            for peer in view.peer_ids:
                assert decide(file, view.without_peer(peer)).verdict is Verdict.DELETABLE
