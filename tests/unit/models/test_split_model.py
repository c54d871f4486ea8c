"""The model of a partition split: every failure row, every mutant, the known issues; and that its parts are needed."""

from itertools import pairwise

import pytest

from pipelines.pegasus.simulate.clients import BALLOT, COUNT, DOUBLE, FORGOTTEN, LOST, MISSCANNED, STUCK
from pipelines.pegasus.simulate.faults import FAULTS, fault_steps, start_error
from pipelines.pegasus.simulate.scans import scan_steps
from pipelines.pegasus.simulate.scope import CHILD_HALF, PARENT_HALF, Design, Scope
from pipelines.pegasus.simulate.walk import steps, walk
from pipelines.pegasus.simulate.world import ACKED, LEARNT, PREPARED, REJECT, acked, first_world
from tests.models.split.injections import BY_ROW, HOMES, INJECTIONS, MUTANTS, SHIPPED, Injection
from tests.models.split.search import explore

BOTH = (CHILD_HALF, PARENT_HALF)


def test_every_row_of_the_failure_table_is_injected() -> None:
    assert [one.row for one in INJECTIONS] == [f"F{number}" for number in range(1, 40)]
    assert {name for one in INJECTIONS for name in one.scope.may} == set(FAULTS)


@pytest.mark.long
@pytest.mark.parametrize("one", INJECTIONS, ids=lambda one: one.row)
def test_a_failure_meets_the_protocol_and_breaks_nothing_once_it_is_mended(one: Injection) -> None:
    found = one.search(Design())
    assert found.finished
    assert found.broken is None
    assert found.settled > 0
    assert one.sees <= found.seen


@pytest.mark.promise("split-stale-and-model")
@pytest.mark.parametrize("one", INJECTIONS, ids=lambda one: one.row)
def test_what_a_failure_breaks_in_the_shipped_protocol(one: Injection) -> None:
    found = one.search(SHIPPED)
    # F11's and F29's failures happen in the scopes of other rows, too
    known = dict.fromkeys(("F6", "F10", "F13"), STUCK) | dict.fromkeys(
        ("F7", "F8", "F16", "F18", "F19", "F20", "F28", "F35"), DOUBLE
    )
    assert (found.broken.what if found.broken else None) == (one.shipped or known.get(one.row)), found.broken
    assert found.finished or found.broken, "the limit of states ended the search"


def test_issue_2209_is_found_again() -> None:
    broken = BY_ROW["F11"].search(SHIPPED).broken
    assert broken is not None
    assert broken.what == STUCK
    names = [name for name, _ in broken.moves]
    assert names[-2:] == ["notify", "child_fails"], "a secondary's child has told, then the primary's own one fails"
    assert broken.world.replicas[0].child == 0
    assert BY_ROW["F11"].search(Design()).broken is None, "if the secondaries' children begin anew, too, nothing hangs"


def test_issue_2210_is_found_again() -> None:
    broken = BY_ROW["F38"].search(SHIPPED).broken
    assert broken is not None
    assert broken.what == LOST
    moves = {name: (number, about) for number, (name, about) in enumerate(broken.moves)}
    (began, node), (ended, same) = moves["list_slow"], moves["list_copied"]
    assert node == same
    between = broken.moves[began + 1 : ended]
    written = [about for name, about in between if name == "write_parent"]
    assert any(("commit", place) in between for place in written), "written and committed while the list was copied"
    child = broken.world.replicas[node]
    assert not child.due, "the child was brought all that was due to it, so its decree is that of its parent"
    assert child.has & ~child.child_has
    assert BY_ROW["F38"].search(Design()).broken is None


def test_the_three_second_check_ends_a_registered_child_for_good() -> None:
    broken = BY_ROW["F39"].search(MUTANTS["check-kills-registered"]).broken
    assert broken is not None
    assert broken.world.meta.child is not None, "meta has the child, but no server has"
    assert not any(one.child for one in broken.world.replicas)


def test_a_child_is_brought_one_mutation_after_the_other_in_the_order_of_decrees() -> None:
    scope = Scope(2, (CHILD_HALF,) * 6, frozenset(), 0)
    brought = set[int]()
    for seed in range(50):
        history = walk(seed, Design(), scope)
        for before, after in pairwise(history.worlds):
            for was, now in zip(before.replicas, after.replicas, strict=True):
                if was.child >= LEARNT and now.child >= LEARNT and not now.active:
                    gained = now.child_has & ~was.child_has
                    assert gained.bit_count() <= 1
                    assert gained == (was.due & -was.due if gained else 0)
                    brought.add(gained)
    assert len(brought) > 3


