"""Looks through all histories of a model, breadth-first, for the shortest that breaks it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

StateT = TypeVar("StateT")
MoveT = TypeVar("MoveT")
MoveT_co = TypeVar("MoveT_co", covariant=True)
FoundT_co = TypeVar("FoundT_co", covariant=True)
FoundT = TypeVar("FoundT")


class Model(Protocol[StateT, MoveT_co, FoundT_co]):
    """What is searched."""

    def first(self) -> StateT:
        """The state in which every history begins."""
        ...

    def moves(self, state: StateT) -> Iterator[tuple[MoveT_co, StateT]]:
        """Every next state."""
        ...

    def is_hopeless(self, state: StateT) -> bool:
        """Whether nothing that matters can follow, so that the state is not even visited."""
        ...

    def is_over(self, state: StateT) -> bool:
        """Whether a history ends in the state."""
        ...

    def broken(self, before: StateT, after: StateT) -> FoundT_co | None:
        """What the step to a new state, or that state, breaks; None = nothing."""
        ...


Edge = Callable[[int, MoveT, int, StateT], None]
"""Is told every step: hash of the state before, move, hash of the state after, and that state."""


@dataclass(frozen=True)
class Searched(Generic[FoundT]):
    """What a search came to.

    Attributes:
        parents: states visited, in their order, by hash: the hash of the state from which each was reached first.
        finished: no state was left out.
        ended: states in which a history has ended.
        found: what the first history that breaks something breaks; it is a shortest one. None = none does.
        last: hash of the state in which that history ends.
    """

    parents: dict[int, int | None]
    finished: bool
    ended: int
    found: FoundT | None = None
    last: int | None = None


def search(
    model: Model[StateT, MoveT, FoundT], limit: int, edge: Edge[MoveT, StateT] | None = None
) -> Searched[FoundT]:
    """Visits states until one breaks something, or to the end.

    States are remembered by a 64-bit hash, so that one of n states is taken for another with a chance of n^2 / 2^65.

    Args:
        model: what is searched.
        limit: states after which to give up.
        edge: is told every step.
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
    """The moves to a visited state, and that state: found again from the first one by the hashes on the way."""
    trail = [last]
    while (before := parents[trail[-1]]) is not None:
        trail.append(before)
    state, moves = model.first(), list[MoveT]()
    for key in reversed(trail[:-1]):
        move, state = next((move, after) for move, after in model.moves(state) if hash(after) == key)
        moves.append(move)
    return tuple(moves), state
