"""A range of seeds, played one after the other: the unit of work of the job `simulate`."""

import hashlib
import pkgutil
import time
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from pipelines.domain.errors import UsageError
from pipelines.simulate.adversary.game import Game, Plan
from pipelines.simulate.adversary.mutants import Mutant
from pipelines.simulate.adversary.shrink import shrink
from pipelines.simulate.adversary.text import beginning, ending, story
from pipelines.simulate.adversary.walk import mutant, scope_of, walk

_CODE = ("pipelines.domain", "pipelines.simulate")
MOST_VIOLATIONS = 20
"""Of one range; more tell nothing new."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A history that loses data.

    Attributes:
        seed: `simulate --replay SEED` shows it whole.
        wal: file name of the WAL that is needed and DELETABLE.
        reason: of its verdict.
        replay: the shortest form found, as text.
    """

    seed: int
    wal: str
    reason: str
    replay: str


@dataclass(frozen=True, slots=True)
class Played:
    """What became of a range.

    Attributes:
        first_seed: of the range.
        seeds: histories played.
        contested: histories that ended with a needed WAL among the listed ones.
        moves: steps of all histories.
        cpu_ms: processor time.
        violations: the first `MOST_VIOLATIONS`.
    """

    first_seed: int
    seeds: int
    contested: int
    moves: int
    cpu_ms: int
    violations: tuple[Violation, ...]


def known_mutant(name: str) -> Mutant:
    """The mutant of that name.

    Raises:
        UsageError: there is none.
    """
    try:
        return mutant(name)
    except KeyError:
        raise UsageError(f"no mutant {name!r}; docs/proof.md names them, and 'design' is the real thing") from None


def play_range(first_seed: int, seeds: int, mutant_name: str) -> Played:
    """Play `seeds` histories from `first_seed` on."""
    weakened, began = known_mutant(mutant_name), time.process_time()
    contested, moves, violations = 0, 0, list[Violation]()
    for seed in range(first_seed, first_seed + seeds):
        history = walk(seed, weakened)
        contested += bool(history.needed)
        moves += len(history.moves)
        if history.loss is not None and len(violations) < MOST_VIOLATIONS:
            violations.append(_violation(seed, weakened))
    spent = int((time.process_time() - began) * 1000)
    return Played(first_seed, seeds, contested, moves, spent, tuple(violations))


def _violation(seed: int, weakened: Mutant) -> Violation:
    scope, history = scope_of(seed), walk(seed, weakened)
    if history.loss is None:
        raise ValueError(f"seed {seed} loses nothing")
    game = Game(Plan(scope, weakened.order, weakened.weakening))
    least = shrink(game, history.loss)
    replay = "\n".join([beginning(scope), story(scope, least.moves), ending(scope, least)])
    return Violation(seed, game.judge.names.wal(*least.wal), least.reason, replay)


def code_sha256() -> str:
    """SHA-256 of the source of rule and model: results of other code do not count as played."""
    digest = hashlib.sha256()
    for package in _CODE:
        path = import_module(package).__path__
        for name in sorted(found.name for found in pkgutil.walk_packages(path, f"{package}.")):
            spec = find_spec(name)
            source = spec.loader.get_source(name) if spec and spec.loader else None  # type: ignore[attr-defined]
            digest.update(f"{name}\0{source}\0".encode())
    return digest.hexdigest()
