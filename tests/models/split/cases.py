"""Provides good and broken splits for testing the audits.

They are rows of the failure table and mutants, each with the audits that must detect it.
"""

from dataclasses import dataclass
from functools import cache

from pipelines.pegasus.simulate.clients import DOUBLE, LOST, STUCK
from pipelines.pegasus.simulate.scope import Design
from pipelines.pegasus.simulate.walk import WalkHistory, walk
from tests.models.split.injections import BY_ROW, HOMES, INJECTIONS, MUTANTS, SHIPPED
from tests.models.split.witness import broken_history, struck_history

CANCELLED = ("F5", "F21", "F32")
"""Rows whose splits are cancelled."""
SHIPPED_ROWS = ("F11", "F29", "F38")
"""Pegasus issue #2209, two owners, and Pegasus issue #2210. Everything else that the shipped protocol breaks repeats
these, `forget-pauses` or `check-kills-registered`.
"""
ALONE = ("env-lost", "no-start-check")
"""Mutants that affect a whole table: each has its own table."""
VERIFY, STALE, LOG, CONFIG, ROUTE = (
    "split-verify",
    "split-stale",
    "split-audit-log",
    "split-audit-config",
    "split-route",
)
AUDITS = (VERIFY, STALE, LOG, CONFIG, ROUTE)
_DOUBLE = frozenset({VERIFY, LOG, ROUTE})
_STUCK = frozenset({CONFIG})
_LOST = frozenset({VERIFY, LOG})
SEEN_BY = {
    "no-sync-point": _LOST,
    "checkpoint-only": _LOST,
    "no-private-log": _LOST,
    "no-prepare-list": _LOST,
    "torn-prepare-list": _LOST,
    "check-kills-registered": frozenset({VERIFY, CONFIG}),
    "no-reject": frozenset({LOG, ROUTE}),
    "no-ballot-check": frozenset({LOG, ROUTE}),
    "same-ballot": frozenset({CONFIG}),
    "ballot-leaps": frozenset({CONFIG}),
    "children-outlive-ballots": frozenset({VERIFY}),
    "orphans-are-loaded": frozenset({CONFIG, ROUTE}),
    "filter-while-rejecting": frozenset({VERIFY}),
    "restart-alone": _STUCK,
    "serve-before-asking": _DOUBLE,
    "forget-pauses": frozenset({CONFIG}),
    "no-start-check": frozenset({CONFIG}),
    "no-preflight": _STUCK,
    "env-lost": frozenset({STALE, LOG, ROUTE}),
    "stubborn-clients": frozenset({ROUTE}),
    "scans-unfiltered": frozenset({ROUTE}),
}
"""The audits that must detect each mutant."""
_SHIPPED_SEEN = {DOUBLE: _DOUBLE, LOST: _LOST, STUCK: _STUCK}


@dataclass(frozen=True, slots=True)
class Case:
    """One partition of a simulated table.

    Attributes:
        name: the name of the row of the failure table or of the mutant, or the seed.
        design: the protocol.
        what: the failure, in words.
        history: the history that was played.
        seen_by: the audits that must report something; empty for a good split.
    """

    name: str
    design: str
    what: str
    history: WalkHistory
    seen_by: frozenset[str] = frozenset()


@cache
def tables() -> dict[str, list[Case]]:
    """Returns tables of cases with one case for each partition; the number of cases of a table is a power of two.

    `good` and `cancelled` have every row of the failure table in the mended protocol. `broken` has the mutants and the
    shipped protocol. Each mutant that affects a whole table has its own table.
    """
    good = [_struck(row.row, "split") for row in INJECTIONS if row.row not in CANCELLED]
    cancelled = [_struck(row, "cancelled") for row in CANCELLED]
    broken = [_mutant(name) for name in MUTANTS if name not in ALONE]
    broken += [_shipped(row) for row in SHIPPED_ROWS]
    return {
        "good": [*good, *_seeds(_missing(good))],
        "cancelled": [*cancelled, cancelled[-1]],
        "broken": [*broken, *_seeds(_missing(broken))],
        **{name: [_mutant(name)] for name in ALONE},
    }


def _missing(cases: list[Case]) -> int:
    return (1 << (len(cases) - 1).bit_length()) - len(cases)


def _struck(row: str, end: str) -> Case:
    return Case(row, "mended", BY_ROW[row].what, struck_history(BY_ROW[row], Design(), (end,)))


def _mutant(name: str) -> Case:
    row = BY_ROW[HOMES[name]]
    history = broken_history(row, MUTANTS[name])
    if history is None:
        raise LookupError(f"mutant {name} breaks nothing in {row.row}")
    return Case(name, "mutant", str(history.broken), history, SEEN_BY[name])


def _shipped(row: str) -> Case:
    history = broken_history(BY_ROW[row], SHIPPED)
    if history is None:
        raise LookupError(f"the shipped protocol breaks nothing in {row}")
    return Case(row, "shipped", str(history.broken), history, _SHIPPED_SEEN[history.broken or STUCK])


def _seeds(number: int) -> list[Case]:
    """Returns random histories of the mended protocol in which the split is completed."""
    found: list[Case] = []
    seed = 0
    while len(found) < number:
        history = walk(seed, Design())
        if history.is_settled and history.worlds[-1].meta.child is not None:
            found.append(Case(f"seed {seed}", "mended", "random history", history))
        seed += 1
    return found
