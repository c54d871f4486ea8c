"""The order of a capture's steps, and when a capture was quiet: every clause alone decides."""

from dataclasses import replace
from itertools import pairwise

import pytest

from jobs.demo.cluster.snapshots import steps_at
from pipelines.hbase.replication_queues import QueueId, parse_queue_id
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.capture_order import CAPTURE_ORDER, ZOOKEEPER_CAPTURE_ORDER, not_quiet_reason, order_fault
from pipelines.snapshot.model import CaptureStep, Membership, Snapshot
from tests.strategies.clusters import MASTER, NOW, snapshot_of

H1, H2 = ServerName.parse("h1,16020,5"), ServerName.parse("h2,16020,5")
QUEUES = frozenset({parse_queue_id("1-h1,16020,5"), parse_queue_id("1-h2,16020,5")})


def moved(steps: tuple[CaptureStep, ...], name: str, started: int = 0, finished: int = 0) -> list[CaptureStep]:
    """The steps with the times of one of them changed, ms."""
    return [
        replace(step, started_at=step.started_at + started, finished_at=step.finished_at + finished)
        if step.step == name
        else step
        for step in steps
    ]


def test_steps_that_follow_one_another_without_a_gap_are_the_order() -> None:
    assert order_fault(steps_at(NOW, 100, gap=0)) is None


@pytest.mark.promise("other-orders-are-refused")
@pytest.mark.parametrize(("before", "after"), list(pairwise(CAPTURE_ORDER)))
def test_no_two_steps_overlap(before: str, after: str) -> None:
    """One millisecond is too much, at whichever of the two ends."""
    steps = steps_at(NOW, 100, gap=0)
    for wrong in (moved(steps, after, started=-1), moved(steps, before, finished=1)):
        fault = order_fault(wrong)
        assert fault is not None
        assert f"{after!r} started" in fault
        assert f"before {before!r} had" in fault


def test_a_step_may_take_no_time() -> None:
    """As that of an image does, which has one transaction time."""
    assert order_fault([replace(step, finished_at=step.started_at) for step in steps_at(NOW, 100)]) is None


@pytest.mark.parametrize("name", CAPTURE_ORDER)
def test_no_step_ends_before_it_starts(name: str) -> None:
    fault = order_fault(moved(steps_at(NOW, 100, gap=0), name, finished=-101))
    assert fault == f"step {name!r} finished before it started"


@pytest.mark.promise("other-orders-are-refused")
@pytest.mark.parametrize("name", CAPTURE_ORDER)
def test_no_step_is_missing(name: str) -> None:
    assert order_fault([step for step in steps_at(NOW, 100) if step.step != name]) == f"step {name!r} is missing"


@pytest.mark.promise("other-orders-are-refused")
@pytest.mark.parametrize(("before", "after"), list(pairwise(CAPTURE_ORDER)))
def test_no_two_steps_are_swapped(before: str, after: str) -> None:
    names = {before: after, after: before}
    fault = order_fault([replace(step, step=names.get(step.step, step.step)) for step in steps_at(NOW, 100)])
    assert fault is not None
    assert "the steps were taken in the order" in fault


@pytest.mark.parametrize("name", ZOOKEEPER_CAPTURE_ORDER)
def test_queues_in_zookeeper_need_three_steps(name: str) -> None:
    steps = [step for step in steps_at(NOW, 100) if step.step in ZOOKEEPER_CAPTURE_ORDER]
    assert order_fault(steps, ZOOKEEPER_CAPTURE_ORDER) is None
    without = [step for step in steps if step.step != name]
    assert order_fault(without, ZOOKEEPER_CAPTURE_ORDER) == f"step {name!r} is missing"


def looked(online: set[ServerName], crashing: set[ServerName]) -> Membership:
    return Membership(MASTER, frozenset(online), frozenset(crashing))


def captured(first: Membership | None, second: Membership | None) -> Snapshot:
    quiet = looked({H1, H2}, set())
    return replace(snapshot_of(("1",), quiet, quiet), membership=first, membership_2=second)


def test_a_capture_in_which_nothing_moved_is_quiet() -> None:
    both = looked({H1, H2}, set())
    assert not_quiet_reason(captured(both, both), QUEUES, QUEUES) is None


def test_a_server_that_joined_alone_does_not_disturb() -> None:
    assert not_quiet_reason(captured(looked({H1}, set()), looked({H1, H2}, set())), QUEUES, QUEUES) is None


@pytest.mark.promise("whatever-moves-is-not-quiet")
@pytest.mark.parametrize(
    ("first", "second", "pass_1", "pass_2", "why"),
    [
        (None, looked({H1, H2}, set()), QUEUES, QUEUES, "membership was not read twice"),
        (looked({H1, H2}, set()), None, QUEUES, QUEUES, "membership was not read twice"),
        (looked({H1, H2}, set()), looked({H1}, set()), QUEUES, QUEUES, "server h2,16020,5 left"),
        (looked({H1}, set()), looked({H1}, {H2}), frozenset(), frozenset(), "server h2,16020,5 came"),
        (looked({H1}, {H2}), looked({H1}, set()), frozenset(), frozenset(), "server h2,16020,5 came"),
        (looked(set(), {H1}), looked(set(), {H1, H2}), frozenset(), frozenset(), "server h2,16020,5 came"),
        (looked({H1}, {H2}), looked({H1}, {H2}), QUEUES, frozenset(), "belongs to a server whose crash procedure"),
        (looked({H1}, {H2}), looked({H1}, {H2}), frozenset(), QUEUES, "belongs to a server whose crash procedure"),
        (looked({H1}, {H2}), looked({H1}, {H2}), QUEUES, QUEUES, "belongs to a server whose crash procedure"),
        (looked({H1, H2}, set()), looked({H1, H2}, set()), QUEUES, frozenset(), "only one of the two passes"),
        (looked({H1, H2}, set()), looked({H1, H2}, set()), frozenset(), QUEUES, "only one of the two passes"),
    ],
    ids=[
        "no first look",
        "no second look",
        "left",
        "crashed",
        "recovered",
        "another crashed",
        "crashing in 1",
        "crashing in 2",
        "owner crashing",
        "vanished",
        "appeared",
    ],
)
def test_whatever_moves_makes_the_capture_restless(
    first: Membership | None,
    second: Membership | None,
    pass_1: frozenset[QueueId],
    pass_2: frozenset[QueueId],
    why: str,
) -> None:
    found = not_quiet_reason(captured(first, second), pass_1, pass_2)
    assert found is not None
    assert why in found
