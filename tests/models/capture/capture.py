"""The capture as atomic reads: what each of them would be answered at this instant."""

from typing import NamedTuple

from tests.models.capture.servers import Listing
from tests.models.capture.world import (
    ADD_REFRESHING,
    ADD_SUBMITTED,
    COPIED,
    CRASHING,
    DEAD,
    EXPIRED,
    MIGRATING,
    NO_DIRECTORY,
    NO_MIGRATION,
    ONLINE,
    STORED,
    WAITING,
    World,
)


class ServerLook(NamedTuple):
    """The master's lists of servers, a bit each.

    Attributes:
        online: the online ones.
        dead: the dead ones.
    """

    online: int = 0
    dead: int = 0


class CrashLook(NamedTuple):
    """Servers of the crash procedures that are unfinished, a bit each.

    Attributes:
        plain: ServerCrashProcedures.
        hbck: HBCKServerCrashProcedures.
    """

    plain: int = 0
    hbck: int = 0


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


def servers(world: World) -> ServerLook:
    """The online and the dead list; a master that loads has not heard of anybody yet.

    The real reading asks for the dead ones first: what dies between the two answers could only move queues later.
    """
    online = dead = 0
    if world.loaded:
        for number, life in enumerate(world.lives):
            if life.status == ONLINE:
                online |= 1 << number
            elif life.status in (EXPIRED, CRASHING, DEAD):
                dead |= 1 << number
    return ServerLook(online, dead & ~world.unlisted & ~_replaced(world))


def _replaced(world: World) -> int:
    """Lives at whose address another one has come up: `DeadServer.cleanPreviousInstance` strikes them off."""
    replaced = 0
    for life in world.lives:
        if life.status != WAITING:
            replaced |= life.earlier
    return replaced


def crashing(world: World) -> CrashLook:
    """The crash procedures in `getProcedures` that have not ended; none while it loads."""
    unfinished = [0, 0]
    if world.loaded:
        for number, life in enumerate(world.lives):
            if life.status == CRASHING:
                unfinished[life.hbck] |= 1 << number
    return CrashLook(*unfinished)


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
