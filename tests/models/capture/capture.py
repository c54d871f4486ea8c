"""Models the capture as atomic reads: each function returns the answer to one read at this instant."""

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
    """The master's lists of servers, a bit for each server.

    Attributes:
        online: the online servers.
        dead: the dead servers.
    """

    online: int = 0
    dead: int = 0


class CrashLook(NamedTuple):
    """The servers of the unfinished crash procedures, a bit for each server.

    Attributes:
        plain: the servers of ServerCrashProcedures.
        hbck: the servers of HBCKServerCrashProcedures.
    """

    plain: int = 0
    hbck: int = 0


class Flags(NamedTuple):
    """The values of the master's flags."""

    add_peer: bool
    migration: bool
    znodes: bool


def list_files(world: World) -> Listing:
    """Returns the files of oldWALs; one read, because an earlier read would only list fewer files."""
    return tuple(
        (server, group, number)
        for server, life in enumerate(world.lives)
        for group, archived in enumerate(life.archived)
        for number in range(archived)
        if (server, group, number) not in world.gone
    )


def wal_directories(world: World) -> int:
    """Returns the servers with a directory below `WALs/`, a bit for each."""
    return sum(1 << number for number, life in enumerate(world.lives) if life.directory != NO_DIRECTORY)


def servers(world: World) -> ServerLook:
    """Returns the online and the dead list; a master that is loading knows no server yet.

    The real reading asks for the dead servers first: a server that dies between the two answers could only move queues
    later.
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
    """Returns the lives whose address another life has taken: `DeadServer.cleanPreviousInstance` removes them."""
    replaced = 0
    for life in world.lives:
        if life.status != WAITING:
            replaced |= life.earlier
    return replaced


def crashing(world: World) -> CrashLook:
    """Returns the unfinished crash procedures of `getProcedures`; none while the master is loading."""
    unfinished = [0, 0]
    if world.loaded:
        for number, life in enumerate(world.lives):
            if life.status == CRASHING:
                unfinished[life.hbck] |= 1 << number
    return CrashLook(*unfinished)


def stored_peers(world: World) -> int:
    """Returns the peer list, a bit for each peer; it is empty while the master is loading."""
    return sum(1 << number for number, peer in enumerate(world.peers) if peer.status == STORED) if world.loaded else 0


def flags(world: World) -> Flags:
    """Returns the flags that procedures and znodes show."""
    adding = any(peer.procedure in (ADD_SUBMITTED, ADD_REFRESHING) for peer in world.peers)
    migrating = world.migration in (MIGRATING, COPIED)
    znodes = world.migration not in (NO_MIGRATION, COPIED)
    return Flags(world.loaded and adding, world.loaded and migrating, znodes)


def rows_of_owner(world: World, owner: int) -> tuple[tuple[int, int, int, tuple[int, ...]], ...]:
    """Returns the part of a scan with the rows of one owner.

    A scanner that restarts sees each part at another instant.
    """
    return tuple(row for row in world.rows if row[1] == owner)


def named_master(world: World) -> int:
    """Returns the active master, which says its name also while it is loading."""
    return world.master


def proof(world: World) -> bool | None:
    """Returns True if the active master is initialized; otherwise the RPC is refused, and the capture asks again."""
    return True if world.loaded else None


def active_master(world: World) -> int | None:
    """Returns the active master if it is initialized: name and proof in one read.

    This is the last read of a capture, and the real one asks for the name first. What happens between its two answers
    changes no other answer, and a master that has proven it once stays initialized.
    """
    return world.master if world.loaded else None
