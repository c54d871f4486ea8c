"""Contains written histories for cases that a search would take too long to find: three crashes within one capture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.models.capture.game import DESIGN, QUEUES
from tests.models.capture.scope import Scope, ServerPlan
from tests.models.capture.turns import Move

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
UNASKED = replace(LATE_CLAIMERS, name="late-claimers-unasked", unasked=True)
"""The same, captured by a program that does not ask who died."""
COMES_BACK = Scope(
    "late-claimer-comes-back",
    (
        ServerPlan(1, row=0),
        ServerPlan(2, waits=True),
        ServerPlan(2, startcode=2, waits=True),
        ServerPlan(2, startcode=3, waits=True),
        ServerPlan(3, archived=1, dead=True, owner=5, row=0),
        ServerPlan(5, row=0),
    ),
    crashes=3,
    rolls=False,
)
"""Both claimers in between are lives at one address, and a third one strikes the last of them off the dead list."""
LATE_ZOMBIE = Scope(
    "late-zombie",
    (ServerPlan(1, row=0), ServerPlan(2, row=0), ServerPlan(3, wals=2, archived=1, row=0)),
    crashes=2,
    rolls=False,
    zombies=True,
)
WRITTEN: dict[str, Scope] = {scope.name: scope for scope in (LATE_CLAIMERS, UNASKED, COMES_BACK, LATE_ZOMBIE)}


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that servers play when a queue slips past both passes; the last owner is server 0.

    Attributes:
        source: the dead server whose queue it is.
        first: the server that has the queue at the beginning.
        second: the server that claims it from the first one, after the first pass has gone by.
        third: the server that claims it from the second one, before the second pass reaches it.
        after: the server that starts when the third one has died; None = no server.
    """

    source: int = 2
    first: int = 4
    second: int = 1
    third: int = 3
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Claims:
    """How the three crashes look to the capture.

    Attributes:
        parts: which servers play which parts.
        first_lives: whether the first owner is online at the beginning, and its crash procedure ends in time.
        first_expired: whether it is off the online list before the first look, and its crash procedure is submitted
            after it.
        first_keeps: whether its own queue is not claimed before the scans.
        early: whether the second and the third owner are on the first online list.
        third_unfinished: whether the third owner's crash procedure has not ended at the second look.
        kept: whether the queue of the second owner is not shipped before the second scan.
    """

    parts: Parts = Parts()
    first_lives: bool = False
    first_expired: bool = False
    first_keeps: bool = False
    early: bool = False
    third_unfinished: bool = False
    kept: bool = False


def three_claims(claims: Claims, order: Sequence[str] = DESIGN) -> tuple[Move, ...]:
    """Returns the history of a row that slips through both passes of a capture with this order."""
    parts = claims.parts
    source, one, two, three = parts.source, parts.first, parts.second, parts.third
    inside = claims.first_lives or claims.first_expired
    gone: list[Move] = [("crash", (one, 0))]
    first = [*([] if claims.first_expired else gone), *_procedure(one, listed=inside)]
    own = [] if claims.first_keeps else [("claim", (0, one, -1, 0))]
    kept = [("recovered_ships", (0, 0, two, 0))]
    unseen = [*first, *own, ("recovered_ships", (0, 0, one, 0))] if inside else []
    after: list[Move] = [] if parts.after is None else [("start", (parts.after,))]
    between = {
        f"queues-1/{two + 1}": [*unseen, ("claim", (0, one, source, two))],
        "queues-2/0": [
            *([("finish", (one,))] if inside else ()),
            ("crash", (two, 0)),
            *_procedure(two, listed=True),
            *([] if claims.early else [("start", (three,))]),
            ("claim", (0, two, source, three)),
            ("claim", (0, two, -1, 0)),
            *([] if claims.kept else kept),
            ("finish", (two,)),
        ],
        f"queues-2/{three}": [
            ("crash", (three, 0)),
            *_procedure(three, listed=True),
            ("claim", (0, three, source, 0)),
            ("claim", (0, three, -1, 0)),
            ("recovered_ships", (0, 0, three, 0)),
            *([] if claims.third_unfinished else [("finish", (three,))]),
            *after,
        ],
    }
    moves: list[Move] = []
    if claims.early:
        moves += [("start", (two,)), ("start", (three,))]
    moves += gone if claims.first_expired else [] if inside else [*first, *own]
    for name in order:
        for owner in range(max(source, one) + 1) if name in QUEUES else (0,):
            moves += between.get(f"{name}/{owner}", [])
            moves.append((name, (owner,) if name in QUEUES else ()))
        if not claims.early and (name == "online" or (name == "files" and "online" not in order)):
            moves.append(("start", (two,)))
    return tuple(moves)


