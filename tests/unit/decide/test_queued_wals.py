"""Both readings of queues in ZooKeeper: what either has is held, where each stands, and when a claim may be missed."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from jobs.demo.cluster.snapshots import SAFE_FLAGS
from pipelines.common.conditions import Condition
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.trust import first_doubt
from pipelines.decide.rule.zookeeper_queue_storage import zookeeper_view
from pipelines.decide.rule.zookeeper_trust import zookeeper_doubts
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import GroupOffset
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queue_ids import parse_zk_queue_id
from pipelines.hbase.zookeeper.queued_wals import first_wals, queued_wals, unsettled_reason
from pipelines.hbase.zookeeper.tree import ABSENT, ReplicationTree, ZkQueue
from pipelines.snapshot.model import Membership, Snapshot, WalDirectory
from tests.models.capture.trust import zookeeper_distrust_reason
from tests.strategies.clusters import MASTER, NOW
from tests.strategies.zookeeper import zookeeper_snapshot

H1, H2, H3 = (ServerName.parse(f"h{number},16020,5") for number in (1, 2, 3))
W7, W8, W10 = (f"h1%2C16020%2C5.{number}" for number in (7, 8, 10))


def tree(*queues: tuple[ServerName, str, Mapping[str, int | None]], **counts: int | None) -> ReplicationTree:
    """A reading during which nothing moved, but for what is said."""
    found = tuple(ZkQueue(owner, parse_zk_queue_id(name), wals) for owner, name, wals in queues)
    return replace(ReplicationTree(found, 1, 1), **counts)  # type: ignore[arg-type]


def test_a_wal_in_either_reading_is_held_at_the_smaller_position() -> None:
    one, other = tree((H1, "1", {W7: 9, W8: None})), tree((H1, "1", {W7: 5, W8: 3, W10: None}))
    for trees in ((one, other), (other, one)):
        found = queued_wals(trees, NOW)
        assert {wal: [place for _, place in queues] for wal, queues in found.queues_of.items()} == {
            W7: [5], W8: [3], W10: [None],
        }  # fmt: skip
        assert found.first_reading == set(trees[0].queues[0].wals)
    assert queued_wals((), NOW).first_reading == frozenset()


def test_the_queues_of_a_wal_are_sorted_by_peer_owner_and_source() -> None:
    of_h1, of_h3 = {W7: 0}, {W7: 1}
    queues = [
        (H1, "2", of_h1), (H2, "1-h3,16020,5", of_h3), (H2, "1-h1,16020,5", of_h1), (H2, "1", of_h1), (H1, "1", of_h1),
    ]  # fmt: skip
    for order in (queues, list(reversed(queues))):
        found = queued_wals((tree(*order),), NOW).queues_of[W7]
        assert [str(queue) for queue, _ in found] == [
            "1-h1,16020,5", "1-h2,16020,5/h1,16020,5", "1-h2,16020,5", "1-h2,16020,5/h3,16020,5", "2-h1,16020,5",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("wals", "first"),
    [
        ({W10: 1, W7: 2, W8: 3}, {"h1%2C16020%2C5": (W7, 2)}),
        ({"b": 1, "a": None}, {"a": ("a", 0), "b": ("b", 1)}),
        ({"x.99999999999999999999": 4, "x.5": 3}, {"x": ("x.99999999999999999999", 4)}),
        ({"x.0": 4, "x.99999999999999999999": 3}, {"x": ("x.99999999999999999999", 3)}),
        ({"x.5.b": 1, "x.5.a": 2}, {"x": ("x.5.a", 2)}),
    ],
)
def test_a_queue_stands_at_the_oldest_wal_of_each_group(
    wals: dict[str, int | None], first: dict[str, tuple[str, int]]
) -> None:
    for order in (wals, dict(reversed(wals.items()))):
        (groups,) = first_wals((tree((H1, "1", order)),)).values()
        assert groups == {group: GroupOffset(*offset) for group, offset in first.items()}


def test_of_one_wal_in_two_readings_the_smaller_position_counts() -> None:
    one, other = tree((H1, "1", {W7: 9})), tree((H1, "1", {W7: 5}))
    for trees in ((one, other), (other, one)):
        (groups,) = first_wals(trees).values()
        assert groups == {"h1%2C16020%2C5": GroupOffset(W7, 5)}
    short = tree((H1, "1", {"a": 9})), tree((H1, "1", {"a": 5}))
    assert list(first_wals(short).values()) == [{"a": GroupOffset("a", 5)}], "a name without a number is only a name"


def test_two_readings_between_which_nothing_moved_are_settled() -> None:
    quiet = tree(cversions={H1: 3}, cversions_after={})  # type: ignore[arg-type]
    assert unsettled_reason((quiet, quiet)) is None
    assert unsettled_reason((replace(quiet, closed=None), quiet)) is None
    assert unsettled_reason((quiet, replace(quiet, opened=None))) is None
    absent = replace(quiet, opened=ABSENT, closed=ABSENT)
    assert unsettled_reason((absent, absent)) is None
    assert unsettled_reason((quiet, quiet, quiet)) is None


@pytest.mark.parametrize(
    ("first", "last", "why"),
    [
        ({"opened": None}, {}, "not read before the first reading"),
        ({}, {"closed": None}, "not read after the second reading"),
        ({}, {"closed": 2}, "the cversion of rs went from 1 to 2"),
        ({"closed": 2}, {"opened": 2, "closed": 2}, "the cversion of rs went from 1 to 2"),
        ({"cversions": {H2: 1, H1: 1}}, {"cversions": {H2: 2, H1: 2}}, "a queue or the lock of h1,16020,5 came"),
        ({"cversions": {H1: 1}}, {"cversions_after": {H1: 2}}, "a queue or the lock of h1,16020,5 came"),
    ],
)
def test_what_moved_is_said(first: dict[str, object], last: dict[str, object], why: str) -> None:
    found = unsettled_reason((tree(**first), tree(**last)))  # type: ignore[arg-type]
    assert found is not None
    assert why in found


def test_one_reading_proves_nothing() -> None:
    for trees in ((), (tree(),)):
        assert unsettled_reason(trees) == "the queues were not read twice"
    for last in (tree(closed=5), tree(closed=None)):
        assert unsettled_reason((tree(), tree(), last)) is not None, "the last of them counts"


def test_the_flags_of_hbase_3_say_nothing_of_a_cluster_with_queues_in_zookeeper() -> None:
    """Only AddPeer and the migration of HBase 3 bar its cleaner; here only a znode that it throws on does."""
    flags = replace(SAFE_FLAGS, queue_table_exists=False, add_peer_running=True)
    snapshot = replace(zookeeper_snapshot(["1"]), flags=flags, flags_2=flags)
    trees = (tree((H2, "1", {W7: 0}), (H1, "1", {W8: 0})), tree())
    for unparsable in (False, True):
        view = zookeeper_view(snapshot, trees, ReconcileSettings(), None, unparsable)
        assert (view.queue_table_absent, view.hbase_keeps_all) == (False, unparsable)
        assert [str(row.queue) for row in view.rows] == ["1-h1,16020,5", "1-h2,16020,5"]
    step = snapshot.step("queues-1")
    assert step is not None
    assert view.queued.read_from == step.started_at
    without = replace(snapshot, steps=tuple(one for one in snapshot.steps if one.step == "files"))
    queued = zookeeper_view(without, trees, ReconcileSettings(), None, unparsable=False).queued
    assert queued.read_from == snapshot.files_step.started_at


# whether it is believed


def why(snapshot: Snapshot, *trees: ReplicationTree) -> str | None:
    return zookeeper_distrust_reason(snapshot, trees or (tree((H1, "1", {W7: 0})),), Release())


PEER_1 = zookeeper_snapshot(["1"])


def test_the_second_reading_of_the_flags_is_asked_too() -> None:
    assert "hbase:replication exists" in str(why(replace(PEER_1, flags_2=SAFE_FLAGS)))


@pytest.mark.parametrize(
    ("version", "believed"),
    [
        (None, True), ("2.6.4", True), ("3.0.0", False), ("3", False), ("10.0", False), ("100.0", False),
        ("1000.0", True), ("x3.0", True), ("", True), ("³.0", True),
    ],
)  # fmt: skip
def test_hbase_3_and_later_keep_no_queues_in_zookeeper(version: str | None, *, believed: bool) -> None:
    found = why(replace(PEER_1, hbase_version=version))
    assert (found is None) == believed, found


def test_one_master_is_no_change_of_it_and_an_unknown_one_neither() -> None:
    known, unknown = Membership(MASTER, frozenset({H1}), frozenset()), Membership(None, frozenset({H1}), frozenset())
    for first, second in ((known, known), (known, None), (None, known), (known, unknown)):
        assert why(replace(PEER_1, membership=first, membership_2=second)) is None


def test_a_queue_of_a_server_that_is_known_is_enough() -> None:
    strange = Membership(MASTER, frozenset({H3}), frozenset())
    assert "(h3,16020,5" in str(why(replace(PEER_1, membership=strange)))
    assert "(h3,16020,5" in str(why(replace(PEER_1, membership_2=strange)))
    later = Membership(MASTER, frozenset({H1}), frozenset())
    assert why(replace(PEER_1, membership=strange, membership_2=later)) is None
    below = replace(strange, wal_directories=(WalDirectory(H1, 1, NOW),))
    assert why(replace(PEER_1, membership=below)) is None
    nobody = replace(PEER_1, peers=(), membership=strange)
    assert zookeeper_distrust_reason(nobody, (tree((H1, "1", {W7: 0})),), Release(orphan_queues=True)) is None
    assert zookeeper_distrust_reason(replace(PEER_1, peers=()), (tree(),), Release()) is None
    two = replace(PEER_1, peers=(Peer("1", "ENABLED"), Peer("2", "ENABLED")))
    assert why(two, tree((H1, "2", {W7: 0}))) is None


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"extras": ("syncup",)}, Condition.CLUSTER_DOWN),
        ({"steps": ()}, Condition.SNAPSHOT_OUT_OF_ORDER),
        ({"peers": (Peer("1-a", "ENABLED"),)}, Condition.PEER_ID_AMBIGUOUS),
        ({"hbase_version": "3.0.0"}, Condition.QUEUES_IN_TABLE),
        ({"peers": (Peer("2", "ENABLED"),)}, Condition.SNAPSHOT_UNTRUSTED),
        ({"membership": Membership(MASTER, frozenset({H3}), frozenset())}, Condition.MIXED_CLUSTERS),
        (
            {
                "membership": Membership(MASTER, frozenset({H1}), frozenset()),
                "membership_2": Membership("m2,1,1", frozenset({H1}), frozenset()),
            },
            Condition.MASTER_CHANGED,
        ),
    ],
)
def test_each_doubt_has_its_name(changes: dict[str, object], condition: Condition) -> None:
    changed = replace(PEER_1, **changes)  # type: ignore[arg-type]
    doubts = zookeeper_doubts(changed, (tree((H1, "1", {W7: 0})),), Release())
    assert first_doubt(doubts) == (condition, why(changed))
