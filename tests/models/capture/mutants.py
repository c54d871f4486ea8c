"""Weakens the capture and the rule, each time by one piece that the search must find out.

A mutant is the real thing with one part replaced: an order without a step, a reading that lacks something, or a view
whose rows answer in another way. None of them copies the rule.
"""

from dataclasses import dataclass, replace

from tests.models.capture.game import DESIGN
from tests.models.capture.judge import NOTHING_TAKEN, Weakening
from tests.models.capture.weaken import (
    PREFIX_MATCH,
    AlwaysFinished,
    FinishedNeedsAll,
    LastRowView,
    OtherGroups,
    TextNeed,
    as_row,
    as_view,
    asks_again,
    dead_for_ever,
    dead_unread,
    flag_ignored,
    latest,
    minus_one_is_small,
    new_unseen,
    nobody_left,
    same_crashes,
    strictly_quiet,
    view_with,
)


@dataclass(frozen=True, eq=False)
class Mutant:
    """The capture and the rule, weakened by one piece.

    Attributes:
        name: a short name, for tables and the command line.
        what: what the mutant does instead, for docs/proof.md.
        order: the order of the reads.
        weakening: what is taken away from the rule.
    """

    name: str
    what: str
    order: tuple[str, ...] = DESIGN
    weakening: Weakening = NOTHING_TAKEN


def without(*steps: str) -> tuple[str, ...]:
    """Returns the order of the reads without these steps."""
    return tuple(step for step in DESIGN if step not in steps)


def moved(step: str, before: str | None) -> tuple[str, ...]:
    """Returns the order of the reads with one step just before another one, or at the end."""
    rest = without(step)
    place = len(rest) if before is None else rest.index(before)
    return (*rest[:place], step, *rest[place:])


