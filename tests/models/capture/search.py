"""Looks through all histories of a small cluster, breadth-first, for one in which a needed WAL is DELETABLE."""

from dataclasses import dataclass
from typing import Generic

from tests.models.capture.game import Game, Plan, State
from tests.models.capture.turns import Loss, Move, StateT, Turns


@dataclass(frozen=True)
class Outcome(Generic[StateT]):
    """What a breadth-first search came to.

    Attributes:
        states: different states visited.
        finished: no state was left out.
        captures: captures that ended with a needed WAL among the listed ones, so that there was something to lose.
        loss: the shortest history that loses data, or None.
    """

    states: int
    finished: bool
    captures: int
    loss: Loss[StateT] | None


def explore(plan: Plan, limit: int = 10_000_000, *, shorten: bool = True) -> Outcome[State]:
    """Breadth-first, until a loss or the end; the first loss is a shortest one.

    States are remembered by a 64-bit hash, so that one of n states is taken for another with a chance of n^2 / 2^65.

    Args:
        plan: what to search.
        limit: states after which to give up.
        shorten: leave out what cannot make a difference.
    """
    return explore_game(Game(plan, shorten=shorten), limit)


def explore_game(game: Turns[StateT], limit: int = 10_000_000) -> Outcome[StateT]:
    """The same for a game that is set up already."""
    first = game.first()
    parents: dict[int, int] = {hash(first): 0}
    level, captures = [first], 0
    while level:
        following: list[StateT] = []
        for state in level:
            for _, after in game.moves(state):
                if game.is_hopeless(after):
                    continue
                key = hash(after)
                if key in parents:
                    continue
                parents[key] = hash(state)
                if game.is_over(after):
                    captures += 1
                    found = game.loss(after)
                    if found is not None:
                        moves = _path(game, parents, after)
                        return Outcome(len(parents), False, captures, Loss(moves, found[0], found[1], after))
                else:
                    following.append(after)
            if len(parents) > limit:
                return Outcome(len(parents), False, captures, None)
        level = following
    return Outcome(len(parents), True, captures, None)


def _path(game: Turns[StateT], parents: dict[int, int], last: StateT) -> tuple[Move, ...]:
    """The moves that lead to a state, found again from the first one by the hashes on the way."""
    trail = [hash(last)]
    while parents[trail[-1]]:
        trail.append(parents[trail[-1]])
    state, moves = game.first(), []
    for key in reversed(trail[:-1]):
        move, state = next((move, after) for move, after in game.moves(state) if hash(after) == key)
        moves.append(move)
    return tuple(moves)
