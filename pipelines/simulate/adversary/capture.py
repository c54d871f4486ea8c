"""The capture as atomic reads: what each of them would be answered at this instant."""

from typing import NamedTuple

from pipelines.simulate.adversary.servers import Listing
from pipelines.simulate.adversary.world import (
    ADD_REFRESHING,
    ADD_SUBMITTED,
    COPIED,
    CRASHING,
    DEAD,
    MIGRATING,
    NO_DIRECTORY,
    NO_MIGRATION,
    ONLINE,
    STORED,
    World,
)


class CrashLook(NamedTuple):
    """Servers of the crash procedures that the master lists, a bit each.

    Attributes:
        plain: unfinished.
        hbck: unfinished HBCKServerCrashProcedures.
        ended: ended and remembered.
        ended_hbck: HBCK's among those.
        quarters: how often 15 minutes had passed by then.
    """

    plain: int = 0
    hbck: int = 0
    ended: int = 0
    ended_hbck: int = 0
    quarters: int = 0


class Flags(NamedTuple):
    """What the master's flags say."""

    add_peer: bool
    migration: bool
    znodes: bool


def list_files(world: World) -> Listing:
    """Files of oldWALs; one read, since an earlier one would only list fewer."""
    return tuple(
        (server, group, number)
        for server, life in enumerate(world.lives)
        for group, archived in enumerate(life.archived)
        for number in range(archived)
        if (server, group, number) not in world.gone
    )


def wal_directories(world: World) -> int:
    """Servers with a directory below `WALs/`, a bit each."""
    return sum(1 << number for number, life in enumerate(world.lives) if life.directory != NO_DIRECTORY)


def online(world: World) -> int:
    """The online list; a master that loads has not heard of anybody yet."""
    return sum(1 << number for number, life in enumerate(world.lives) if life.status == ONLINE) if world.loaded else 0


def crashing(world: World) -> CrashLook:
    """The crash procedures in `getProcedures`, the ended ones among them; none while it loads."""
    unfinished, ended = [0, 0], [0, 0]
    if world.loaded:
        for number, life in enumerate(world.lives):
            if life.status == CRASHING:
                unfinished[life.hbck] |= 1 << number
            elif life.status == DEAD and not world.forgotten >> number & 1:
                ended[life.hbck] |= 1 << number
    return CrashLook(unfinished[0], unfinished[1], ended[0], ended[1], world.quarters)


def stored_peers(world: World) -> int:
    """The peer list, a bit each; empty in a master that loads."""
    return sum(1 << number for number, peer in enumerate(world.peers) if peer.status == STORED) if world.loaded else 0


def flags(world: World) -> Flags:
    """Procedures and znodes."""
    adding = any(peer.procedure in (ADD_SUBMITTED, ADD_REFRESHING) for peer in world.peers)
    migrating = world.migration in (MIGRATING, COPIED)
    znodes = world.migration not in (NO_MIGRATION, COPIED)
    return Flags(world.loaded and adding, world.loaded and migrating, znodes)


def rows_of_owner(world: World, owner: int) -> tuple[tuple[int, int, int, tuple[int, ...]], ...]:
    """The stretch of a scan that has the rows of one owner; a scanner that restarts sees each at another instant."""
    return tuple(row for row in world.rows if row[1] == owner)


def active_master(world: World) -> int | None:
    """The active master if it is initialized; else the RPC is refused, and capture asks again."""
    return world.master if world.loaded else None