MUTANTS: tuple[Mutant, ...] = (
    Mutant("files-after-peers", "files listed after the peers", moved("files", "queues-1")),
    Mutant("files-last", "files listed last, as HBase's own cleaner does, without its barrier", moved("files", None)),
    Mutant("files-after-directories", "files listed after `WALs/`", moved("files", "online")),
    Mutant("peers-first", "peers read before the files", moved("peers", "files")),
    Mutant(
        "directories-after-membership",
        "`WALs/` read after online servers and procedures",
        moved("wal_directories", "peers"),
    ),
    Mutant(
        "directories-after-online",
        "`WALs/` read between online servers and procedures",
        moved("wal_directories", "master"),
    ),
    Mutant("no-directories", "`WALs/` not read: HBase's own idea of not fully dead", without("wal_directories")),
    Mutant("procedures-before-online", "crash procedures read before online servers", moved("online", "peers")),
    Mutant(
        "procedures-before-online-no-directories",
        "the same, and `WALs/` not read",
        tuple(step for step in moved("online", "peers") if step != "wal_directories"),
    ),
    Mutant(
        "membership-backwards",
        "procedures, online servers, `WALs/`: the order turned round",
        ("files", "master", "proof", "crashing", "online", "wal_directories", *DESIGN[6:]),
    ),
    Mutant("no-online", "online servers not read", without("online", "online-2")),
    Mutant("no-procedures", "crash procedures not read", without("crashing", "crashing-2")),
    Mutant("peers-before-membership", "peers read before `WALs/`, after the files", moved("peers", "wal_directories")),
    Mutant("peers-last", "peers read last", moved("peers", None)),
    Mutant(
        "membership-after-queues",
        "queues read before `WALs/`, servers and procedures",
        (
            "files",
            "peers",
            "flags",
            "queues-1",
            "queues-2",
            "wal_directories",
            "online",
            "master",
            "proof",
            "crashing",
            "online-2",
            "crashing-2",
            "flags-2",
            "proof-2",
        ),
    ),
    Mutant("queues-before-procedures", "first queue pass before the crash procedures", moved("queues-1", "master")),
    Mutant("one-pass", "one queue pass", without("queues-2")),
    Mutant("online-2-before-pass-2", "second online list before the second pass", moved("online-2", "queues-2")),
    Mutant("crashing-2-before-pass-2", "second procedures before the second pass", moved("crashing-2", "queues-2")),
    Mutant("no-second-membership", "membership read once", without("online-2", "crashing-2", "flags-2")),
    Mutant(
        "no-second-flags",
        "the second flags are not looked at",
        weakening=Weakening(seen=lambda seen: seen._replace(flags_2=seen.flags)),
    ),
    Mutant("no-first-flags", "flags read at the end only", without("flags")),
    Mutant("no-first-proof", "initialization proven at the end only", without("proof")),
    Mutant("proof-before-name", "the first proof before the master's name", moved("proof", "master")),
    Mutant("no-second-proof", "initialization proven at the beginning only", without("proof-2")),
    Mutant("no-proof", "a loading master is believed", without("proof", "proof-2")),
    Mutant(
        "masters-not-compared",
        "the active master may change",
        weakening=Weakening(seen=lambda seen: seen._replace(master_2=seen.master)),
    ),
    Mutant("quiet-ignored", "a capture that was not quiet counts as quiet", weakening=view_with(restless=None)),
    Mutant("quiet-without-left", "a server may leave the online list", weakening=asks_again(nobody_left)),
    Mutant("quiet-without-crashing", "crash procedures may start and end", weakening=asks_again(same_crashes)),
    Mutant("quiet-without-owners", "rows may belong to crashing servers", weakening=asks_again(owners=True)),
    Mutant("quiet-without-keys", "the passes may have different rows", weakening=asks_again(union=True)),
    Mutant("dead-unread", "dead servers are not asked for", weakening=Weakening(seen=dead_unread)),
    Mutant(
        "new-uncounted",
        "a server that is new at the second look hides nobody who died",
        weakening=Weakening(seen=new_unseen),
    ),
    Mutant("crash-ignored", "a crash procedure does not count as life", weakening=view_with(crashing=frozenset())),
    Mutant(
        "exact-class-name",
        "HBCKServerCrashProcedure is not a crash procedure",
        weakening=Weakening(
            seen=lambda seen: seen._replace(
                crashing=seen.crashing._replace(hbck=0),
                crashing_2=seen.crashing_2._replace(hbck=0),
            )
        ),
    ),
    Mutant(
        "alive-ignored",
        "no server counts as alive",
        weakening=view_with(online=frozenset(), crashing=frozenset(), wal_directories=frozenset()),
    ),
    Mutant("no-zk-flag", "queue data in ZooKeeper is not asked for", weakening=flag_ignored("znodes")),
    Mutant("no-migration-flag", "the migration procedure is not looked for", weakening=flag_ignored("migration")),
    Mutant(
        "no-migration-flags",
        "neither is",
        weakening=Weakening(
            seen=lambda seen: seen._replace(
                flags=seen.flags._replace(migration=False, znodes=False),
                flags_2=seen.flags_2._replace(migration=False, znodes=False),
            )
        ),
    ),
    Mutant("no-add-peer-flag", "a running AddPeer is not looked for", weakening=flag_ignored("add_peer")),
    Mutant("last-pass-counts", "of both passes the later offset counts", weakening=Weakening(passes=latest)),
    Mutant(
        "last-row-counts",
        "of several rows of one source the last counts",
        weakening=Weakening(view=lambda view: as_view(LastRowView, view)),
    ),
    Mutant("minus-one-is-small", "-1 counts as a small position", weakening=Weakening(passes=minus_one_is_small)),
    Mutant("any-offset-is-finished", "a position counts as the end of its WAL", weakening=as_row(AlwaysFinished)),
    Mutant("string-order", "timestamps compare as text", weakening=as_row(TextNeed)),
    Mutant(
        "prefix-match",
        "servers and groups match by the beginning of their names",
        weakening=PREFIX_MATCH,
    ),
    Mutant("groups-merged", "a group without an offset takes that of another", weakening=as_row(OtherGroups)),
    Mutant(
        "own-queues-only",
        "recovered queues are not looked at",
        weakening=Weakening(
            view=lambda view: replace(view, rows=tuple(row for row in view.rows if row.queue.source is None))
        ),
    ),
    Mutant(
        "first-pass-only",
        "rows of the first pass only",
        weakening=Weakening(passes=lambda passes: (passes[0], passes[0])),
    ),
    Mutant(
        "count-ignored",
        "a saved scan needs no closing count of its rows",
        weakening=Weakening(counts=False),
    ),
    Mutant(
        "clocks-not-compared",
        "another host's clock may have stamped a step",
        weakening=Weakening(clocks=False),
    ),
    Mutant(
        "hbase-cleaner",
        "HBase's own ReplicationLogCleaner decides, on what walsafe read",
        weakening=Weakening(hbase=True),
    ),
)

TOO_CAUTIOUS: tuple[Mutant, ...] = (
    Mutant("minus-one-needs-all", "-1 counts as nothing shipped", weakening=as_row(FinishedNeedsAll)),
    Mutant("never-quiet", "no capture counts as quiet", weakening=view_with(restless="never")),
    Mutant(
        "dead-for-ever",
        "every server on the dead list counts as one that died in between",
        weakening=Weakening(seen=dead_for_ever),
    ),
    Mutant("add-peer-for-ever", "AddPeer counts as running", weakening=view_with(add_peer_running=True)),
)
"""Mutants that hold too much: they lose nothing, and what is asked of liveness must find them out."""

STRICT = Mutant(
    "strict-quiet",
    "quiet also asks that no crash procedure is unfinished, and that every directory's server is online",
    weakening=Weakening(restless=strictly_quiet),
)
"""No mutant but a proposal: what would close the gap that docs/proof.md tells of."""
