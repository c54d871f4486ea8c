"""One history of one group by its seed: which node, write or failure comes next is drawn from it."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.pegasus.simulate.clients import is_settled, violation
from pipelines.pegasus.simulate.faults import FAULTS
from pipelines.pegasus.simulate.search import steps
from pipelines.pegasus.simulate.world import CHILD_HALF, PARENT_HALF, Design, Move, Scope, World, first_world

_MOST_STEPS = 400
_SOME = 0.3
"""Chance that the writes are those of one client with a cache, and that a scan runs."""
_HURRY = 0.15
"""Chance to take a failure where one may happen: else most histories would spend theirs before the split."""


@dataclass(frozen=True, slots=True)
class History:
    """One history.

    Attributes:
        seed: it was drawn from; -1 = it was searched for.
        design: the protocol.
        moves: its steps.
        worlds: the states, one more than steps.
        broken: the invariant that its last state breaks; None = none.
    """

    seed: int
    scope: Scope
    design: Design
    moves: tuple[Move, ...]
    worlds: tuple[World, ...]
    broken: str | None

    @property
    def is_settled(self) -> bool:
        """Whether the split has come to an end."""
        return is_settled(self.worlds[-1])


def scope_of(seed: int, may: Sequence[str] = tuple(FAULTS)) -> Scope:
    """A group drawn from a seed: two or three replicas, up to six writes, up to three failures, a client, a scan."""
    draw = random.Random(seed)
    writes = tuple(draw.choice((CHILD_HALF, PARENT_HALF)) for _ in range(draw.randint(1, 6)))
    replicas, faults = draw.choice((2, 3, 3)), draw.randint(0, 3)
    return Scope(replicas, writes, frozenset(may), faults, draw.random() < _SOME, draw.random() < _SOME)


def walk(seed: int, design: Design, scope: Scope | None = None) -> History:
    """Play one history until the split has ended and may not go on, something breaks, or for a while.

    Args:
        seed: any whole number; the same seed is the same history.
        design: the protocol.
        scope: the group; drawn from the seed when None.
    """
    played = scope or scope_of(seed)
    draw = random.Random(~seed)
    worlds, moves, broken = [first_world(played)], list[Move](), None
    while broken is None and len(moves) < _MOST_STEPS:
        following = list(steps(worlds[-1], played, design))
        failures = [step for step in following if step[0][0] in FAULTS]
        others = [step for step in following if step[0][0] not in FAULTS]
        if failures and (not others or draw.random() < _HURRY):
            following = failures
        elif others:
            following = others
        if not following:
            break
        move, after = draw.choice(following)
        moves.append(move)
        worlds.append(after)
        broken = violation(after, played, worlds[-2])
    return History(seed, played, design, tuple(moves), tuple(worlds), broken)


def story(moves: Sequence[Move]) -> str:
    """A history as text, a step a line."""
    return "\n".join(f"{number:>4}  {name} {about}" for number, (name, about) in enumerate(moves, 1))
