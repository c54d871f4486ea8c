"""Plays one history by its seed, from which the cluster, its actions and the times of the capture's reads are drawn."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from tests.models.capture.game import Game, Plan, State
from tests.models.capture.mutants import MUTANTS, STRICT, TOO_CAUTIOUS, Mutant
from tests.models.capture.scope import Scope, ServerPlan
from tests.models.capture.turns import Loss, Move, StateT, Turns
from tests.models.walk import Pace
from tests.models.walk import play as play_game

ScopeT = TypeVar("ScopeT")
DESIGN_ITSELF = Mutant("design", "nothing is taken away")
_PACE = Pace(hurry=(0.15, 0.3, 0.5), before=(0, 0, 5, 15), most=400, draws_from_all=False)
HISTORIES_OF_ONE = 250
"""So many seeds in a row play in the same cluster: what the rule was asked before is not asked again."""


@dataclass(frozen=True)
class Walk(Generic[ScopeT, StateT]):
    """A history that was drawn from a seed.

    Attributes:
        seed: the seed from which it is drawn.
        scope: the cluster.
        moves: the steps.
        state: the last state, in which the capture has ended.
        needed: the listed WALs that some peer still needs.
        loss: the loss, if one of these WALs is DELETABLE; else None.
    """

    seed: int
    scope: ScopeT
    moves: tuple[Move, ...]
    state: StateT
    needed: int
    loss: Loss[StateT] | None


def mutant(name: str) -> Mutant:
    """Returns the mutant of that name, or the design itself.

    Raises:
        KeyError: there is no such mutant.
    """
    return {one.name: one for one in (DESIGN_ITSELF, *MUTANTS, *TOO_CAUTIOUS, STRICT)}[name]


def random_scope(seed: int) -> Scope:
    """Draws a cluster from a seed: two to five servers, one or two peers, some of the faults."""
    draw = random.Random(seed)
    peers = draw.choice(((True,), (True,), (True, True), (True, False)))
    count = draw.randint(2, 5)
    servers = []
    for host in range(1, count + 1):
        kind = draw.random()
        row = draw.choice((None, 0, 0, 1))
        wals = draw.randint(1, 3)
        if kind < 0.15 and host > 1:
            servers.append(ServerPlan(host, waits=True))
        elif kind < 0.4 and host < count:
            servers.append(ServerPlan(host, wals=wals, archived=wals, dead=True, owner=count - 1, row=0))
        else:
            servers.append(ServerPlan(host, wals=wals, archived=draw.randint(0, wals - 1), row=row))
    if draw.random() < 0.2:
        # the last host comes up once more; nobody else's number changes by that
        servers.append(ServerPlan(count, startcode=2, waits=True))
    rare = [draw.random() < 0.2 for _ in range(8)]
    return Scope(
        name=f"seed-{seed}",
        servers=tuple(servers),
        peers=peers,
        groups=2 if rare[0] else 1,
        max_wals=4,
        crashes=draw.randint(1, 4),
        adds=int(not all(peers)) + int(rare[1]),
        removes=int(rare[1]),
        toggles=int(rare[2]),
        transits=int(rare[3]),
        failovers=int(rare[4]),
        loading=rare[4] and draw.random() < 0.5,
        leftovers=rare[5],
        hbck=rare[5],
        cleaner=2 * rare[6],
        sync_up=rare[7],
    )


@lru_cache(maxsize=4)
def _scope(number: int) -> Scope:
    return random_scope(number)


def scope_of(seed: int) -> Scope:
    """Returns the cluster in which a seed plays."""
    return _scope(seed // HISTORIES_OF_ONE)


def walk(seed: int, weakened: Mutant = DESIGN_ITSELF, scope: Scope | None = None) -> Walk[Scope, State]:
    """Plays one history to the end of its capture.

    Args:
        seed: any whole number; the same seed gives the same history.
        weakened: what is taken away from capture and rule.
        scope: the cluster; None = drawn from the seed.
    """
    return play(_game(scope or scope_of(seed), weakened), seed)


@lru_cache(maxsize=2)
def _game(scope: Scope, weakened: Mutant) -> Game:
    return Game(Plan(scope, weakened.order, weakened.weakening))


def play(game: Game, seed: int) -> Walk[Scope, State]:
    """Plays one history of a game; it ends with the capture, or as soon as nothing is left to lose."""
    moves, state = play_game(game, seed, _PACE)
    return walked(game, seed, game.plan.scope, moves, state)


def walked(game: Turns[StateT], seed: int, scope: ScopeT, moves: Sequence[Move], state: StateT) -> Walk[ScopeT, StateT]:
    """Returns a history that has come to its last state, with its loss."""
    needed = game.needed_files(state) if game.is_over(state) else ()
    found = game.loss(state) if needed else None
    loss = Loss(tuple(moves), found[0], found[1], state) if found else None
    return Walk(seed, scope, tuple(moves), state, len(needed), loss)
