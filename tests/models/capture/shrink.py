"""Makes a history that loses data as short as it gets by leaving out moves that the loss does not need."""

from collections.abc import Sequence

from tests.models.capture.turns import Loss, Move, StateT, Turns


def shrink(game: Turns[StateT], loss: Loss[StateT], held_by: Turns[StateT] | None = None) -> Loss[StateT]:
    """The same kind of loss in fewer moves; none of them can be left out any more.

    Args:
        game: that loses.
        loss: what it loses.
        held_by: a game that loses nothing by the history, and must not lose by a shorter one.
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
    """What a history loses; None when it loses nothing, does not end the capture, or is not possible."""
    state = run(game, moves)
    if state is None or not game.is_over(state):
        return None
    found = game.loss(state)
    return Loss(tuple(moves), found[0], found[1], state) if found else None


def run(game: Turns[StateT], moves: Sequence[Move]) -> StateT | None:
    """The state that a history ends in, or None when one of its moves is not possible where it stands."""
    state = game.first()
    for wanted in moves:
        after = next((after for move, after in game.moves(state) if move == wanted), None)
        if after is None:
            return None
        state = after
    return state
