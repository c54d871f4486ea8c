"""Plays a range of seeds one after the other: the unit of work of a search by seed."""

import hashlib
import time
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import grimp

from tests.models.capture.players import player

_MODEL = "tests.models.capture"
_ROOTS = (
    *(f"{_MODEL}.{name}" for name in ("players", "search", "histories", "scenarios", "agreement")),
    *(f"{_MODEL}.zookeeper.{name}" for name in ("scenarios", "agreement")),
)
MOST_VIOLATIONS = 20
"""Of one range; more tell nothing new."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A history that loses data.

    Attributes:
        seed: `capture --replay SEED` shows it whole.
        wal: the file name of the WAL that is needed and DELETABLE.
        reason: the reason of its verdict.
        replay: the shortest form of the history that was found, as text.
    """

    seed: int
    wal: str
    reason: str
    replay: str


@dataclass(frozen=True, slots=True)
class Played:
    """The result of playing a range of seeds.

    Attributes:
        first_seed: the first seed of the range.
        seeds: the number of histories played.
        contested: the number of histories that ended with a needed WAL among the listed ones.
        moves: the number of steps of all histories.
        cpu_ms: the processor time.
        violations: the first `MOST_VIOLATIONS` violations.
    """

    first_seed: int
    seeds: int
    contested: int
    moves: int
    cpu_ms: int
    violations: tuple[Violation, ...]


def play_range(first_seed: int, seeds: int, mutant_name: str) -> Played:
    """Plays `seeds` histories, beginning with `first_seed`.

    Raises:
        UsageError: there is no such mutant.
    """
    playing, began = player(mutant_name), time.process_time()
    contested, moves, violations = 0, 0, list[Violation]()
    for seed in range(first_seed, first_seed + seeds):
        history = playing.history(seed)
        contested += bool(history.needed)
        moves += len(history.moves)
        if history.loss is not None and len(violations) < MOST_VIOLATIONS:
            least, scope = playing.shrunk(history), history.scope
            wal = playing.names(scope).wal(*least.wal)
            violations.append(Violation(seed, wal, least.reason, playing.told_whole(scope, least.moves, least)))
    spent = int((time.process_time() - began) * 1000)
    return Played(first_seed, seeds, contested, moves, spent, tuple(violations))


@cache
def code_modules() -> tuple[str, ...]:
    """Returns the modules of rule and model: those of `_ROOTS`, and what they import."""
    graph = grimp.build_graph("pipelines", "jobs", "tests", cache_dir=None)
    return tuple(sorted({*_ROOTS, *(name for root in _ROOTS for name in graph.find_upstream_modules(root))}))


def code_sha256() -> str:
    """Returns the SHA-256 of the source of rule and model: results of other code do not count as played."""
    digest = hashlib.sha256()
    for name in code_modules():
        spec = find_spec(name)
        source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else None
        digest.update(f"{name}\0{source}\0".encode())
    return digest.hexdigest()
