"""Where a random history ends."""

from collections.abc import Sequence

from pipelines.common.random_walk import random_walk


def counted(state: int, moves: int) -> tuple[str, int] | None:
    """Counts up to five; the name of a move says how many moves there were before it."""
    return (f"{moves}", state + 1) if state < 5 else None


def never(_states: Sequence[int]) -> bool:
    return False


def test_a_history_ends_without_a_move_or_with_its_most() -> None:
    assert random_walk(0, counted, never, 9) == (["0", "1", "2", "3", "4"], [0, 1, 2, 3, 4, 5])
    assert random_walk(0, counted, never, 2) == (["0", "1"], [0, 1, 2])


def test_a_history_ends_as_soon_as_it_is_over() -> None:
    assert random_walk(0, counted, lambda states: states[-1] == 3, 9) == (["0", "1", "2"], [0, 1, 2, 3])
    assert random_walk(0, counted, lambda states: len(states) == 1, 9) == ([], [0])