def two_claims_and_a_zombie() -> tuple[Move, ...]:
    """Returns the history of a queue whose key comes after a zombie's row: both passes see the zombie's key.

    Neither pass sees the claimed row.
    """
    return (
        *((name, ()) for name in DESIGN[: DESIGN.index("queues-1")]),
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
        *((name, ()) for name in DESIGN[DESIGN.index("online-2") :]),
    )


def _procedure(server: int, *, listed: bool) -> list[Move]:
    """Returns the moves of a crash procedure up to its claims; once the files are listed, nobody can see the split."""
    split: list[Move] = [] if listed else [("split_logs", (server,))]
    return [
        ("submit", (server, 0)),
        *split,
        ("remove_directory", (server, 0)),
        ("assign_queues", (server,)),
        ("add_missing_queue", (server, 0)),
    ]


def claims_between_first_pass_and_look(order: Sequence[str]) -> tuple[Move, ...]:
    """Returns the history of the same three claims, with the second claim after the first pass.

    In this order the first pass precedes the look at crash procedures.
    """
    between: dict[str, list[Move]] = {
        "files/0": [("crash", (4, 0)), *_procedure(4, listed=False), ("claim", (0, 4, -1, 0))],
        "queues-1/0": [("start", (1,))],
        "queues-1/2": [("claim", (0, 4, 2, 1))],
        "master/0": [
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


ConditionText = tuple[Scope, Callable[[Sequence[str]], tuple[Move, ...]]]


def _told(claims: Claims, scope: Scope = LATE_CLAIMERS) -> ConditionText:
    return scope, lambda order: three_claims(claims, order)


_BACK = Claims(Parts(source=4, first=5, second=1, third=2, after=3))

HISTORIES: dict[str, ConditionText] = {
    "dead-unread": _told(Claims()),
    "new-uncounted": _told(_BACK, COMES_BACK),
    "quiet-ignored": _told(Claims()),
    "quiet-without-crashing": _told(Claims()),
    "no-second-membership": _told(Claims()),
    "queues-before-procedures": (UNASKED, claims_between_first_pass_and_look),
    "crashing-2-before-pass-2": _told(Claims(third_unfinished=True), UNASKED),
    "no-online": _told(Claims(first_lives=True)),
    "online-2-before-pass-2": _told(Claims(early=True)),
    "quiet-without-left": _told(Claims(first_lives=True), UNASKED),
    "quiet-without-owners": _told(Claims(first_keeps=True), UNASKED),
    "quiet-without-keys": _told(Claims(kept=True), UNASKED),
    "last-pass-counts": (LATE_ZOMBIE, lambda _: two_claims_and_a_zombie()),
    "minus-one-is-small": (LATE_ZOMBIE, lambda _: two_claims_and_a_zombie()),
}
"""By the name of the mutant that they find out."""
SECOND_FORM: ConditionText = _told(Claims(first_expired=True))
"""The other history that only the list of dead servers finds restless."""
STILL_LOST: dict[str, ConditionText] = {
    "first form": _told(Claims(), UNASKED),
    "second form": _told(Claims(first_expired=True), UNASKED),
}
"""What a snapshot of another program may lose, which does not ask who came and died."""
