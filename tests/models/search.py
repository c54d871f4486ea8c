"""Searches all histories of a model breadth-first for the shortest one that breaks it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

StateT = TypeVar("StateT")
MoveT = TypeVar("MoveT")
MoveT_co = TypeVar("MoveT_co", covariant=True)
FoundT_co = TypeVar("FoundT_co", covariant=True)
FoundT = TypeVar("FoundT")


class Model(Protocol[StateT, MoveT_co, FoundT_co]):
    """A model that can be searched."""

    def first(self) -> StateT:
        """Returns the state in which every history begins."""
        ...

    def moves(self, state: StateT) -> Iterator[tuple[MoveT_co, StateT]]:
        """Yields every possible move with the state after it."""
        ...

    def is_hopeless(self, state: StateT) -> bool:
        """Returns whether nothing that matters can follow, so that the state need not be visited."""
        ...

    def is_over(self, state: StateT) -> bool:
        """Returns whether a history ends in the state."""
        ...

    def broken(self, before: StateT, after: StateT) -> FoundT_co | None:
        """Returns what a state, or the step to it, breaks; None = nothing."""
        ...


Edge = Callable[[int, MoveT, int, StateT], None]
"""Is told every step: hash of the state before, move, hash of the state after, and that state."""


@dataclass(frozen=True)
class Searched(Generic[FoundT]):
    """The result of a search.

    Attributes:
        parents: the states visited, in their order, by hash; the value is the hash of the state from which each was
            reached first.
        finished: whether no state was left out.
        ended: the number of states in which a history has ended.
        found: what the first history that breaks something breaks; this history is a shortest one. None = nothing is
            broken.
        last: the hash of the state in which that history ends.
    """

    parents: dict[int, int | None]
    finished: bool
    ended: int
    found: FoundT | None = None
    last: int | None = None


def search(
    model: Model[StateT, MoveT, FoundT], limit: int, edge: Edge[MoveT, StateT] | None = None
) -> Searched[FoundT]:
    """Visits states until one breaks something, or until all are visited.

    States are remembered by a 64-bit hash, so among n states one is mistaken for another with a probability of n^2 /
    2^65.

    Args:
        model: the model to search.
        limit: the number of states after which to give up.
        edge: is called with every step.
    """
    first = model.first()
    parents: dict[int, int | None] = {hash(first): None}
    level, ended = [first], 0
    while level:
        following: list[StateT] = []
        for state in level:
            origin = hash(state)
            for move, after in model.moves(state):
                if model.is_hopeless(after):
                    continue
                key = hash(after)
                if edge is not None:
                    edge(origin, move, key, after)
                if key in parents:
                    continue
                parents[key] = origin
                over = model.is_over(after)
                ended += over
                found = model.broken(state, after)
                if found is not None:
                    return Searched(parents, False, ended, found, key)
                if not over:
                    following.append(after)
            if len(parents) > limit:
                return Searched(parents, False, ended)
        level = following
    return Searched(parents, True, ended)


def history(
    model: Model[StateT, MoveT, FoundT], parents: dict[int, int | None], last: int
) -> tuple[tuple[MoveT, ...], StateT]:
    """Returns the moves to a visited state, and that state.

    Finds them again from the first state by the recorded hashes.
    """
    trail = [last]
    while (before := parents[trail[-1]]) is not None:
        trail.append(before)
    state, moves = model.first(), list[MoveT]()
    for key in reversed(trail[:-1]):
        move, state = next((move, after) for move, after in model.moves(state) if hash(after) == key)
        moves.append(move)
    return tuple(moves), state
