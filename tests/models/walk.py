"""Plays one random history of a cluster with the capture.

The seed decides who moves next, and when the capture reads.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.common.random_walk import random_walk
from tests.models.capture.turns import Move, StateT


class Playable(Protocol[StateT]):
    """A game that can be played by seed."""

    def first(self) -> StateT:
        """Returns the state in which every history begins."""
        ...

    def is_over(self, state: StateT) -> bool:
        """Returns whether the capture has ended."""
        ...

    def is_hopeless(self, state: StateT) -> bool:
        """Returns whether no loss can follow."""
        ...

    def next_read(self, state: StateT) -> Move:
        """Returns the capture's next read."""
        ...

    def look(self, state: StateT) -> StateT | None:
        """Returns the state after the capture's next read; None = the read cannot be answered now."""
        ...

    def drawn(self, state: StateT, draw: random.Random) -> tuple[Move, StateT] | None:
        """Draws an action of the cluster; returns it with the state after it; None = the draw found no action."""
        ...


@dataclass(frozen=True)
class Pace:
    """Settings for playing a history.

    Attributes:
        hurry: the possible chances that the next move is a read of the capture; one of them is drawn for a history.
        before: the possible numbers of moves before the capture may begin; one of them is drawn for a history.
        most: the number of moves after which the capture reads whenever it can; with twice as many the history ends.
        draws_from_all: whether a draw without an action means that there is none, so that only a read can follow.
    """

    hurry: tuple[float, ...]
    before: tuple[int, ...]
    most: int
    draws_from_all: bool


def play(game: Playable[StateT], seed: int, pace: Pace) -> tuple[list[Move], StateT]:
    """Plays until the capture has ended, nothing is left to lose, or no move is possible.

    Returns:
        The moves, and the last state.
    """
    draw = random.Random(~seed)
    hurry, before = draw.choice(pace.hurry), draw.choice(pace.before)

    def following(state: StateT, made: int) -> tuple[Move, StateT] | None:
        nonlocal hurry, before
        while True:
            if made >= before and (draw.random() < hurry or made > pace.most):
                looked = game.look(state)
                if looked is not None:
                    return game.next_read(state), looked
            drawn = game.drawn(state, draw)
            if drawn is not None:
                return drawn
            if before:
                before -= 1
            elif pace.draws_from_all:
                hurry = 1.0
                if game.look(state) is None:
                    return None

    def is_over(states: Sequence[StateT]) -> bool:
        return game.is_over(states[-1]) or game.is_hopeless(states[-1])

    moves, states = random_walk(game.first(), following, is_over, 2 * pace.most)
    return moves, states[-1]
