"""The cluster at one instant as a frozen value, and the ground truth: what its peers still need.

Names are HBase's. Numbers identify servers, peers and WALs; `tests.models.capture.names` gives them names.
"""

from typing import NamedTuple

from tests.models.capture.scope import NO_OFFSET, Offsets, Scope

WAITING, ONLINE, EXPIRED, CRASHING, DEAD = range(5)
"""A life: not started; on the online list; off it, no crash procedure yet; crash procedure unfinished; finished."""
NO_DIRECTORY, PLAIN, SPLITTING = range(3)
"""`WALs/<server>`: absent, there, renamed to `-splitting`."""
SUBMITTED, RENAMED, SPLIT, REMOVED, ASSIGNING = range(5)
"""Steps of ServerCrashProcedure: submitted; directory renamed; WALs archived; directory gone; queues (its child)."""
ABSENT, STORED = range(2)
"""A peer in the peer storage."""
IDLE, ADD_SUBMITTED, ADD_REFRESHING, REMOVE_QUEUES, TO_STANDBY, FROM_STANDBY = range(6)
"""A peer's own procedure: none; AddPeer before and after the storage; RemovePeer after it; sync state transitions."""
NO_MIGRATION, ZK_ONLY, MIGRATING, COPIED = range(4)
"""Queues in ZooKeeper: none; there and no procedure says so; procedure running; rows copied and znodes gone."""
OWN = -1
"""Source of a normal queue: its owner."""
UNLIMITED = -1
"""Rows that a saved scan keeps: all."""
NOTHING = 1 << 30
"""First WAL needed of a group of which nothing is needed."""

Row = tuple[int, int, int, Offsets]
"""Peer, owner, source (or OWN), offsets; a tuple of them in scan order is the table."""


class Life(NamedTuple):
    """One life of one region server.

    Attributes:
        status: one of WAITING to DEAD.
        directory: the state of its `WALs/` directory.
        created: the number of WALs of each group so far; the last one is open while the server lives.
        archived: how many of them are in oldWALs.
        step: the step of the crash procedure.
        todo: the peers whose missing queues the crash procedure has not checked yet, a bit for each.
        hbck: whether the crash procedure is an HBCKServerCrashProcedure.
        memory: the offsets of a server that was given up, by peer; None = it does not write any more; empty = it is no
            zombie.
        done: the peers that have received all of a zombie's WALs, a bit for each, whatever row it writes afterwards.
        earlier: the lives that had its address before it, a bit for each.
    """

    status: int
    directory: int
    created: tuple[int, ...]
    archived: tuple[int, ...]
    step: int = SUBMITTED
    todo: int = 0
    hbck: bool = False
    memory: tuple[Offsets | None, ...] = ()
    done: int = 0
    earlier: int = 0


class PeerState(NamedTuple):
    """The state of one peer id.

    Attributes:
        status: whether the peer is in the peer storage.
        procedure: one of IDLE to FROM_STANDBY.
        refreshed: the online servers that know the peer, a bit for each.
        since: for each life and group, the first WAL with entries written while the peer existed.
        enabled: whether its queues advance.
        standby: whether its synchronous replication state is STANDBY, so that there is nothing to ship.
    """

    status: int
    procedure: int
    refreshed: int
    since: tuple[tuple[int, ...], ...]
    enabled: bool = True
    standby: bool = False


class Budget(NamedTuple):
    """How often each thing may still happen."""

    crashes: int
    adds: int
    removes: int
    toggles: int
    transits: int
    failovers: int
    cleans: int


class CleanerRun(NamedTuple):
    """A run of HMaster's ReplicationLogCleaner in `preClean`: the answers that it has read, in its order.

    -1 = not read yet.
    """

    online: int = -1
    crashing: int = -1
    peers: int = -1
    rows: tuple[Row, ...] | None = None


class World(NamedTuple):
    """The cluster at one instant.

    Attributes:
        lives: the region servers by number.
        rows: the rows of `hbase:replication`, in scan order.
        peers: the peers by number.
        master: the number of the active master; each fail-over adds one.
        loaded: whether the master is initialized; while it is loading it reports no procedures.
        migration: one of NO_MIGRATION to COPIED.
        znodes: the queues that are only in ZooKeeper.
        synced: the dead servers with a flag file of ReplicationSyncUp, a bit for each.
        unlisted: the dead servers that the master does not list as dead, a bit for each.
        gone: the WALs (server, group, number) that HMaster's cleaner has deleted.
        cleaner: the run of the cleaner, or None; the barrier is RUNNING meanwhile.
        budget: how often each thing may still happen.
        room: the number of rows that a saved scan keeps from now on.
    """

    lives: tuple[Life, ...]
    rows: tuple[Row, ...]
    peers: tuple[PeerState, ...]
    master: int
    loaded: bool
    migration: int
    znodes: tuple[Row, ...]
    synced: int
    unlisted: int
    gone: tuple[tuple[int, int, int], ...]
    cleaner: CleanerRun | None
    budget: Budget
    room: int = UNLIMITED


