"""Finds histories that show a failure: the shortest that breaks an invariant, or one that ends well."""

import random
from collections.abc import Iterable, Sequence

from pipelines.pegasus.simulate.clients import is_settled
from pipelines.pegasus.simulate.faults import FAULTS
from pipelines.pegasus.simulate.scope import CHILD_HALF, PARENT_HALF, Design, Scope
from pipelines.pegasus.simulate.walk import WalkHistory, steps, walk
from pipelines.pegasus.simulate.world import Move, World, first_world
from tests.models.split.injections import Injection

_MORE = (CHILD_HALF, CHILD_HALF, PARENT_HALF)
"""Writes added after the history that the search has found, so that clients are affected."""
_AFTERMATH = 80
_MOST_TRIES = 4000
_CLIENTS = ("commit", "write_child", "write_parent", "copy", "scan_begin", "scan_piece", "scan_flagged", "scan_exact")


def broken_history(row: Injection, design: Design) -> WalkHistory | None:
    """Returns the shortest history of a row that breaks something, with what clients do after it.

    None = nothing breaks.

    The search stops where an invariant breaks. Here clients continue, so that a key with two owners is written to both.
    """
    broken = row.search(design).broken
    if broken is None:
        return None
    scope = row.scope._replace(writes=row.scope.writes + _MORE)
    worlds = replayed(broken.moves, scope, design)
    moves = [*broken.moves]
    draw = random.Random(0)
    for _ in range(_AFTERMATH):
        following = [step for step in steps(worlds[-1], scope, design) if step[0][0] not in FAULTS]
        if not following or (is_settled(worlds[-1])):
            break
        asked = {name for name, _ in moves[len(broken.moves) :]}
        order = [name for name in _CLIENTS if name != "write_child" or name not in asked]
        client = next((step for name in order for step in following if step[0][0] == name), None)
        move, world = client or draw.choice(following)
        moves.append(move)
        worlds.append(world)
    return WalkHistory(-1, scope, design, tuple(moves), tuple(worlds), broken.what)


def replayed(moves: Iterable[Move], scope: Scope, design: Design) -> list[World]:
    """Returns the states of a history, one more than moves; its steps must be possible in this scope."""
    worlds = [first_world(scope)]
    for wanted in moves:
        worlds.append(next(after for move, after in steps(worlds[-1], scope, design) if move == wanted))
    return worlds


def struck_history(row: Injection, design: Design, ends: Sequence[str]) -> WalkHistory:
    """Returns the first random history that has the failure, breaks nothing, and ends in one of the ways in `ends`.

    Args:
        row: the row of the failure table; its `shows` must happen, and at least one of its faults if it has any.
        design: the protocol.
        ends: values that `ending` returns.

    Raises:
        LookupError: none of the first seeds gives such a history.
    """
    scope = row.scope._replace(writes=row.scope.writes + _MORE)
    for seed in range(_MOST_TRIES):
        history = walk(seed, design, scope)
        struck = not scope.may or history.worlds[-1].faults < scope.faults
        if history.broken or not history.is_settled or ending(history.worlds[-1]) not in ends:
            continue
        if struck and row.shows <= {name for name, _ in history.moves}:
            return history
    raise LookupError(f"{row.row}: no history of {_MOST_TRIES} shows it and ends well")


def ending(world: World) -> str:
    """Returns how a split has ended: split, cancelled or paused."""
    return "split" if world.meta.child is not None else "paused" if world.meta.doubled else "cancelled"
