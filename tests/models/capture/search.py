"""Searches all histories of a small cluster for one in which a needed WAL is DELETABLE."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from tests.models.capture.game import Game, Plan, State
from tests.models.capture.turns import Loss, Move, StateT, Turns, Wal
from tests.models.search import history, search


@dataclass(frozen=True)
class Outcome(Generic[StateT]):
    """The result of a breadth-first search.

    Attributes:
        states: the number of different states visited.
        finished: whether no state was left out.
        captures: the number of captures that ended with a needed WAL among the listed ones, so that there was something
            to lose.
        loss: the shortest history that loses data, or None.
    """

    states: int
    finished: bool
    captures: int
    loss: Loss[StateT] | None


class _Losing(Generic[StateT]):
    """Presents a game as a model; what a history breaks is a loss at the end of its capture."""

    def __init__(self, game: Turns[StateT]) -> None:
        self.first, self.is_hopeless, self.is_over = game.first, game.is_hopeless, game.is_over
        self._game = game

    def moves(self, state: StateT) -> Iterator[tuple[Move, StateT]]:
        return self._game.moves(state)

    def broken(self, _before: StateT, after: StateT) -> tuple[Wal, str] | None:
        return self._game.loss(after) if self._game.is_over(after) else None


def explore(plan: Plan, limit: int = 10_000_000, *, shorten: bool = True) -> Outcome[State]:
    """Searches breadth-first until it finds a loss or has visited all states; the first loss is a shortest one.

    Args:
        plan: what to search.
        limit: the number of states after which to give up.
        shorten: whether to leave out moves that cannot make a difference.
    """
    return explore_game(Game(plan, shorten=shorten), limit)


def explore_game(game: Turns[StateT], limit: int = 10_000_000) -> Outcome[StateT]:
    """Searches a game that is set up already, breadth-first until it finds a loss or has visited all states."""
    model = _Losing(game)
    searched = search(model, limit)
    loss = None
    if searched.found is not None and searched.last is not None:
        moves, state = history(model, searched.parents, searched.last)
        loss = Loss(moves, *searched.found, state)
    return Outcome(len(searched.parents), searched.finished, searched.ended, loss)
