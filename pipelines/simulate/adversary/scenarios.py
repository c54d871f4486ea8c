"""Named clusters for the searches, and histories written down where a search would take too long to find them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.simulate.adversary.game import DESIGN, QUEUES, Move
from pipelines.simulate.adversary.scope import Scope, ServerPlan

_LIVE = ServerPlan(2)
_BEHIND = ServerPlan(1, wals=2, archived=1)
"""A live server with one WAL in oldWALs and no queue row yet: offsets are lazy."""

SCOPES: dict[str, Scope] = {
    scope.name: scope
    for scope in (
        Scope("crash", (_BEHIND, _LIVE), rolls=False),
        Scope("two-peers", (_BEHIND, ServerPlan(2, row=0)), peers=(True, True), rolls=False, ships=False),
        Scope(
            "two-crashes",
            (_BEHIND, ServerPlan(2, row=0), ServerPlan(3, row=0)),
            crashes=2,
            rolls=False,
            ships=False,
        ),
        Scope("crash-first", (ServerPlan(1), ServerPlan(2, wals=2, archived=1)), rolls=False),
        Scope("late-server", (ServerPlan(1, waits=True), ServerPlan(2, row=0)), ships=False),
        Scope("rolls", (ServerPlan(1), _LIVE)),
        Scope("add-peer", (ServerPlan(1, row=0),), peers=(True, False), crashes=0, adds=1),
        Scope(
            "add-peer-crash",
            (ServerPlan(1, row=0, wals=2, archived=1), ServerPlan(2, row=0)),
            peers=(True, False),
            adds=1,
            rolls=False,
            ships=False,
        ),
        Scope("remove-peer", (_BEHIND, _LIVE), peers=(True, False), adds=1, removes=1, crashes=0, rolls=False),
        Scope("hbck", (_BEHIND, ServerPlan(2, row=0)), rolls=False, hbck=True, ships=False),
        Scope("leftovers", (_BEHIND, _LIVE), rolls=False, leftovers=True),
        Scope("failover", (_BEHIND, ServerPlan(2, row=0)), rolls=False, failovers=1, ships=False),
        Scope("loading", (_BEHIND, ServerPlan(2, row=0)), rolls=False, loading=True, ships=False),
        Scope(
            "sync-up",
            (ServerPlan(1, wals=2, archived=1, row=0), ServerPlan(2, waits=True)),
            rolls=False,
            failovers=1,
            sync_up=True,
        ),
        Scope("nothing-shipped", (_BEHIND, _LIVE), rolls=False, ships=False, crashes=0, loading=True, failovers=1),
        Scope(
            "migration",
            (ServerPlan(1, wals=2, archived=2, dead=True, row=0), ServerPlan(2, row=0)),
            rolls=False,
            crashes=0,
            migration=True,
        ),
        Scope("standby", (_BEHIND, _LIVE), rolls=False, crashes=0, transits=1),
        Scope("cleaner", (ServerPlan(1, wals=2, archived=1, row=0), _LIVE), rolls=False, cleaner=1),
        Scope("groups", (_BEHIND, ServerPlan(2, row=0)), rolls=False, groups=2),
        Scope(
            "claimed",
            (
                ServerPlan(1, wals=2, archived=2, dead=True, owner=2, row=0),
                ServerPlan(2, row=0),
                ServerPlan(3, row=0),
            ),
            rolls=False,
            ships=False,
        ),
        Scope("restart", (_BEHIND, ServerPlan(1, startcode=12, waits=True)), rolls=False, crashes=0),
        Scope("zombie", (ServerPlan(1), ServerPlan(2, wals=2, archived=1, row=0)), rolls=False, zombies=True),
    )
}
"""Small clusters, each with little that can happen, so that a search comes to an end."""

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
WRITTEN: dict[str, Scope] = {scope.name: scope for scope in (LATE_CLAIMERS, LATE_ZOMBIE)}


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
    """

    first_lives: bool = False
    first_expired: bool = False
    first_ends: bool = False
    first_keeps: bool = False
    last_early: bool = False
    kept: bool = False


