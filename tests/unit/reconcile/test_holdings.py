"""Who holds how much, from the totals of one cluster; with queues in ZooKeeper: test_zookeeper_rule.py."""

from collections.abc import Iterator
from dataclasses import replace

from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.decide.rule.cluster_view import ClusterView, merge_passes
from pipelines.decide.rule.decision_table import DecisionTable, TableAnswer, decision_table
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.hbase.replication_queues import QueueCell, parse_offset, parse_queue_id
from pipelines.hbase.server_names import ServerName
from pipelines.lake.run_summary import PinnedRow
from pipelines.reconcile.holdings import pinned_rows
from pipelines.snapshot.model import Membership
from tests.strategies import ClusterCase, view_of
from tests.strategies.clusters import MASTER, snapshot_of

H1 = ServerName.parse("h1,16020,5")
G1 = "h1%2C16020%2C5"


def cluster(**rows: dict[str, str]) -> ClusterView:
    """H1 lives; the peers 1 and 2 have these rows of its WALs, by peer."""
    nobody = Membership(MASTER, frozenset(), frozenset())
    case = ClusterCase(snapshot_of(("1", "2"), nobody, nobody), (), (), (), (), ReconcileSettings())
    cells = [
        QueueCell(parse_queue_id(f"{peer.removeprefix('peer_')}-{H1}"), group, parse_offset(offset))
        for peer, offsets in rows.items()
        for group, offset in offsets.items()
    ]
    return replace(view_of(case), untrusted=None, rows=merge_passes([cells]), online=frozenset({H1}))


def pinned(view: ClusterView, table: DecisionTable, *answers: TableAnswer) -> tuple[PinnedRow, ...]:
    """The rows if each answer is that of one file of eight bytes."""
    return pinned_rows(view, table, list(totals(answers)), {"1": "ENABLED", "2": "ENABLED"})


def totals(answers: tuple[TableAnswer, ...]) -> Iterator[BucketTotal]:
    for one in answers:
        verdict, reason = one.decision.verdict.value, one.decision.reason.value
        yield BucketTotal("c", True, verdict, reason, one.hbase_verdict.value, one.bucket, 1, 8, 7, 7, 0, 0)


def test_files_of_dead_servers_without_a_queue_are_held_by_peers_and_by_no_invented_queue() -> None:
    view = replace(cluster(peer_1={G1: f"{G1}.7:0"}), restless="a server died")
    table = decision_table(view)
    rows = pinned(view, table, table.unknown)
    assert [(row.level, row.peer_id, row.joint_files, row.joint_bytes) for row in rows] == [
        ("peer", "1", 1, 8),
        ("peer", "2", 1, 8),
    ]


def test_groups_in_which_no_queue_has_an_offset_are_one_row_without_a_group() -> None:
    view = cluster(peer_1={G1: f"{G1}.7:0"})
    table = decision_table(view)
    (server,) = (one for one in table.servers if one.server == H1)
    (group,) = table.groups
    rows = pinned(view, table, server.plain, group.stretches[-1].answer)
    assert [(row.peer_id, row.owner, row.wal_group, row.files) for row in rows if row.level == "group"] == [
        ("1", str(H1), None, 1),
        ("1", str(H1), G1, 1),
        ("2", None, None, 1),
        ("2", None, G1, 1),
    ]
    assert [row.files for row in rows if row.level == "queue"] == [2, 2]


def test_what_frees_the_files_of_a_peer_without_a_queue_is_said() -> None:
    view = cluster(peer_1={G1: f"{G1}.7:0"})
    table = decision_table(view)
    (server,) = (one for one in table.servers if one.server == H1)
    rows = pinned(view, table, server.plain)
    missing = {row.remedy for row in rows if row.peer_id == "2" and row.level != "peer"}
    assert missing == {f"peer 2 has no queue for {H1} yet: {REASON_TEXTS['QUEUE_MISSING'].way_out}"}
