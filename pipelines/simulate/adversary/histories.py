"""Histories written down where a search would take too long to find them: three crashes within one capture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pipelines.simulate.adversary.game import DESIGN, QUEUES
from pipelines.simulate.adversary.scope import FORGETS, FORGETS_AT_ONCE, Scope, ServerPlan
from pipelines.simulate.adversary.turns import Move

LATE_CLAIMERS = Scope(
    "late-claimers",
    (
        ServerPlan(1, row=0),
        ServerPlan(2, waits=True),
        ServerPlan(3, archived=1, dead=True, owner=4, row=0),
        ServerPlan(4, waits=True),
        ServerPlan(5, row=0),
    ),
    crashes=3,
    rolls=False,
)
"""A queue of a dead server (3) is claimed three times while it is looked for: from 5 to 2 to 4 to 1."""
LATE_ZOMBIE = Scope(
    "late-zombie",
    (ServerPlan(1, row=0), ServerPlan(2, row=0), ServerPlan(3, wals=2, archived=1, row=0)),
    crashes=2,
    rolls=False,
    zombies=True,
)
FORGETFUL = replace(LATE_CLAIMERS, name="late-claimers-forgetful", memory=FORGETS_AT_ONCE)
SLOW = replace(LATE_CLAIMERS, name="late-claimers-slow", memory=FORGETS)
WRITTEN: dict[str, Scope] = {scope.name: scope for scope in (LATE_CLAIMERS, FORGETFUL, SLOW, LATE_ZOMBIE)}


@dataclass(frozen=True, slots=True)
class Claims:
    """How the three crashes of `LATE_CLAIMERS` look to the capture.

    Attributes:
        first_lives: the first owner is online at the beginning, and its crash procedure ends in time.
        first_expired: it is off the online list before the first look, and its crash procedure submitted after it.
        first_ends: its crash procedure is unfinished at the first look, and has ended at the second.
        first_keeps: its own queue is not claimed before the scans.
        last_early: the last owner is on the first online list.
        kept: the queue of the second owner is not shipped before the second scan.
        forgotten: servers whose crash procedures the master forgets as soon as they have ended.
    """

    first_lives: bool = False
    first_expired: bool = False
    first_ends: bool = False
    first_keeps: bool = False
    last_early: bool = False
    kept: bool = False
    forgotten: tuple[int, ...] = ()


def three_claims(claims: Claims, order: Sequence[str] = DESIGN, *, slowly: bool = False) -> tuple[Move, ...]:
    """A row that slips through both passes, as the capture of this order would meet it.

    Args:
        claims: how.
        order: of the reads.
        slowly: what is forgotten is forgotten for its age.
    """
    inside = claims.first_lives or claims.first_expired
    gone: list[Move] = [("crash", (4, 0))]
    first = [*([] if claims.first_expired else gone), *_procedure(4, listed=inside)]
    own = [] if claims.first_keeps else [("claim", (0, 4, -1, 0))]
    kept = [("recovered_ships", (0, 0, 1, 0))]
    unseen = [*first, *own, ("recovered_ships", (0, 0, 4, 0))] if inside else []
    between = {
        "queues-1/2": [*unseen, ("claim", (0, 4, 2, 1))],
        "queues-2/0": [
            *(_end(4, claims, slowly=slowly) if inside or claims.first_ends else ()),
            ("crash", (1, 0)),
            *_procedure(1, listed=True),
            *([] if claims.last_early else [("start", (3,))]),
            ("claim", (0, 1, 2, 3)),
            ("claim", (0, 1, -1, 0)),
            *([] if claims.kept else kept),
            *_end(1, claims, slowly=slowly),
        ],
        "queues-2/3": [
            ("crash", (3, 0)),
            *_procedure(3, listed=True),
            ("claim", (0, 3, 2, 0)),
            ("claim", (0, 3, -1, 0)),
            ("recovered_ships", (0, 0, 3, 0)),
            *_end(3, claims, slowly=slowly),
        ],
    }
    moves: list[Move] = []
    if claims.last_early:
        moves.append(("start", (3,)))
    moves += gone if claims.first_expired else [] if inside else [*first, *own]
    for name in order:
        for owner in range(5) if name in QUEUES else (0,):
            moves += between.get(f"{name}/{owner}", [])
            moves.append((name, (owner,) if name in QUEUES else ()))
        if name == "online" or (name == "files" and "online" not in order):
            moves.append(("start", (1,)))
    return tuple(moves)


def two_claims_and_a_zombie() -> tuple[Move, ...]:
    """A queue that a zombie's row stands before: both passes see the zombie's key, and neither the claimed row."""
    return (
        *((name, ()) for name in DESIGN[:7]),
        *(("queues-1", (owner,)) for owner in range(3)),
        ("crash", (2, 1)),
        *_procedure(2, listed=False),
        ("claim", (0, 2, -1, 1)),
        ("zombie_ships", (2, 0, 0)),
        ("queues-2", (0,)),
        ("crash", (1, 1)),
        *_procedure(1, listed=False),
        ("claim", (0, 1, 2, 0)),
        ("queues-2", (1,)),
        ("queues-2", (2,)),
        *((name, ()) for name in DESIGN[9:]),
    )


def _procedure(server: int, *, listed: bool) -> list[Move]:
    """A crash procedure up to its claims; nobody can see the split once the files are listed."""
    split: list[Move] = [] if listed else [("split_logs", (server,))]
    return [
        ("submit", (server, 0)),
        *split,
        ("remove_directory", (server, 0)),
        ("assign_queues", (server,)),
        ("add_missing_queue", (server, 0)),
    ]


def _end(server: int, claims: Claims, *, slowly: bool) -> list[Move]:
    """A crash procedure ends, and may be forgotten."""
    ended: list[Move] = [("finish", (server,))]
    return [*ended, ("forget", (server, int(not slowly)))] if server in claims.forgotten else ended


def claims_between_first_pass_and_look(order: Sequence[str]) -> tuple[Move, ...]:
    """The same three claims; the second comes after a first pass that precedes the look at crash procedures."""
    between: dict[str, list[Move]] = {
        "files/0": [("crash", (4, 0)), *_procedure(4, listed=False), ("claim", (0, 4, -1, 0))],
        "queues-1/0": [("start", (1,))],
        "queues-1/2": [("claim", (0, 4, 2, 1))],
        "proof/0": [
            ("finish", (4,)),
            ("start", (3,)),
            ("crash", (1, 0)),
            *_procedure(1, listed=True),
            ("claim", (0, 1, 2, 3)),
            ("claim", (0, 1, -1, 0)),
            ("recovered_ships", (0, 0, 1, 0)),
            ("finish", (1,)),
            ("crash", (3, 0)),
            *_procedure(3, listed=True),
            ("claim", (0, 3, -1, 0)),
            ("recovered_ships", (0, 0, 3, 0)),
        ],
        "queues-2/3": [("claim", (0, 3, 2, 0))],
    }
    moves: list[Move] = []
    for name in order:
        for owner in range(5) if name in QUEUES else (0,):
            moves += between.get(f"{name}/{owner}", [])
            moves.append((name, (owner,) if name in QUEUES else ()))
    return tuple(moves)


Told = tuple[Scope, Callable[[Sequence[str]], tuple[Move, ...]]]
_ALL = (1, 3, 4)


def _forgetful(claims: Claims) -> Told:
    return FORGETFUL, lambda order: three_claims(claims, order)


HISTORIES: dict[str, Told] = {
    "ended-crashes-unread": (LATE_CLAIMERS, lambda order: three_claims(Claims(), order)),
    "quiet-ignored": (LATE_CLAIMERS, lambda order: three_claims(Claims(), order)),
    "quiet-without-crashing": (LATE_CLAIMERS, lambda order: three_claims(Claims(), order)),
    "no-second-membership": (LATE_CLAIMERS, lambda order: three_claims(Claims(), order)),
    "crashing-2-before-pass-2": (LATE_CLAIMERS, lambda order: three_claims(Claims(), order)),
    "queues-before-procedures": (LATE_CLAIMERS, claims_between_first_pass_and_look),
    "quiet-for-ever": (SLOW, lambda order: three_claims(Claims(forgotten=(1, 3)), order, slowly=True)),
    "no-online": _forgetful(Claims(first_lives=True, forgotten=_ALL)),
    "online-2-before-pass-2": _forgetful(Claims(last_early=True, forgotten=_ALL)),
    "quiet-without-left": _forgetful(Claims(first_lives=True, forgotten=_ALL)),
    "quiet-without-owners": _forgetful(Claims(first_keeps=True, forgotten=_ALL)),
    "quiet-without-keys": _forgetful(Claims(kept=True, forgotten=_ALL)),
    "ended-counts-as-unfinished": _forgetful(Claims(first_ends=True, forgotten=(1, 3))),
    "last-pass-counts": (LATE_ZOMBIE, lambda _: two_claims_and_a_zombie()),
    "minus-one-is-small": (LATE_ZOMBIE, lambda _: two_claims_and_a_zombie()),
}
"""By the name of the mutant that they find out."""
SECOND_FORM: Told = (LATE_CLAIMERS, lambda order: three_claims(Claims(first_expired=True), order))
"""The other history that only the reading of ended crash procedures finds restless."""
STILL_LOST: dict[str, Told] = {
    "first form": _forgetful(Claims(forgotten=_ALL)),
    "second form": _forgetful(Claims(first_expired=True, forgotten=_ALL)),
}
"""What the design loses where the master is set to forget at once (`hbase.procedure.cleaner.evict.ttl`)."""
