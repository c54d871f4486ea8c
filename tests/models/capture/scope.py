"""Defines how large a cluster the search may play with: servers, peers, and how often each thing may happen."""

from dataclasses import dataclass

Offsets = tuple[int, ...]
"""Offset of a queue row per WAL group: `2 * k` = somewhere in WAL k, `2 * k + 1` = WAL k is finished (-1)."""
NO_OFFSET = -1
"""The row has no cell for the group, so it needs all of it."""


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """One life of one region server.

    Attributes:
        host: the number of the server's host; two lives on one host differ in start code.
        startcode: the start code; it also determines how the server's WALs are numbered.
        waits: whether the server has not started yet.
        wals: the number of WALs of each group at the beginning; the last one is open.
        archived: how many of these WALs are in oldWALs already.
        dead: whether its crash procedure has ended; then server `owner` has claimed its row, if there is one.
        owner: the index of the server that has the recovered queue; None = everything was shipped.
        row: the offset of its queue in each group, for every peer that exists; None = never written (offsets are lazy).
    """

    host: int
    startcode: int = 1
    waits: bool = False
    wals: int = 1
    archived: int = 0
    dead: bool = False
    owner: int | None = None
    row: int | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What may happen in one search.

    Attributes:
        name: the name of the scope on the command line and in docs/proof.md.
        servers: the lives, in the order of their queue rows.
        peers: for each peer id whether it exists at the beginning.
        groups: the number of WAL groups of each server.
        max_wals: the largest number of WALs of a group.
        crashes: the servers that may crash.
        rolls: whether live servers roll WALs.
        ships: whether queues advance.
        adds: how many AddPeer procedures may run.
        removes: how many RemovePeer procedures may run.
        toggles: how often a peer may be disabled or enabled.
        transits: how often a peer may change to STANDBY and back.
        failovers: how often another master may take over.
        loading: whether the master is still loading at the beginning.
        leftovers: whether `WALs/<server>-splitting` may stay after the split.
        hbck: whether the crash procedure may be an HBCKServerCrashProcedure.
        zombies: whether a server that was given up may still write one offset.
        cleaner: how many times HMaster's own cleaner runs.
        migration: whether unclaimed queues of dead servers are in ZooKeeper, and the migration procedure is not
            submitted yet.
        unasked: whether the capture is another program's, which does not ask for dead servers and does not count new
            ones.
        gap: whether a server that crashes is off the online list before its crash procedure is submitted.
        sync_up: whether ReplicationSyncUp may run while no server is online and no master is loaded.
        cuts: whether the queues come from saved scans, which may be cut after any row.
        late: the steps that another host takes after all others, and stamps as if they had been taken in order: its
            clock is behind.
    """

    name: str
    servers: tuple[ServerPlan, ...]
    peers: tuple[bool, ...] = (True,)
    groups: int = 1
    max_wals: int = 2
    crashes: int = 1
    rolls: bool = True
    ships: bool = True
    adds: int = 0
    removes: int = 0
    toggles: int = 0
    transits: int = 0
    failovers: int = 0
    loading: bool = False
    leftovers: bool = False
    hbck: bool = False
    zombies: bool = False
    cleaner: int = 0
    migration: bool = False
    sync_up: bool = False
    unasked: bool = False
    gap: bool = True
    cuts: bool = False
    late: tuple[str, ...] = ()
