"""Defines the units of work of a search of the split: a row of the failure table, or a range of seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.common.errors import UsageError
from pipelines.pegasus.simulate.clients import STUCK
from pipelines.pegasus.simulate.scope import Design
from pipelines.pegasus.simulate.walk import walk
from pipelines.pegasus.simulate.world import Move
from tests.models.split.injections import BY_ROW, MUTANTS, SHIPPED

RANGE = 500
"""Number of seeds in one range."""
DESIGNS: dict[str, Design] = {"mended": Design(), "shipped": SHIPPED, **MUTANTS}


@dataclass(frozen=True, slots=True)
class Simulated:
    """The result for one subject.

    Attributes:
        design: the protocol.
        subject: the row of the failure table, or the seeds.
        what: the failure, in words.
        states: the number of states visited; for seeds, the number of steps.
        is_finished: whether no history was left out; always false for seeds.
        settled: the number of states, or histories, in which the split had ended.
        broken: LOST, DOUBLE_OWNER, BALLOT, COUNT, MISSCANNED, FORGOTTEN or STUCK; None = nothing.
        history: the shortest history that breaks it, a step a line.
        same_as: the row that is the same search; None = no row before it is.
    """

    design: str
    subject: str
    what: str
    states: int
    is_finished: bool
    settled: int
    broken: str | None
    history: str | None
    same_as: str | None = None


def design_of(name: str) -> Design:
    """Returns the protocol of that name.

    Raises:
        UsageError: there is no such protocol.
    """
    if name not in DESIGNS:
        raise UsageError(f"no design {name!r}; there are {', '.join(DESIGNS)} (docs/split-model.md)")
    return DESIGNS[name]


def play(subject: str, design: str) -> Simulated:
    """Searches one row of the failure table (such as `F11`), or plays a range of seeds (given by its first seed)."""
    if subject in BY_ROW:
        one = BY_ROW[subject]
        found = one.search(design_of(design))
        broken = found.broken
        what, history = (broken.what, _story(broken.moves)) if broken else (None, None)
        return Simulated(design, subject, one.what, found.states, found.finished, found.settled, what, history)
    first, made, settled = int(subject), 0, 0
    protocol = design_of(design)
    for seed in range(first, first + RANGE):
        history_of = walk(seed, protocol)
        made += len(history_of.moves)
        settled += history_of.is_settled
        what = history_of.broken or (None if history_of.is_settled else STUCK)
        if what is not None:
            words = f"seed {seed}\n{_story(history_of.moves)}"
            return Simulated(design, _seeds(first), "random histories", made, False, settled, what, words)
    return Simulated(design, _seeds(first), "random histories", made, False, settled, None, None)


def _story(moves: Sequence[Move]) -> str:
    """Returns a history as text, one line for each step."""
    return "\n".join(f"{number:>4}  {name} {about}" for number, (name, about) in enumerate(moves, 1))


def _seeds(first: int) -> str:
    return f"seeds {first} to {first + RANGE - 1}"
