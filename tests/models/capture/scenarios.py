"""Names the clusters for the searches, and the clusters in which each mutant is looked for."""

from dataclasses import dataclass

from tests.models.capture.scope import Scope, ServerPlan

_LIVE = ServerPlan(2)
_BEHIND = ServerPlan(1, wals=2, archived=1)
"""A live server with one WAL in oldWALs and no queue row yet: offsets are lazy."""
_CLAIMED = (
    ServerPlan(1, wals=2, archived=2, dead=True, owner=2, row=0),
    ServerPlan(2, row=0),
    ServerPlan(3, row=0),
)
"""A queue of a dead server, claimed by the last one."""

SCOPES: dict[str, Scope] = {
    scope.name: scope
    for scope in (
        Scope("crash", (_BEHIND, _LIVE), rolls=False),
        Scope("two-peers", (_BEHIND, ServerPlan(2, row=0)), peers=(True, True), rolls=False, ships=False),
        Scope(
            "two-peers-three-servers",
            (_BEHIND, ServerPlan(2, row=0), ServerPlan(3, row=0)),
            peers=(True, True),
            rolls=False,
            ships=False,
        ),
        Scope(
            "two-peers-two-crashes",
            (_BEHIND, ServerPlan(2, row=0)),
            peers=(True, True),
            crashes=2,
            rolls=False,
            ships=False,
        ),
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
            (ServerPlan(1, wals=2, archived=2, dead=True, row=1), ServerPlan(2, row=0)),
            rolls=False,
            crashes=0,
            migration=True,
        ),
        Scope("standby", (_BEHIND, _LIVE), rolls=False, crashes=0, transits=1),
        Scope("cleaner", (ServerPlan(1, wals=2, archived=1, row=0), _LIVE), rolls=False, cleaner=1),
        Scope("groups", (_BEHIND, ServerPlan(2, row=0)), rolls=False, groups=2),
        Scope("claimed", _CLAIMED, rolls=False, ships=False),
        Scope("claimed-unasked", _CLAIMED, rolls=False, ships=False, unasked=True),
        Scope(
            "comes-back",
            (
                ServerPlan(1, wals=2, archived=2, dead=True, owner=3, row=0),
                ServerPlan(2, row=0),
                ServerPlan(2, startcode=2, waits=True),
                ServerPlan(3, row=0),
            ),
            rolls=False,
            ships=False,
        ),
        Scope("no-gap", (_BEHIND, _LIVE), rolls=False, gap=False),
        Scope("restart", (_BEHIND, ServerPlan(1, startcode=12, waits=True)), rolls=False, crashes=0),
        Scope("cut-scans", _CLAIMED, crashes=0, rolls=False, ships=False, cuts=True),
        Scope("two-hosts", (ServerPlan(1, row=0),), peers=(True, False), crashes=0, adds=1, late=("files",)),
        Scope("zombie", (ServerPlan(1), ServerPlan(2, wals=2, archived=1, row=0)), rolls=False, zombies=True),
    )
}
"""Small clusters, each with little that can happen, so that a search comes to an end."""

GROUNDS: dict[str, tuple[str, ...]] = {
    "files-after-peers": ("add-peer",),
    "files-last": ("add-peer",),
    "files-after-directories": ("late-server",),
    "peers-first": ("add-peer",),
    "directories-after-membership": ("crash",),
    "membership-backwards": ("crash",),
    "peers-before-membership": ("nothing-shipped",),
    "peers-last": ("nothing-shipped",),
    "one-pass": ("claimed",),
    "first-pass-only": ("claimed",),
    "no-first-flags": ("migration",),
    "no-zk-flag": ("migration",),
    "no-migration-flags": ("migration",),
    "no-first-proof": ("nothing-shipped",),
    "proof-before-name": ("nothing-shipped",),
    "no-second-proof": ("nothing-shipped",),
    "no-proof": ("nothing-shipped",),
    "masters-not-compared": ("nothing-shipped",),
    "exact-class-name": ("hbck",),
    "last-row-counts": ("zombie",),
    "prefix-match": ("restart",),
    "groups-merged": ("groups",),
    "own-queues-only": ("crash", "claimed"),
    "count-ignored": ("cut-scans",),
    "clocks-not-compared": ("two-hosts",),
}
"""Where a mutant is looked for, in this order; the others in `crash`."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The reason why a piece stays although no history loses a WAL without it.

    Attributes:
        scope: the cluster that shows it.
        behind: the mutant without the other piece, which protects in the same way and also loses nothing there.
        both: the mutant without either piece, which loses a WAL. None for both: without the piece, the rule lets a WAL
            go that HBase's own cleaner keeps.
    """

    scope: str
    behind: str | None = None
    both: str | None = None


KEPT: dict[str, Kept] = {
    "directories-after-online": Kept("crash", "procedures-before-online", "membership-backwards"),
    "procedures-before-online": Kept("no-gap", "no-directories", "procedures-before-online-no-directories"),
    "no-second-flags": Kept("add-peer"),
    "no-migration-flag": Kept("migration"),
    "no-add-peer-flag": Kept("add-peer"),
}
"""Mutants that lose nothing in any cluster, each with what shows that its piece is needed."""
