"""What moves while it is captured: the capture says that the cluster was not quiet."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pipelines.common.progress import TERMINAL_ENV
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.capture_order import CAPTURE_ORDER
from pipelines.snapshot.model import CaptureStep
from tests.labs.capture_world import AT_REST, H2, H3, World

MOVED = {
    "came and died": replace(AT_REST, dead=AT_REST.dead | {H3}),
    "came": replace(AT_REST, online=AT_REST.online | {H3}),
    "came again at its address": KnownServers(AT_REST.online | {H3}, frozenset()),
}
AT_ONCE = {step: StepStamp(CaptureStep(step, at, at), "edge") for at, step in enumerate(CAPTURE_ORDER)}
MOVING = {"queues-2": [b"1-h2,16020,6/h1,16020,5"]}


@pytest.mark.promise("who-died-meanwhile-counts-as-crashing")
@pytest.mark.parametrize("later", MOVED.values(), ids=MOVED)
def test_a_server_that_came_or_died_in_between_is_not_quiet(later: KnownServers) -> None:
    """It may have held a queue between two claims: rows then slip past both passes (docs/proof.md)."""
    captured = World(later=[later]).capture()
    assert captured.restless == f"server {H3} came, or its crash procedure started or ended, while the cluster was read"
    assert captured.snapshot.membership_2 is not None
    assert captured.snapshot.membership_2.crashing == {H2, H3}
    assert captured.snapshot.membership_2.online == later.online
    again = World(later=[later, later]).capture(quiet_attempts=2)
    assert again.restless is not None, "the first look of an attempt is its own"
    assert World(later=[later]).capture(quiet_attempts=2).restless is None


@pytest.mark.promise("who-died-meanwhile-counts-as-crashing")
@pytest.mark.parametrize("dead", [AT_REST.dead, AT_REST.dead | {H2}])
def test_a_crash_that_ended_in_between_is_not_quiet(dead: frozenset[ServerName]) -> None:
    """Even of a server that came onto the dead list only after the first look had asked for it."""
    world = World(later=[replace(AT_REST, dead=dead)], crashing_later=[frozenset()])
    captured = world.capture()
    assert captured.restless == f"server {H2} came, or its crash procedure started or ended, while the cluster was read"
    assert captured.snapshot.membership_2 is not None
    assert captured.snapshot.membership_2.crashing == frozenset()


@pytest.mark.promise("capture-says-whether-quiet")
def test_a_cluster_that_never_rests_is_captured_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    world = World(rows=MOVING)
    captured = world.capture(quiet_attempts=3)
    assert world.asked.count("queues-1") == 3
    assert world.slept == [7, 7], "between two attempts, and not after the last"
    told = [record.message.partition(":")[0] for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["Not quiet, attempt 1 of 3", "Not quiet, attempt 2 of 3"]
    assert captured.restless is not None
    assert world.finished is not None


@pytest.mark.parametrize(("rows", "stamps"), [({}, {}), (MOVING, AT_ONCE)], ids=["quiet", "saved"])
def test_what_rests_or_was_saved_is_read_once(rows: dict[str, list[bytes]], stamps: dict[str, StepStamp]) -> None:
    world = World(rows=rows, stamps=stamps)
    world.capture(quiet_attempts=3)
    assert (world.asked.count("queues-1"), world.slept) == (1, [])


def test_cells_of_other_families_are_written_but_are_no_queues() -> None:
    class WithOthers(World):
        def _scan(self, step: str) -> Iterator[Cell]:
            yield from super()._scan(step)
            yield Cell(b"junk", b"hfileref", b"g", b"")

    captured = WithOthers().capture()
    assert (captured.cells, captured.restless) == (2, None)


SEED_OWN, SEED_RECOVERED = b"1-h1,16020,5", b"1-h1,16020,5-h2,16020,6"
"""A normal queue, and a recovered one with `-` before its source (`queues.row_layout: seed-003`)."""


@pytest.mark.promise("unreadable-row-is-not-quiet")
@pytest.mark.parametrize(
    ("rows", "quiet_attempts"),
    [
        ({"queues-1": [b"junk"]}, 1),
        ({"queues-2": [b"\xff"]}, 1),
        ({"queues-1": [b"junk"], "queues-2": [b"junk"]}, 3),
        # each row can be read, but no HBase writes both layouts into one table
        ({step: [SEED_RECOVERED, b"1-h1,16020,5/h3,16020,1"] for step in ("queues-1", "queues-2")}, 1),
    ],
)
def test_rows_that_nobody_can_read_are_captured_for_reconcile_to_name_and_are_not_quiet(
    rows: dict[str, list[bytes]], quiet_attempts: int
) -> None:
    """Whether such a queue moved, nobody knows: two passes with the same junk prove nothing either."""
    world = World(rows=rows)
    captured = world.capture(quiet_attempts=quiet_attempts)
    assert captured.restless is not None
    assert re.search(r"malformed queue row|without '-' after the peer|not UTF-8", captured.restless)
    assert world.asked.count("queues-1") == quiet_attempts
    assert world.finished is not None


def test_rows_of_the_other_layout_that_agree_are_quiet() -> None:
    rows = {"queues-1": [SEED_OWN, SEED_RECOVERED], "queues-2": [SEED_RECOVERED, SEED_OWN]}
    # the owner of neither is crashing, the source of one is: that is what a recovered queue is
    assert World(rows=rows).capture().restless is None


@pytest.mark.promise("rows-are-compared-in-any-layout")
def test_a_row_of_the_other_layout_that_moved_is_not_quiet() -> None:
    moved = {"queues-1": [SEED_OWN], "queues-2": [SEED_OWN, SEED_RECOVERED]}
    world = World(rows=moved)
    captured = world.capture(quiet_attempts=2)
    assert captured.restless == "queue 1-h1,16020,5/h2,16020,6 is in only one of the two passes"
    assert world.asked.count("queues-1") == 2
    crashing = {step: [b"1-h2,16020,6-h1,16020,5"] for step in ("queues-1", "queues-2")}
    assert "belongs to a server whose crash procedure is unfinished" in str(World(rows=crashing).capture().restless)


def test_the_reading_of_queues_shows_where_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(TERMINAL_ENV, "0")
    monkeypatch.setattr("pipelines.common.progress._LINE_EVERY_S", 0.0)
    caplog.set_level("INFO")
    World(rows={step: [SEED_OWN, SEED_RECOVERED] for step in ("queues-1", "queues-2")}).capture()
    assert caplog.text.count("reading the queues: 2 cells") == 2, "of each pass"
