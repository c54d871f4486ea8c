"""Both storages of queues: each is chosen for its snapshots, and everything that differs by storage knows both."""

from dataclasses import replace

import pytest

from pipelines.common.conditions import Condition
from pipelines.decide.rule.queue_storage import ReplicationQueueStorage
from pipelines.decide.rule.replication_storage_factory import replication_queue_storage
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.table_queue_storage import TABLE
from pipelines.decide.rule.trust import first_doubt
from pipelines.decide.rule.verdict import ArchivedFile, Reason
from pipelines.decide.rule.zookeeper_queue_storage import ZOOKEEPER
from pipelines.hbase.replication_queues import NEEDS_ALL, GroupOffset, QueueCell, QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import parse_tree
from pipelines.queues.audit.audit_queues import AUDITED_QUEUES
from pipelines.queues.audit.storages import AUDITED_STORAGES
from pipelines.queues.dump.queue_storage import DUMPED_STORAGES
from pipelines.queues.syncup.queue_storage import SYNCUP_STORAGES
from pipelines.queues.wals.queue_storage import INSPECTED_STORAGES
from pipelines.reconcile.findings.storage_words import STORAGE_WORDS
from pipelines.snapshot.model import (
    QUEUE_STORAGE_TABLE,
    QUEUE_STORAGE_ZOOKEEPER,
    MasterFlags,
    Membership,
    Snapshot,
    WalDirectory,
)
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from tests.strategies.clusters import NOW, snapshot_of
from tests.strategies.zookeeper import ZooKeeperCase, view_of_zookeeper, znodes, zookeeper_snapshot

SNAPSHOT = zookeeper_snapshot(["1"])
MIGRATING = MasterFlags(queue_table_exists=True, add_peer_running=False, migration_pending=True, zk_queue_data=True)


@pytest.mark.parametrize(
    ("name", "storage", "elsewhere"),
    [
        (QUEUE_STORAGE_TABLE, TABLE, Condition.MIGRATION_PENDING),
        (QUEUE_STORAGE_ZOOKEEPER, ZOOKEEPER, Condition.QUEUES_IN_TABLE),
    ],
)
def test_a_snapshot_has_its_storage(name: str, storage: ReplicationQueueStorage, elsewhere: Condition) -> None:
    snapshot = replace(SNAPSHOT, queue_storage=name, flags=MIGRATING, flags_2=MIGRATING)
    assert replication_queue_storage(snapshot) is storage
    assert storage.name == name
    doubt = first_doubt(storage.elsewhere(snapshot))
    assert doubt is not None
    assert doubt[0] is elsewhere


def test_whatever_differs_by_storage_knows_both() -> None:
    both = {QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER}
    inspecting = (DUMPED_STORAGES, INSPECTED_STORAGES, SYNCUP_STORAGES)
    told = (AUDITED_QUEUES, AUDITED_STORAGES, STORAGE_WORDS)
    assert [set(one) for one in (*inspecting, *told)] == [both] * 6


def test_the_rule_asks_the_storage_of_the_view() -> None:
    nodes = znodes({("h1,16020,5", "1"): {"h1%2C16020%2C5.7": b""}})
    view = view_of_zookeeper(ZooKeeperCase(SNAPSHOT, (), nodes, nodes, ReconcileSettings()))
    other = ArchivedFile("oldWALs/h1%2C16020%2C5.6", 1, view.queued.read_from - 1)
    assert ZOOKEEPER.decide(view, other).reason is Reason.NOT_QUEUED
    # the row says from which WAL on the queue needs all
    assert TABLE.decide(view, other).reason is Reason.REPLICATED
    assert TABLE.decide(view, replace(other, path="oldWALs/h1%2C16020%2C5.8")).reason is Reason.PENDING


H1, H2 = ServerName("h1", 16020, 5), ServerName("h2", 16020, 5)
ONE, TWO = "h1%2C16020%2C5.a", "h1%2C16020%2C5.b"
OWN, CLAIMED = QueueId("1", H1), QueueId("1", H2, H1)


def of_table() -> OpenedSnapshot:
    """h1 is alive; its own queue has offsets of two groups, and h2 has claimed one with the first of them."""
    alive = Membership("m,1,1", frozenset({H1, H2}), frozenset(), (WalDirectory(H1, 1, NOW), WalDirectory(H2, 1, NOW)))
    cells = (
        QueueCell(OWN, TWO, GroupOffset(f"{TWO}.40", 1)),
        QueueCell(OWN, ONE, GroupOffset(f"{ONE}.10", -1)),
        QueueCell(CLAIMED, ONE, GroupOffset(f"{ONE}.20", 3)),
    )
    return OpenedSnapshot("s", snapshot=snapshot_of(["1"], alive, alive), passes=(cells, cells))


def of_zookeeper() -> OpenedSnapshot:
    """h1 has a queue with WALs of two groups, h2 an empty one."""
    nodes = znodes({(str(H1), "1"): {f"{TWO}.40": b"", f"{ONE}.10": b"", f"{ONE}.20": b""}, (str(H2), "1"): {}})
    tree = parse_tree(nodes)
    return OpenedSnapshot("s", snapshot=SNAPSHOT, trees=(tree, tree))


