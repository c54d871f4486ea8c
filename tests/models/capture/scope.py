"""How large a cluster the search may play with: servers, peers, and how often each thing may happen."""

from dataclasses import dataclass

Offsets = tuple[int, ...]
"""Offset of a queue row per WAL group: `2 * k` = somewhere in WAL k, `2 * k + 1` = WAL k is finished (-1)."""
NO_OFFSET = -1
"""The row has no cell for the group, so it needs all of it."""


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """One life of one region server.

    Attributes:
        host: number of its host; two lives on one host differ in start code.
        startcode: start code; also says how its WALs are numbered.
        waits: it has not started yet.
        wals: WALs that each group has at the beginning; the last one is open.
        archived: how many of them are in oldWALs already.
        dead: its crash procedure has ended; its row, if any, was claimed by server `owner`.
        owner: index of the server that has the recovered queue; None = it was all shipped.
        row: offset of its queue in each group, for every peer that exists; None = never written (offsets are lazy).
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
        name: how the command line and docs/proof.md call it.
        servers: lives, in the order of their queue rows.
        peers: for each peer id whether it exists at the beginning.
        groups: WAL groups of each server.
        max_wals: a group never has more WALs.
        crashes: servers that may crash.
        rolls: whether live servers roll WALs.
        ships: whether queues advance.
        adds: how many AddPeer procedures may run.
        removes: how many RemovePeer procedures may run.
        toggles: how often a peer may be disabled or enabled.
        transits: how often a peer may go to STANDBY and back.
        failovers: how often another master may take over.
        loading: the master is still loading at the beginning.
        leftovers: `WALs/<server>-splitting` may stay after the split.
        hbck: the crash procedure may be an HBCKServerCrashProcedure.
        zombies: a server taken for dead may still write one offset.
        cleaner: HMaster's own cleaner runs, so many times.
        migration: unclaimed queues of dead servers are in ZooKeeper, and the migration procedure is not submitted yet.
        unasked: the capture is another program's, which does not ask for dead servers and does not count new ones.
        gap: a server that crashes is off the online list before its crash procedure is submitted.
        sync_up: ReplicationSyncUp may run while no server is online and no master is loaded.
        cuts: the queues come from saved scans, which may be cut behind any row.
        late: steps that another host takes behind all others, and stamps as if they had been taken in order: its clock
            is behind.
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
