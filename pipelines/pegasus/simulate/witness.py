"""Histories that show something: the shortest that breaks an invariant, one that ends well although a row strikes."""

import random
from collections.abc import Iterable, Sequence

from pipelines.pegasus.simulate.clients import is_settled
from pipelines.pegasus.simulate.faults import FAULTS
from pipelines.pegasus.simulate.injections import Injection
from pipelines.pegasus.simulate.search import steps
from pipelines.pegasus.simulate.walk import History, walk
from pipelines.pegasus.simulate.world import CHILD_HALF, PARENT_HALF, Design, Move, Scope, World, first_world

_MORE = (CHILD_HALF, CHILD_HALF, PARENT_HALF)
"""Writes that come after what the search has found, so that clients meet it."""
_AFTERMATH = 80
_MOST_TRIES = 4000
_CLIENTS = ("commit", "write_child", "write_parent", "copy", "scan_begin", "scan_piece", "scan_flagged", "scan_exact")


def broken_history(row: Injection, design: Design) -> History | None:
    """The shortest history of a row that breaks something, and what comes of it; None = nothing breaks.

    The search ends where an invariant breaks. Here clients go on: a key with two owners is written to both.
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
    return History(-1, scope, design, tuple(moves), tuple(worlds), broken.what)


def replayed(moves: Iterable[Move], scope: Scope, design: Design) -> list[World]:
    """The states of a history, one more than moves; its steps must be possible in this scope."""
    worlds = [first_world(scope)]
    for wanted in moves:
        worlds.append(next(after for move, after in steps(worlds[-1], scope, design) if move == wanted))
    return worlds


def struck_history(row: Injection, design: Design, ends: Sequence[str]) -> History:
    """The first random history in which a row strikes, nothing breaks, and the split ends so.

    Args:
        row: of the failure table; what it shows must happen, and one of its faults where it has any.
        design: the protocol.
        ends: of `ending`.

    Raises:
        LookupError: there is none among the first seeds.
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
    """How a split has ended: split, cancelled or paused."""
    return "split" if world.meta.child is not None else "paused" if world.meta.doubled else "cancelled"
