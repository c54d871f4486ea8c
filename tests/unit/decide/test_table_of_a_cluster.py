"""The whole table of one small cluster, answer by answer; of drawn clusters: test_decision_table.py."""

from dataclasses import replace

import pytest

from pipelines.decide.rule.cleaner_rule import HBaseVerdict, for_tracked_wal
from pipelines.decide.rule.cluster_view import ClusterView, merge_passes
from pipelines.decide.rule.decision_table import (
    DecisionTable,
    GroupAnswers,
    ServerAnswers,
    TableAnswer,
    TimestampRange,
    decision_table,
)
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.table_rule import decide_replication
from pipelines.decide.rule.verdict import Decision, Reason, deletable, held
from pipelines.hbase.replication_queues import QueueCell, parse_offset, parse_queue_id
from pipelines.hbase.server_names import MAX_LONG, ServerName
from pipelines.snapshot.model import Membership
from tests.strategies import ClusterCase, view_of
from tests.strategies.clusters import MASTER, snapshot_of

H1, H2, H3, H4, H5, D1, H9 = (
    ServerName.parse(f"{name},16020,5") for name in ("h1", "h2", "h3", "h4", "h5", "d1", "h9")
)
UNKNOWN = ServerName("unknown.invalid", 0, 0)
G1, GD, G9 = "h1%2C16020%2C5", "d1%2C16020%2C5", "h9%2C16020%2C5"
FIRST = 40


def cluster(rows: dict[str, dict[str, str]], peers: tuple[str, ...] = ("1", "2")) -> ClusterView:
    """H1, H4 and H5 live, H2 has a directory left, H3 was only seen by HBase; D1 is dead and has a row."""
    nobody = Membership(MASTER, frozenset(), frozenset())
    case = ClusterCase(snapshot_of(peers, nobody, nobody), (), (), (), (), ReconcileSettings())
    cells = [
        QueueCell(parse_queue_id(key), group, parse_offset(offset))
        for key, offsets in rows.items()
        for group, offset in offsets.items()
    ]
    return replace(
        view_of(case),
        untrusted=None,
        rows=merge_passes([cells]),
        online=frozenset({H1, H4}),
        crashing=frozenset({H5}),
        wal_directories=frozenset({H2}),
        hbase_not_fully_dead=frozenset({H1, H3, H4}),
    )


ROWS = {
    "1-h1,16020,5": {G1: f"{G1}.1000001:0", f"{G1}.b": f"{G1}.b.7:0", f"{G1}.a": "BEGIN:0", f"{G1}.c": f"{G1}.c.7:0"},
    "2-h1,16020,5": {G1: f"{G1}.17:-1", "odd": "odd.7:0", G9: f"{G9}.7:0", f"{G1}.b": f"{G1}.b.{MAX_LONG}:-1"},
    "2-d1,16020,5": {GD: f"{GD}.0:0", f"{GD}\n": f"{GD}.7:0", "": f"{GD}.7:0"},
}
VIEW = cluster(ROWS)
POISON = held(Reason.POISON_NAME)


class Expected:
    """Answers in the order of their buckets, each as the specification gives it."""

    def __init__(self, view: ClusterView, first: int) -> None:
        self.view, self.bucket = view, first

    def of(self, server: ServerName, group: str, timestamp: int, decision: Decision | None = None) -> TableAnswer:
        self.bucket += 1
        decision = decision or decide_replication(self.view, server, group, timestamp)
        hbase = for_tracked_wal(self.view, server, group, None if timestamp < 0 else timestamp)
        return TableAnswer(self.bucket - 1, server, group, timestamp, decision, hbase)

    def group(self, server: ServerName, group: str, *starts: int) -> GroupAnswers:
        stretches = tuple(TimestampRange(start, self.of(server, group, start)) for start in starts)
        return GroupAnswers(server, group, stretches, self.of(server, group, -1, POISON))

    def server(self, server: ServerName, end: str = "\n") -> ServerAnswers:
        encoded = str(server).replace(",", "%2C")
        plain = self.of(server, f"{encoded}{end}", 0)
        return ServerAnswers(server, encoded, plain, self.of(server, f"{encoded}.{encoded}.rep.\n", 0))


def test_every_answer_of_the_table() -> None:
    asked = Expected(VIEW, FIRST)
    groups = (
        asked.group(D1, GD, 0),
        asked.group(H1, G1, 0, 18, 1_000_001),
        asked.group(H1, f"{G1}.a", 0),
        asked.group(H1, f"{G1}.b", 0, 7),
        asked.group(H1, f"{G1}.c", 0, 7),
    )
    servers = (asked.server(D1, "\n\n"), *(asked.server(one) for one in (H1, H2, H3, H4, H5)))
    unknown = asked.of(UNKNOWN, "unknown", 0)
    no_server = TableAnswer(asked.bucket, UNKNOWN, "", -1, POISON, HBaseVerdict.THROWS)
    table = decision_table(VIEW, FIRST)
    assert table == DecisionTable(VIEW.cluster, groups, servers, unknown, no_server)
    assert table.next_bucket == asked.bucket + 1
    assert [answer.bucket for answer in table.answers()] == list(range(FIRST, table.next_bucket))
    assert decision_table(VIEW).unknown.bucket == unknown.bucket - FIRST


@pytest.mark.parametrize(
    ("timestamp", "start"), [(0, 0), (17, 0), (18, 18), (1_000_000, 18), (1_000_001, 1_000_001), (MAX_LONG, 1_000_001)]
)
def test_a_timestamp_has_the_answer_of_its_stretch(timestamp: int, start: int) -> None:
    (group,) = (one for one in decision_table(VIEW).groups if one.name == G1)
    assert group.answer(timestamp).timestamp == start
    assert group.answer(timestamp).decision == decide_replication(VIEW, H1, G1, timestamp)


def test_what_differs_between_the_stretches() -> None:
    """The answers above are the specification's own; these are said once in words."""
    (group,) = (one for one in decision_table(VIEW).groups if one.name == G1)
    seen = [(one.answer.decision.reason, one.answer.hbase_verdict) for one in group.stretches]
    assert seen == [
        (Reason.REPLICATED, HBaseVerdict.DELETE),
        (Reason.PENDING, HBaseVerdict.KEEP),
        (Reason.PENDING, HBaseVerdict.KEEP),
    ]
    assert group.overflow.hbase_verdict is HBaseVerdict.THROWS


@pytest.mark.parametrize(
    ("change", "hbase"),
    [({"hbase_keeps_all": True}, HBaseVerdict.KEEP), ({"queue_table_absent": True}, HBaseVerdict.DELETE)],
)
def test_what_hbase_does_with_all_files_it_does_with_each(change: dict[str, bool], hbase: HBaseVerdict) -> None:
    table = decision_table(replace(VIEW, **change))  # type: ignore[arg-type]
    assert {answer.hbase_verdict for answer in table.answers()} == {hbase}
    assert table.no_server.decision == POISON


def test_without_a_peer_nothing_is_needed() -> None:
    table = decision_table(cluster({}, peers=()))
    (*answers, no_server) = table.answers()
    assert {answer.decision for answer in answers} == {deletable(Reason.NO_PEERS)}
    assert (no_server.decision, no_server.hbase_verdict) == (POISON, HBaseVerdict.DELETE)
