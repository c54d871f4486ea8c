"""Searches every history of one group breadth-first for dead ends and the shortest one that breaks an invariant."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pipelines.pegasus.simulate.clients import STUCK, is_settled, violation
from pipelines.pegasus.simulate.faults import FAULTS
from pipelines.pegasus.simulate.scope import Design, Scope
from pipelines.pegasus.simulate.walk import steps
from pipelines.pegasus.simulate.world import Move, Step, World, first_world
from tests.models.search import history, search


@dataclass(frozen=True, slots=True)
class Broken:
    """A history that breaks something.

    Attributes:
        what: LOST, DOUBLE_OWNER, BALLOT, COUNT, MISSCANNED, FORGOTTEN or STUCK.
        moves: the steps of the history.
        world: the last state.
    """

    what: str
    moves: tuple[Move, ...]
    world: World


@dataclass(frozen=True, slots=True)
class Explored:
    """The result of a search.

    Attributes:
        states: number of different states.
        finished: whether all states were searched.
        settled: number of states in which the split has ended.
        broken: the shortest history that breaks something; None = none does.
        seen: the names of all moves that were made.
    """

    states: int
    finished: bool
    settled: int
    broken: Broken | None
    seen: frozenset[str]


class _Splitting:
    """Presents a group as a model; what a history breaks is an invariant."""

    def __init__(self, scope: Scope, design: Design) -> None:
        self._scope, self._design = scope, design

    def first(self) -> World:
        return first_world(self._scope)

    def moves(self, world: World) -> Iterator[Step]:
        return steps(world, self._scope, self._design)

    def is_hopeless(self, _world: World) -> bool:
        return False

    def is_over(self, _world: World) -> bool:
        return False

    def broken(self, before: World, after: World) -> str | None:
        return violation(after, self._scope, before)


class _Ways:
    """Records the steps of a search.

    It records which moves there were, and from where each state can be reached without a failure.
    """

    def __init__(self, first: World) -> None:
        self.names = set[str]()
        self._before: dict[int, list[int]] = {hash(first): []}
        self.settled = [hash(first)] if is_settled(first) else []

    def add(self, origin: int, move: Move, key: int, after: World) -> None:
        """See `Edge`."""
        self.names.add(move[0])
        if key not in self._before:
            self._before[key] = []
            if is_settled(after):
                self.settled.append(key)
        if move[0] not in FAULTS:
            self._before[key].append(origin)

    def stuck(self) -> list[int]:
        """Returns states from which no steps except faults lead to a settled one, in the order of their discovery."""
        reaching, waiting = set(self.settled), deque(self.settled)
        while waiting:
            for key in self._before[waiting.popleft()]:
                if key not in reaching:
                    reaching.add(key)
                    waiting.append(key)
        return [key for key in self._before if key not in reaching]


@cache
def explore(scope: Scope, design: Design, limit: int = 200_000) -> Explored:
    """Searches all histories. Rows with the same scope share the result.

    Args:
        scope: the group and the faults to play.
        design: the protocol.
        limit: the search stops after this many states.
    """
    model = _Splitting(scope, design)
    ways = _Ways(model.first())
    searched = search(model, limit, ways.add)
    states, names = len(searched.parents), frozenset(ways.names)
    if searched.found is not None and searched.last is not None:
        broken = Broken(searched.found, *history(model, searched.parents, searched.last))
        return Explored(states, False, 0, broken, names)
    if not searched.finished:
        return Explored(states, False, 0, None, names)
    stuck = ways.stuck()
    dead_end = Broken(STUCK, *history(model, searched.parents, stuck[0])) if stuck else None
    return Explored(states, True, len(ways.settled), dead_end, names)
