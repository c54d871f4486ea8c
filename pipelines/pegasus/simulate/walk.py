"""Collects the steps that can happen next, and plays one random history of one group, whose seed chooses among them."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.common.random_walk import random_walk
from pipelines.pegasus.simulate.clients import client_steps, compaction_steps, is_settled, violation
from pipelines.pegasus.simulate.faults import FAULTS, fault_steps
from pipelines.pegasus.simulate.protocol import protocol_steps
from pipelines.pegasus.simulate.scans import scan_steps
from pipelines.pegasus.simulate.scope import CHILD_HALF, PARENT_HALF, Design, Scope
from pipelines.pegasus.simulate.world import Move, Step, World, first_world

_MOST_STEPS = 400
_SOME = 0.3
"""Probability that the writes are those of one client with a cache; also that a scan runs."""
_HURRY = 0.15
"""Probability of a failure when one is possible. With a higher one most histories would use their failures before the
split.
"""


@dataclass(frozen=True, slots=True)
class WalkHistory:
    """One history.

    Attributes:
        seed: the seed; -1 = the history was found by a search.
        design: the protocol.
        moves: the steps of the history.
        worlds: its states, one more than its steps.
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
        """Returns whether the split has ended."""
        return is_settled(self.worlds[-1])


def steps(world: World, scope: Scope, design: Design) -> Iterator[Step]:
    """Yields every step that can happen next."""
    yield from protocol_steps(world, scope, design)
    yield from client_steps(world, scope, design)
    yield from scan_steps(world, scope, design)
    yield from compaction_steps(world, scope, design)
    yield from fault_steps(world, scope, design)


def scope_of(seed: int, may: Sequence[str] = tuple(FAULTS)) -> Scope:
    """Draws a group from a seed.

    It has two or three replicas, one to six writes, up to three failures, and by chance a caching client and a scan.
    """
    draw = random.Random(seed)
    writes = tuple(draw.choice((CHILD_HALF, PARENT_HALF)) for _ in range(draw.randint(1, 6)))
    replicas, faults = draw.choice((2, 3, 3)), draw.randint(0, 3)
    return Scope(replicas, writes, frozenset(may), faults, draw.random() < _SOME, draw.random() < _SOME)


def walk(seed: int, design: Design, scope: Scope | None = None) -> WalkHistory:
    """Plays one history until no step is possible, something breaks, or it has `_MOST_STEPS` steps.

    Args:
        seed: any integer; the same seed gives the same history.
        design: the protocol.
        scope: the group; None = drawn from the seed.
    """
    played = scope or scope_of(seed)
    draw = random.Random(~seed)

    def following(world: World, _moves: int) -> Step | None:
        possible = list(steps(world, played, design))
        failures = [step for step in possible if step[0][0] in FAULTS]
        others = [step for step in possible if step[0][0] not in FAULTS]
        if failures and (not others or draw.random() < _HURRY):
            return draw.choice(failures)
        return draw.choice(others) if others else None

    def broken(worlds: Sequence[World]) -> str | None:
        return violation(worlds[-1], played, worlds[-2]) if len(worlds) > 1 else None

    moves, worlds = random_walk(first_world(played), following, lambda worlds: broken(worlds) is not None, _MOST_STEPS)
    return WalkHistory(seed, played, design, tuple(moves), tuple(worlds), broken(worlds))
