"""Plays one random history of a model: of a partition split in the demo, and of the capture in the tests.

A model says which move comes next. What is drawn for that, and in which order, belongs to the model, so a seed that was
recorded stays the same history.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

MoveT = TypeVar("MoveT")
StateT = TypeVar("StateT")


def random_walk(
    first: StateT,
    following: Callable[[StateT, int], tuple[MoveT, StateT] | None],
    is_over: Callable[[Sequence[StateT]], bool],
    most: int,
) -> tuple[list[MoveT], list[StateT]]:
    """Plays until the history is over, no move is possible, or it has `most` moves.

    Args:
        first: the state in which the history begins.
        following: draws a move, from a state and the number of moves so far; returns it and the state after it. None =
            no move is possible.
        is_over: whether the history ends with these states.
        most: the largest number of moves.

    Returns:
        The moves, and the states: one more than moves.
    """
    moves, states = list[MoveT](), [first]
    while not is_over(states) and len(moves) < most:
        drawn = following(states[-1], len(moves))
        if drawn is None:
            break
        moves.append(drawn[0])
        states.append(drawn[1])
    return moves, states
