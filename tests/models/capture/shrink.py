"""Shortens a history that loses data by leaving out the moves that the loss does not need."""

from collections.abc import Sequence

from tests.models.capture.turns import Loss, Move, StateT, Turns


def shrink(game: Turns[StateT], loss: Loss[StateT], held_by: Turns[StateT] | None = None) -> Loss[StateT]:
    """Returns the same kind of loss with fewer moves, of which none can be left out any more.

    Args:
        game: the game that loses.
        loss: the loss.
        held_by: a game that loses nothing in this history, and must not lose in a shorter one.
    """
    moves, shrunk = list(loss.moves), True
    while shrunk:
        shrunk = False
        for length in (4, 3, 2, 1):
            place = len(moves) - length
            while place >= 0:
                shorter = (*moves[:place], *moves[place + length :])
                found = loss_of(game, shorter)
                if found is not None and (held_by is None or loss_of(held_by, shorter) is None):
                    moves, loss, shrunk = list(shorter), found, True
                place -= 1
    return loss


def loss_of(game: Turns[StateT], moves: Sequence[Move]) -> Loss[StateT] | None:
    """Returns the loss of a history; None if it loses nothing, does not end the capture, or is not possible."""
    state = run(game, moves)
    if state is None or not game.is_over(state):
        return None
    found = game.loss(state)
    return Loss(tuple(moves), found[0], found[1], state) if found else None


def run(game: Turns[StateT], moves: Sequence[Move]) -> StateT | None:
    """Returns the last state of a history; None if one of its moves is not possible in its state."""
    state = game.first()
    for wanted in moves:
        after = next((after for move, after in game.moves(state) if move == wanted), None)
        if after is None:
            return None
        state = after
    return state
