"""Models region servers: start, roll, archive, ship, crash, and write one last offset after they were given up."""

from collections.abc import Callable, Iterator

from tests.models.capture.scope import NO_OFFSET, Offsets, Scope
from tests.models.capture.world import (
    CRASHING,
    EXPIRED,
    ONLINE,
    OWN,
    PLAIN,
    STORED,
    SUBMITTED,
    WAITING,
    Row,
    World,
    find_row,
    need_of,
    with_life,
    with_peer,
    with_row,
    without_row,
)

Listing = tuple[tuple[int, int, int], ...]
"""Files of oldWALs: server, group, number."""
Action = tuple[Callable[..., World], tuple[int, ...]]
"""An atomic action with its arguments: `action[0](world, *action[1])` is the cluster after it."""


def server_actions(world: World, scope: Scope, listed: Listing | None) -> Iterator[Action]:
    """Yields everything that region servers may do next.

    Args:
        world: the cluster.
        scope: what may happen.
        listed: the WALs that matter, once they are known; then only queues that still need one of them go on.
    """
    for number in range(len(world.lives)):
        yield from actions_of_server(world, scope, listed, number)
    if scope.ships:
        for row in world.rows:
            yield from actions_of_row(world, listed, row)


def actions_of_server(world: World, scope: Scope, listed: Listing | None, number: int) -> Iterator[Action]:
    """Yields the actions that one region server may take next."""
    life = world.lives[number]
    if life.status == WAITING:
        if may_start(world, number):
            yield start, (number,)
    elif life.status == ONLINE:
        if world.budget.crashes and world.loaded:
            yield crash if scope.gap else crash_without_gap, (number, int(scope.zombies))
        yield from _live(world, scope, number, listed)
    elif life.memory:
        for peer, offsets in enumerate(life.memory):
            if offsets is not None:
                yield from ((zombie_ships, (number, peer, group)) for group in range(len(offsets)))


def may_start(world: World, number: int) -> bool:
    """Returns whether a life has not started yet, and no later life at its address has (`checkAndRecordNewServer`)."""
    later = (life for life in world.lives if life.earlier >> number & 1)
    return world.lives[number].status == WAITING and all(life.status == WAITING for life in later)


def actions_of_row(world: World, listed: Listing | None, row: Row) -> Iterator[Action]:
    """Yields the actions that the server that has claimed a queue may take on it next."""
    peer, owner, source, _ = row
    state = world.peers[peer]
    if source != OWN and world.lives[owner].status == ONLINE and state.status == STORED and state.enabled:
        yield recovered_ships, (peer, owner, source, int(_whole_matters(listed, source)))


def _live(world: World, scope: Scope, number: int, listed: Listing | None) -> Iterator[Action]:
    life = world.lives[number]
    for group, created in enumerate(life.created):
        if listed is None:
            if scope.rolls and created < scope.max_wals:
                yield roll, (number, group)
            if life.archived[group] < created - 1:
                yield archive, (number, group)
        for peer in range(len(world.peers)) if scope.ships else ():
            if _ships(world, listed, number, peer, group):
                yield ship, (number, peer, group)


def _ships(world: World, listed: Listing | None, number: int, peer: int, group: int) -> bool:
    """Returns whether a live server's queue of a peer can advance in a group, and whether this makes a difference."""
    state, created = world.peers[peer], world.lives[number].created[group]
    knows = state.status == STORED and state.refreshed >> number & 1
    if not knows or not state.enabled or state.standby:
        return False
    row = find_row(world, peer, number, OWN)
    if row is None or row[3][group] == NO_OFFSET:
        return True
    return row[3][group] < 2 * created - 2 and _matters(listed, number, group, need_of(row[3][group]))


def _matters(listed: Listing | None, server: int, group: int, need: int) -> bool:
    return listed is None or any(wal[0] == server and wal[1] == group and wal[2] >= need for wal in listed)


def _whole_matters(listed: Listing | None, server: int) -> bool:
    return listed is None or any(wal[0] == server for wal in listed)


