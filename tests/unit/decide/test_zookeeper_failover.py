"""The documented failover of queues in ZooKeeper, step by step, and between its steps."""

from dataclasses import replace
from itertools import pairwise

import pytest

from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import Reason, Verdict, decide
from pipelines.hbase.zookeeper.tree import Znode
from tests.labs.documented_failover import CLAIMED, CLAIMED_AGAIN, FILES, START, A, B, C, seen, wals
from tests.strategies.zookeeper import BASE, Queues, ZooKeeperCase, view_of_zookeeper, znodes, zookeeper_snapshot


def deletable(view: ClusterView) -> set[str]:
    decisions = {file.name: decide(file, view) for file in FILES}
    assert {one.reason for one in decisions.values()} <= {Reason.PENDING, Reason.NOT_QUEUED}
    return {name.partition(".60020")[0] for name, one in decisions.items() if one.verdict is Verdict.DELETABLE}


def test_at_the_start_of_the_seeds_example_what_is_in_no_queue_may_go() -> None:
    free = {"1.1.1.1,60020.1378", "1.1.1.3,60020.1325", "1.1.1.3,60020.1401"}  # not written yet, in truth
    assert deletable(seen(START)) == free
    assert not seen(START).restless


def test_while_a_queue_is_copied_both_copies_hold() -> None:
    assert deletable(seen(CLAIMED)) == deletable(seen(START))
    held = decide(FILES[4], seen(CLAIMED))
    assert [(one.peer_id, str(one.owner), str(one.source), one.wal, one.offset) for one in held.blocking] == [
        ("2", B, B, "1.1.1.2,60020.1248", 0),
        ("2", C, B, "1.1.1.2,60020.1248", 0),
    ]


def test_after_the_second_death_the_first_owner_is_the_source() -> None:
    view = seen(CLAIMED_AGAIN)
    assert deletable(view) == {
        "1.1.1.1,60020.1234",
        "1.1.1.1,60020.1265",
        "1.1.1.2,60020.1214",
        "1.1.1.2,60020.1248",
        "1.1.1.3,60020.1280",
    }
    twice_claimed = decide(FILES[5], view)
    assert [(str(one.owner), str(one.source), one.offset) for one in twice_claimed.blocking] == [
        (A, B, 443),
        (C, B, 443),
    ]


CLEANED: Queues = {key: wals for key, wals in CLAIMED.items() if key[0] != B}
SHIPPED: Queues = {
    (A, "2"): wals("1.1.1.1,60020", 1378),
    (C, "2"): wals("1.1.1.3,60020", 1325, 1401),
    (C, f"2-{B}"): wals("1.1.1.2,60020", 1312),
}
TAKEN: Queues = {key: wals for key, wals in CLAIMED_AGAIN.items() if key[0] != C}
STORY = (START, CLAIMED, CLEANED, SHIPPED, CLAIMED_AGAIN, TAKEN)
"""The documented failover: B dies, C copies and cleans up, ships and dies, A copies and cleans up."""


def test_step_by_step_only_shipping_frees_a_wal_of_the_seeds_example() -> None:
    before, after = deletable(seen(START)), deletable(seen(SHIPPED))
    assert [deletable(seen(step)) for step in STORY] == [before, before, before, after, after, after]


@pytest.mark.promise("zookeeper-rule-by-name")
def test_between_two_steps_of_the_seeds_example_what_either_reading_has_is_held() -> None:
    for first, second in pairwise(STORY):
        assert deletable(seen(first, second)) == deletable(seen(first)) & deletable(seen(second))


def test_at_the_end_of_the_seeds_example_a_holds_what_three_servers_wrote() -> None:
    view = seen(TAKEN)
    holders = {file.name: decide(file, view).blocking for file in FILES if decide(file, view).blocking}
    assert {name: [(str(one.owner), str(one.source)) for one in found] for name, found in holders.items()} == {
        "1.1.1.1,60020.1378": [(A, A)],
        "1.1.1.2,60020.1312": [(A, B)],
        "1.1.1.3,60020.1325": [(A, C)],
        "1.1.1.3,60020.1401": [(A, C)],
    }


@pytest.mark.promise("zookeeper-moves-are-seen")
def test_a_queue_that_moves_from_behind_the_one_reading_to_before_the_next_holds_nothing_only_if_nothing_moved() -> (
    None
):
    gone = {key: value for key, value in START.items() if key[0] != B}
    moved = seen(gone, gone, before=7, after=8)
    assert {decide(file, moved).reason for file in FILES} == {Reason.PENDING, Reason.CLUSTER_MOVED}
    either = seen(START, gone)
    assert decide(FILES[3], either).reason is Reason.PENDING


@pytest.mark.promise("zookeeper-moves-are-seen")
def test_a_queue_that_comes_and_goes_on_one_server_is_seen_by_its_own_cversion() -> None:
    second = znodes(START, cversions={C: 3})
    view = view_of_zookeeper(
        ZooKeeperCase(zookeeper_snapshot(["2"]), FILES, znodes(START), second, ReconcileSettings())
    )
    assert view.restless == f"a queue or the lock of {C} came or went while the queues were read"


@pytest.mark.promise("zookeeper-moves-are-seen")
def test_a_claim_that_begins_behind_the_second_look_at_its_server_is_seen_by_the_third() -> None:
    """A claim with a lock empties a queue before it goes; the server's znode had been read by then (docs/proof.md)."""
    *second, rs = znodes(START)
    again = Znode(f"{BASE}/rs/{C}", b"", next(one.cversion for one in second if one.path == f"{BASE}/rs/{C}"))

    def restless(*behind: Znode) -> str | None:
        passes = znodes(START), (*second, *behind, rs)
        return view_of_zookeeper(ZooKeeperCase(zookeeper_snapshot(["2"]), FILES, *passes, ReconcileSettings())).restless

    assert restless() is None
    assert restless(again) is None
    assert restless(replace(again, cversion=again.cversion + 1)) == (
        f"a queue or the lock of {C} came or went while the queues were read"
    )


@pytest.mark.promise("zookeeper-moves-are-seen")
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_reading_without_the_cversion_that_counts_proves_nothing(place: str) -> None:
    whole = znodes(START)
    passes = (whole[1:], whole) if place == "first" else (whole, whole[:-1])
    view = view_of_zookeeper(ZooKeeperCase(zookeeper_snapshot(["2"]), FILES, *passes, ReconcileSettings()))
    assert view.restless is not None
    assert "cversion of rs was not read" in view.restless
    assert {decide(file, view).verdict for file in FILES} == {Verdict.HELD}