def needs_of(
    storage: ReplicationQueueStorage, opened: OpenedSnapshot
) -> list[tuple[str, str | None, int | None, set[str]]]:
    """By queue and group: the need, and what the files of its answers are held or freed for."""
    view = storage.view(opened, ReconcileSettings(), None)
    table = storage.decision_table(view)
    asked = {answer.bucket: answer for answer in table.answers()}
    return [
        (
            str(one.row.queue),
            one.group,
            one.need,
            {f"{asked[bucket].group.rpartition('.')[2]}:{asked[bucket].timestamp}" for bucket in one.buckets},
        )
        for one in storage.needs(view, table)
    ]


def test_an_offset_needs_its_group_from_there_on() -> None:
    found = needs_of(TABLE, of_table())
    own, claimed = str(OWN), str(CLAIMED)
    assert [one[:3] for one in found] == [
        (own, ONE, 11),
        (own, TWO, 40),
        (own, None, NEEDS_ALL),
        (claimed, ONE, 20),
        (claimed, None, NEEDS_ALL),
    ]
    assert [one[3] for one in found[:2]] == [{"a:11", "a:20"}, {"b:40"}]
    assert found[3][3] == {"a:20"}
    # groups without an offset: those of no row for the first queue, and the second group too for the other one
    assert {one for one in found[4][3] if one.startswith("b:")} == {"b:0", "b:40"}
    assert [one.startswith(("a:", "b:")) for one in found[2][3]] == [False]


def test_the_wals_of_the_queue_table_are_needed_only_of_a_dead_server() -> None:
    opened = of_table()
    dead = Membership("m,1,1", frozenset({H2}), frozenset())
    gone = replace(opened, snapshot=replace(opened.known, membership=dead, membership_2=dead))

    def of_the_queue_table(found: OpenedSnapshot) -> list[bool]:
        view = TABLE.view(found, ReconcileSettings(), None)
        table = TABLE.decision_table(view)
        (bucket,) = (one.replication_table.bucket for one in table.servers if one.server == H1)
        return [bucket in one.buckets for one in TABLE.needs(view, table) if one.group is None]

    assert (of_the_queue_table(opened), of_the_queue_table(gone)) == ([False, False], [True, True])


def test_a_queue_in_zookeeper_needs_what_it_lists() -> None:
    found = needs_of(ZOOKEEPER, of_zookeeper())
    assert [one[:3] for one in found] == [
        ("1-h1,16020,5", ONE, 10),
        ("1-h1,16020,5", TWO, 40),
        ("1-h2,16020,5", None, None),
    ]
    assert [len(one[3]) for one in found] == [1, 1, 0]


@pytest.mark.parametrize(("storage", "opened"), [(TABLE, of_table()), (ZOOKEEPER, of_zookeeper())])
def test_a_storage_reads_what_was_opened(storage: ReplicationQueueStorage, opened: OpenedSnapshot) -> None:
    ids = {OWN, CLAIMED} if storage is TABLE else {OWN, QueueId("1", H2)}
    assert storage.queue_ids(opened) == ids
    assert isinstance(storage.queue_ids(opened), frozenset)
    view = storage.view(opened, ReconcileSettings(), "why")
    assert view.storage is storage
    assert {row.queue for row in view.rows} == ids
    assert (view.untrusted, view.hbase_keeps_all) == ("why", False)
    malformed = replace(opened, passes=(), trees=(), malformed="a row")
    assert storage.view(malformed, ReconcileSettings(), None).hbase_keeps_all
    assert storage.decision_table(view).next_bucket == storage.decision_table(view, 7).next_bucket - 7
    assert min(answer.bucket for answer in storage.decision_table(view).answers()) == 0


def test_trust_and_rest_are_those_of_the_storage() -> None:
    table, zookeeper, settings = of_table(), of_zookeeper(), ReconcileSettings()
    assert first_doubt(TABLE.doubts(table, settings.release)) is None
    assert first_doubt(ZOOKEEPER.doubts(zookeeper, settings.release)) is None
    no_rows = replace(table, passes=((), ()))
    assert (first_doubt(TABLE.doubts(no_rows, settings.release)) or ("", ""))[0] is Condition.SNAPSHOT_UNTRUSTED
    no_queues = replace(zookeeper, trees=(parse_tree(znodes({})),) * 2)
    assert (first_doubt(ZOOKEEPER.doubts(no_queues, settings.release)) or ("", ""))[0] is Condition.SNAPSHOT_UNTRUSTED
    assert TABLE.restless(table) is None
    assert TABLE.restless(replace(table, passes=())) is None
    first, last = table.passes[0], table.passes[0][:2]
    for passes in ((first, last), (last, first)):
        assert "only one of the two passes" in (TABLE.restless(replace(table, passes=passes)) or "")
    assert "belongs to a server whose crash" in (TABLE.restless(replace(table, snapshot=crashing(table))) or "")
    assert ZOOKEEPER.restless(zookeeper) is None
    assert ZOOKEEPER.restless(replace(zookeeper, trees=())) == "the queues were not read twice"


def crashing(opened: OpenedSnapshot) -> Snapshot:
    known = opened.known
    dying = replace(known.membership or Membership(None, frozenset(), frozenset()), crashing=frozenset({H2}))
    return replace(known, membership=dying, membership_2=dying)


def test_the_storages_differ_in_what_peers_and_moves_mean() -> None:
    assert (TABLE.asks_peers, TABLE.new_peer_needs_archived, TABLE.frees_while_moving) == (True, True, True)
    assert (ZOOKEEPER.asks_peers, ZOOKEEPER.new_peer_needs_archived, ZOOKEEPER.frees_while_moving) == (False,) * 3