def three_claims(claims: Claims, order: Sequence[str] = DESIGN) -> tuple[Move, ...]:
    """A row that slips through both passes, as the capture of this order would meet it."""
    inside = claims.first_lives or claims.first_expired
    gone: list[Move] = [("crash", (4, 0))]
    first = [*([] if claims.first_expired else gone), *_procedure(4, listed=inside)]
    own = [] if claims.first_keeps else [("claim", (0, 4, -1, 0))]
    kept = [("recovered_ships", (0, 0, 1, 0))]
    unseen = [*first, *own, ("recovered_ships", (0, 0, 4, 0))] if inside else []
    between = {
        "queues-1/2": [*unseen, ("claim", (0, 4, 2, 1))],
        "queues-2/0": [
            *((("finish", (4,)),) if inside or claims.first_ends else ()),
            ("crash", (1, 0)),
            *_procedure(1, listed=True),
            *([] if claims.last_early else [("start", (3,))]),
            ("claim", (0, 1, 2, 3)),
            ("claim", (0, 1, -1, 0)),
            *([] if claims.kept else kept),
            ("finish", (1,)),
        ],
        "queues-2/3": [
            ("crash", (3, 0)),
            *_procedure(3, listed=True),
            ("claim", (0, 3, 2, 0)),
            ("claim", (0, 3, -1, 0)),
            ("recovered_ships", (0, 0, 3, 0)),
            ("finish", (3,)),
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


HISTORIES: dict[str, tuple[Scope, Callable[[Sequence[str]], tuple[Move, ...]]]] = {
    "design": (LATE_CLAIMERS, lambda order: three_claims(Claims(), order)),
    "no-online": (LATE_CLAIMERS, lambda order: three_claims(Claims(first_lives=True), order)),
    "quiet-ignored": (LATE_CLAIMERS, lambda order: three_claims(Claims(first_lives=True), order)),
    "quiet-without-left": (LATE_CLAIMERS, lambda order: three_claims(Claims(first_lives=True), order)),
    "quiet-without-crashing": (LATE_CLAIMERS, lambda order: three_claims(Claims(first_ends=True), order)),
    "quiet-without-owners": (LATE_CLAIMERS, lambda order: three_claims(Claims(first_keeps=True), order)),
    "quiet-without-keys": (LATE_CLAIMERS, lambda order: three_claims(Claims(kept=True), order)),
    "no-second-membership": (LATE_CLAIMERS, lambda order: three_claims(Claims(first_ends=True), order)),
    "online-2-before-pass-2": (LATE_CLAIMERS, lambda order: three_claims(Claims(last_early=True), order)),
    "crashing-2-before-pass-2": (LATE_CLAIMERS, lambda order: three_claims(Claims(first_ends=True), order)),
    "last-pass-counts": (LATE_ZOMBIE, lambda _: two_claims_and_a_zombie()),
    "minus-one-is-small": (LATE_ZOMBIE, lambda _: two_claims_and_a_zombie()),
}
HISTORIES["design-expired"] = (LATE_CLAIMERS, lambda order: three_claims(Claims(first_expired=True), order))
"""By the name of the mutant that they find out; those of `design` and `design-expired` the design itself loses."""
GROUNDS: dict[str, tuple[str, ...]] = {
    "files-after-peers": ("add-peer",),
    "files-last": ("add-peer",),
    "files-after-directories": ("late-server",),
    "peers-first": ("add-peer",),
    "peers-before-membership": ("nothing-shipped",),
    "peers-last": ("nothing-shipped",),
    "one-pass": ("claimed",),
    "first-pass-only": ("claimed",),
    "no-first-flags": ("migration",),
    "no-zk-flag": ("migration",),
    "no-migration-flags": ("migration",),
    "no-first-proof": ("loading", "failover"),
    "no-second-proof": ("failover",),
    "no-proof": ("loading", "failover"),
    "masters-not-compared": ("failover",),
    "exact-class-name": ("hbck",),
    "last-row-counts": ("zombie",),
    "prefix-match": ("restart",),
    "groups-merged": ("groups",),
    "own-queues-only": ("crash", "claimed"),
}
"""Where a mutant is looked for; the others in `crash`, and those that no search finds out in every scope."""
HARMLESS = (
    "directories-after-online",
    "procedures-before-online",
    "queues-before-procedures",
    "no-second-flags",
    "no-migration-flag",
    "no-add-peer-flag",
)
"""Mutants that nothing has found out yet: docs/proof.md says of each what stands in for the missing piece."""
