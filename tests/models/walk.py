"""Plays one random history of a cluster with the capture: the seed decides who moves next, and when capture reads."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pipelines.common.random_walk import random_walk

StateT = TypeVar("StateT")
Move = tuple[str, tuple[int, ...]]


class Played(Protocol[StateT]):
    """What is played."""

    def first(self) -> StateT:
        """The state in which every history begins."""
        ...

    def is_over(self, state: StateT) -> bool:
        """Whether the capture has ended."""
        ...

    def is_hopeless(self, state: StateT) -> bool:
        """Whether no loss can follow."""
        ...

    def next_read(self, state: StateT) -> Move:
        """The capture's next read."""
        ...

    def look(self, state: StateT) -> StateT | None:
        """The state after that read; None = it cannot be answered now."""
        ...

    def drawn(self, state: StateT, draw: random.Random) -> tuple[Move, StateT] | None:
        """An action of the cluster and the state after it; None = the draw has hit upon none."""
        ...


@dataclass(frozen=True)
class Pace:
    """How a history is played.

    Attributes:
        hurry: chances that the next move is a read of the capture; one of them holds for a history.
        before: moves before the capture may begin; one of them holds for a history.
        most: moves after which the capture reads whenever it can; with twice as many the history ends.
        draws_from_all: where no action is drawn there is none, so that only a read can go on.
    """

    hurry: tuple[float, ...]
    before: tuple[int, ...]
    most: int
    draws_from_all: bool


def play(game: Played[StateT], seed: int, pace: Pace) -> tuple[list[Move], StateT]:
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