def first_world(scope: Scope) -> World:
    """Returns the cluster at the beginning of a history."""
    lives, rows = [], []
    for number, plan in enumerate(scope.servers):
        created = (plan.wals,) * scope.groups
        if plan.waits:
            none = (0,) * scope.groups
            earlier = sum(1 << other for other in range(number) if scope.servers[other].host == plan.host)
            lives.append(Life(WAITING, NO_DIRECTORY, none, none, earlier=earlier))
            continue
        if plan.dead:
            lives.append(Life(DEAD, NO_DIRECTORY, created, created))
        else:
            lives.append(Life(ONLINE, PLAIN, created, (plan.archived,) * scope.groups))
        if plan.row is not None:
            owner = number if plan.owner is None else plan.owner
            source = OWN if plan.owner is None else number
            rows += [
                (peer, owner, source, (plan.row,) * scope.groups) for peer, there in enumerate(scope.peers) if there
            ]
    everyone = sum(1 << number for number, life in enumerate(lives) if life.status == ONLINE)
    nothing = tuple((0,) * scope.groups for _ in lives)
    peers = tuple(
        PeerState(STORED, IDLE, everyone, nothing) if there else PeerState(ABSENT, IDLE, 0, nothing)
        for there in scope.peers
    )
    in_zookeeper = [row for row in rows if scope.migration and lives[row[1]].status == DEAD]
    return World(
        lives=tuple(lives),
        rows=tuple(sorted(row for row in rows if row not in in_zookeeper)),
        peers=peers,
        master=0,
        loaded=not scope.loading,
        migration=ZK_ONLY if scope.migration else NO_MIGRATION,
        znodes=tuple(sorted(in_zookeeper)),
        synced=0,
        unlisted=sum(1 << number for number, life in enumerate(lives) if life.status == DEAD),
        gone=(),
        cleaner=None,
        budget=Budget(
            scope.crashes, scope.adds, scope.removes, scope.toggles, scope.transits, scope.failovers, scope.cleaner
        ),
    )


def with_life(world: World, number: int, life: Life) -> World:
    """Returns the world with one life replaced."""
    return world._replace(lives=(*world.lives[:number], life, *world.lives[number + 1 :]))


def with_peer(world: World, number: int, peer: PeerState) -> World:
    """Returns the world with one peer replaced."""
    return world._replace(peers=(*world.peers[:number], peer, *world.peers[number + 1 :]))


def with_row(world: World, row: Row) -> World:
    """Returns the world with one row put: its cells replace those of the same groups, cells of other groups stay."""
    rows = {entry[:3]: entry for entry in world.rows}
    old = rows.get(row[:3])
    if old is not None:
        row = (*row[:3], tuple(new if new != NO_OFFSET else was for was, new in zip(old[3], row[3], strict=True)))
    rows[row[:3]] = row
    return world._replace(rows=tuple(sorted(rows.values())))


def without_row(world: World, row: Row) -> World:
    """Returns the world with one row deleted."""
    return world._replace(rows=tuple(entry for entry in world.rows if entry != row))


def source_of(row: Row) -> int:
    """Returns the server whose WALs the row concerns."""
    return row[1] if row[2] == OWN else row[2]


def find_row(world: World, peer: int, owner: int, source: int) -> Row | None:
    """Returns the row with that key; None = there is no such row."""
    return next((row for row in world.rows if row[:3] == (peer, owner, source)), None)


def need_of(offset: int) -> int:
    """Returns the number of the first WAL that an offset still needs."""
    return (offset + 1) // 2 if offset != NO_OFFSET else 0


def first_needed(world: World, peer: int, server: int, group: int) -> int:
    """Returns the first WAL of a server's group of which the peer still needs an entry, or NOTHING: the ground truth.

    A row counts whoever owns it: after a crash some server would go on from there. If a server is not fully dead and
    has no row, its queue is in its memory, or the crash procedure still has to write it: everything written while the
    peer existed is needed. A fully dead server without a row is finished.
    """
    state = world.peers[peer]
    if state.status != STORED or state.standby:
        return NOTHING
    since, life = state.since[server][group], world.lives[server]
    if life.done >> peer & 1:
        return NOTHING
    needs = [need_of(row[3][group]) for row in world.rows + world.znodes if row[0] == peer and source_of(row) == server]
    if needs:
        return max(since, min(needs))
    if life.status == DEAD or (life.status == CRASHING and life.step == ASSIGNING and not life.todo >> peer & 1):
        return NOTHING
    return since


def is_needed(world: World, wal: tuple[int, int, int]) -> bool:
    """Returns whether any peer still needs an entry of a WAL (server, group, number)."""
    server, group, number = wal
    return any(number >= first_needed(world, peer, server, group) for peer in range(len(world.peers)))
