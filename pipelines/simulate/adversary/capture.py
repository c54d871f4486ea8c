"""The capture as atomic reads: what each of them would be answered at this instant."""

from typing import NamedTuple

from pipelines.simulate.adversary.servers import Listing
from pipelines.simulate.adversary.world import (
    ADD_REFRESHING,
    ADD_SUBMITTED,
    COPIED,
    CRASHING,
    MIGRATING,
    NO_DIRECTORY,
    NO_MIGRATION,
    ONLINE,
    STORED,
    World,
)


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


def crashing(world: World) -> tuple[int, int]:
    """Servers of unfinished crash procedures: plain ones, and HBCKServerCrashProcedures; none while it loads."""
    found = [0, 0]
    if world.loaded:
        for number, life in enumerate(world.lives):
            if life.status == CRASHING:
                found[life.hbck] |= 1 << number
    return found[0], found[1]


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
