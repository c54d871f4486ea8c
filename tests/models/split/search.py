"""Searches every history of one group breadth-first: the shortest that breaks an invariant, and dead ends."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipelines.pegasus.simulate.clients import STUCK, is_settled, violation
from pipelines.pegasus.simulate.faults import FAULTS
from pipelines.pegasus.simulate.steps import steps
from pipelines.pegasus.simulate.world import Design, Move, Scope, World, first_world


@dataclass(frozen=True, slots=True)
class Broken:
    """A history that breaks something.

    Attributes:
        what: LOST, DOUBLE_OWNER, BALLOT, COUNT, MISSCANNED, FORGOTTEN or STUCK.
        moves: its steps.
        world: its last state.
    """

    what: str
    moves: tuple[Move, ...]
    world: World


@dataclass(frozen=True, slots=True)
class Explored:
    """The result of a search.

    Attributes:
        states: number of different states.
        finished: all states were searched.
        settled: number of states in which the split has ended.
        stuck: number of states from which it cannot end without another fault.
        broken: the shortest history that breaks something; None = none does.
        seen: names of all moves that were made.
    """

    states: int
    finished: bool
    settled: int
    stuck: int
    broken: Broken | None
    seen: frozenset[str]


@lru_cache(maxsize=64)
def explore(scope: Scope, design: Design, limit: int = 200_000) -> Explored:
    """Searches all histories. Rows with the same scope share the result.

    Args:
        scope: what is played.
        design: the protocol.
        limit: the search stops after this many states.
    """
    first = first_world(scope)
    numbers, worlds = {first: 0}, [first]
    parents: list[tuple[int, Move] | None] = [None]
    before: list[list[int]] = [[]]
    seen, waiting = set[str](), deque([0])
    while waiting:
        number = waiting.popleft()
        for move, after in steps(worlds[number], scope, design):
            seen.add(move[0])
            place = numbers.get(after)
            if place is None:
                place = len(worlds)
                numbers[after] = place
                worlds.append(after)
                parents.append((number, move))
                before.append([])
                what = violation(after, scope, worlds[number])
                if what is not None:
                    broken = Broken(what, _path(parents, place), after)
                    return Explored(len(worlds), False, 0, 0, broken, frozenset(seen))
                waiting.append(place)
            if move[0] not in FAULTS:
                before[place].append(number)
        if len(worlds) > limit:
            return Explored(len(worlds), False, 0, 0, None, frozenset(seen))
    settled = [number for number, world in enumerate(worlds) if is_settled(world)]
    stuck = _without_way_to(settled, before)
    dead_end = Broken(STUCK, _path(parents, stuck[0]), worlds[stuck[0]]) if stuck else None
    return Explored(len(worlds), True, len(settled), len(stuck), dead_end, frozenset(seen))


def _path(parents: Sequence[tuple[int, Move] | None], last: int) -> tuple[Move, ...]:
    moves = list[Move]()
    step = parents[last]
    while step is not None:
        moves.append(step[1])
        step = parents[step[0]]
    return tuple(reversed(moves))


def _without_way_to(goals: Sequence[int], before: Sequence[Sequence[int]]) -> list[int]:
    """Returns states from which no steps except faults lead to a goal, in the order in which they were found."""
    reaches = [False] * len(before)
    waiting = deque(goals)
    for goal in goals:
        reaches[goal] = True
    while waiting:
        for number in before[waiting.popleft()]:
            if not reaches[number]:
                reaches[number] = True
                waiting.append(number)
    return [number for number, there in enumerate(reaches) if not there]