def start(world: World, server: int) -> World:
    """`HRegionServer.initializeThreads`: a WAL in each group; it knows every peer that is stored by now."""
    life = world.lives[server]
    one, none = (1,) * len(life.created), (0,) * len(life.created)
    world = with_life(world, server, life._replace(status=ONLINE, directory=PLAIN, created=one, archived=none))
    for peer, state in enumerate(world.peers):
        if state.status == STORED:
            world = with_peer(world, peer, state._replace(refreshed=state.refreshed | 1 << server))
    return world


def roll(world: World, server: int, group: int) -> World:
    """`AbstractFSWAL.rollWriter`: nothing is written to the queue table."""
    life = world.lives[server]
    return with_life(world, server, life._replace(created=_more(life.created, group)))


def archive(world: World, server: int, group: int) -> World:
    """`AbstractFSWAL.archive`: the oldest finished WAL is renamed into oldWALs."""
    life = world.lives[server]
    return with_life(world, server, life._replace(archived=_more(life.archived, group)))


def ship(world: World, server: int, peer: int, group: int) -> World:
    """`ReplicationSourceManager.logPositionAndCleanOldLogs`: the next offset, written when something was shipped."""
    row = find_row(world, peer, server, OWN)
    offsets = row[3] if row else (NO_OFFSET,) * len(world.lives[server].created)
    return with_row(world, (peer, server, OWN, _more(offsets, group)))


def recovered_ships(world: World, peer: int, owner: int, source: int, one: int) -> World:
    """A recovered queue finishes its next WAL, or all; its row goes with the last (`RecoveredReplicationSource`)."""
    row = find_row(world, peer, owner, source)
    if row is None:
        return world
    if not one:
        return _finished(world, row)
    created, offsets = world.lives[source].created, row[3]
    for group, offset in enumerate(offsets):
        last = 2 * created[group] - 1
        if offset < last:
            done = (*offsets[:group], offset | 1 if offset % 2 == 0 else offset + 2, *offsets[group + 1 :])
            if any(done[other] < 2 * number - 1 for other, number in enumerate(created)):
                return with_row(world, (peer, owner, source, done))
            break
    return _finished(world, row)


def _finished(world: World, row: Row) -> World:
    """Returns the world without the row; everything is shipped, whatever row a zombie has written or writes later."""
    peer, _, source, _ = row
    world, life = without_row(world, row), world.lives[source]
    others = any(entry[0] == peer and entry[2] == source for entry in world.rows)
    if not life.memory or others:
        return world
    return with_life(world, source, life._replace(done=life.done | 1 << peer))


def crash(world: World, server: int, zombie: int) -> World:
    """`ServerManager.expireServer`, first part: off the online list, and no crash procedure yet."""
    life = world.lives[server]
    memory: tuple[Offsets | None, ...] = ()
    if zombie:
        memory = tuple(_memory(world, server, peer) for peer in range(len(world.peers)))
    world = with_life(world, server, life._replace(status=EXPIRED, memory=memory))
    return world._replace(budget=world.budget._replace(crashes=world.budget.crashes - 1))


def crash_without_gap(world: World, server: int, zombie: int) -> World:
    """The same in one step with the submission of its crash procedure; no HBase does so."""
    world = crash(world, server, zombie)
    return with_life(world, server, world.lives[server]._replace(status=CRASHING, step=SUBMITTED))


def _memory(world: World, server: int, peer: int) -> Offsets | None:
    state = world.peers[peer]
    if state.status != STORED or not state.refreshed >> server & 1:
        return None
    row = find_row(world, peer, server, OWN)
    return row[3] if row else (NO_OFFSET,) * len(world.lives[server].created)


def zombie_ships(world: World, server: int, peer: int, group: int) -> World:
    """A server taken for dead ships on and writes an offset: `setOffset` is a plain put, nothing fences it."""
    life = world.lives[server]
    offsets = life.memory[peer]
    if offsets is None:
        return world
    finished = max(2 * life.created[group] - 3, 0)
    cells = tuple(finished if number == group else NO_OFFSET for number in range(len(offsets)))
    silent = life._replace(memory=(None,) * len(life.memory))
    return with_row(with_life(world, server, silent), (peer, server, OWN, cells))


def _more(numbers: tuple[int, ...], position: int) -> tuple[int, ...]:
    return (*numbers[:position], numbers[position] + 1, *numbers[position + 1 :])