def test_two_writes_are_in_flight_and_commit_in_their_order() -> None:
    scope = Scope(2, BOTH, frozenset(), 0)
    worlds = [world for seed in range(20) for world in walk(seed, Design(), scope).worlds]
    assert (PREPARED, PREPARED) in {world.writes for world in worlds}
    assert (PREPARED, ACKED) not in {world.writes for world in worlds if world.meta.child is None}
    one_by_one = walk(0, Design(), scope._replace(in_flight=1))
    assert (PREPARED, PREPARED) not in {world.writes for world in one_by_one.worlds}


BREAKS = {
    "no-sync-point": LOST,
    "checkpoint-only": LOST,
    "no-private-log": LOST,
    "no-prepare-list": LOST,
    "torn-prepare-list": LOST,
    "check-kills-registered": STUCK,
    "no-reject": DOUBLE,
    "no-ballot-check": DOUBLE,
    "same-ballot": BALLOT,
    "ballot-leaps": BALLOT,
    "children-outlive-ballots": LOST,
    "orphans-are-loaded": DOUBLE,
    "filter-while-rejecting": LOST,
    "restart-alone": STUCK,
    "serve-before-asking": DOUBLE,
    "forget-pauses": FORGOTTEN,
    "no-start-check": COUNT,
    "no-preflight": STUCK,
    "env-lost": DOUBLE,
    "stubborn-clients": STUCK,
    "scans-unfiltered": MISSCANNED,
}


def test_every_mutant_has_something_that_it_breaks() -> None:
    assert set(BREAKS) == set(MUTANTS) == set(HOMES)


@pytest.mark.long
@pytest.mark.promise("split-stale-and-model")
@pytest.mark.parametrize(("name", "breaks"), BREAKS.items())
def test_every_mutant_is_caught_where_the_whole_protocol_holds(name: str, breaks: str) -> None:
    found = BY_ROW[HOMES[name]].search(MUTANTS[name]).broken
    assert found is not None
    assert found.what == breaks


REFUSALS = {
    "wrong_count": (False, "ERR_INVALID_PARAMETERS"),
    "no_app": (False, "ERR_APP_NOT_EXIST"),
    "dropped_app": (True, "ERR_APP_DROPPED"),
    "again": (True, "ERR_BUSY"),
}


@pytest.mark.parametrize("request_", REFUSALS)
def test_what_meta_refuses_changes_nothing(request_: str) -> None:
    doubled, error = REFUSALS[request_]
    scope = Scope(2, BOTH, frozenset({f"ask_{request_}"}), 1)
    world = first_world(scope)
    if doubled:
        world = world._replace(meta=world.meta._replace(times=2, status="SPLITTING"))
    assert start_error(request_, world) == error
    (after,) = [after for move, after in fault_steps(world, scope, Design()) if move[0] == f"ask_{request_}"]
    assert after == world._replace(faults=0)


def test_a_split_waits_for_room_on_the_disks() -> None:
    scope = BY_ROW["F37"].scope
    tight = first_world(scope)._replace(tight=0b11)
    assert {move[0] for move, _ in steps(tight, scope, Design())} >= {"disk_freed"}
    assert "start_split" not in {move[0] for move, _ in steps(tight, scope, Design())}
    assert "start_split" in {move[0] for move, _ in steps(tight, scope, Design(check_disks=False))}


def test_a_scan_beside_a_split_is_flagged_and_may_see_rows_twice_or_not_at_all() -> None:
    scope = BY_ROW["F36"].scope
    flagged, exact = [], []
    for seed in range(300):
        history = walk(seed, Design(), scope)
        scan = history.worlds[-1].scan
        assert scan is not None
        (flagged if scan.flagged else exact).append(scan)
    assert not any(scan.twice or scan.due & ~scan.seen for scan in exact)
    assert any(scan.twice for scan in flagged)
    worlds = [world for seed in range(50) for world in walk(seed, Design(), scope._replace(scans=False)).worlds]
    rejecting = [world for world in worlds if world.replicas[0].version == REJECT and acked(world)]
    for world in rejecting:
        ((_, begun),) = scan_steps(world, scope, Design())
        ((_, read),) = scan_steps(begun, scope, Design())
        assert read.scan is not None
        assert read.scan.flagged
        assert read.scan.due & ~read.scan.seen, "a scan that meets a rejecting parent gets no rows, and no error"
    assert rejecting
    assert any(scan.due for scan in exact)


def test_a_history_can_be_played_again() -> None:
    broken = explore(Scope(2, BOTH, frozenset(), 0), Design(sync_point=False)).broken
    assert broken is not None
    scope = Scope(2, BOTH, frozenset(), 0)
    world = first_world(scope)
    for wanted in broken.moves:
        world = next(after for move, after in steps(world, scope, Design(sync_point=False)) if move == wanted)
    assert world == broken.world


def test_a_search_that_is_cut_short_says_so() -> None:
    found = explore(Scope(2, BOTH, frozenset(), 0), Design(), limit=100)
    assert not found.finished
    assert found.broken is None
