"""Models the peer procedures: AddPeer, RemovePeer, enable and disable, transitions of synchronous replication."""

from collections.abc import Iterator

from tests.models.capture.servers import Action
from tests.models.capture.world import (
    ABSENT,
    ADD_REFRESHING,
    ADD_SUBMITTED,
    FROM_STANDBY,
    IDLE,
    NO_MIGRATION,
    ONLINE,
    OWN,
    REMOVE_QUEUES,
    STORED,
    TO_STANDBY,
    PeerState,
    World,
    with_peer,
    with_row,
)


def peer_actions(world: World) -> Iterator[Action]:
    """Yields everything that peer procedures may do next."""
    if world.loaded:
        for number in range(len(world.peers)):
            yield from actions_of_peer(world, number)


def actions_of_peer(world: World, number: int) -> Iterator[Action]:
    """Yields the next steps of one peer's procedure, or the procedures that may begin."""
    peer, budget = world.peers[number], world.budget
    if peer.procedure != IDLE:
        yield from _procedure(world, number, peer)
    elif world.migration != NO_MIGRATION:
        return
    elif peer.status == ABSENT:
        # refused while rows of the id are left; the barrier waits for a running cleaner
        if budget.adds and world.cleaner is None and not any(row[0] == number for row in world.rows):
            yield submit_add_peer, (number,)
    else:
        if budget.removes:
            yield remove_peer, (number,)
        if budget.toggles:
            yield toggle_peer, (number,)
        if peer.standby:
            yield from_standby, (number,)
        elif budget.transits:
            yield to_standby, (number,)


def _procedure(world: World, number: int, peer: PeerState) -> Iterator[Action]:
    waiting = [
        server for server, life in enumerate(world.lives) if life.status == ONLINE and not peer.refreshed >> server & 1
    ]
    if peer.procedure == ADD_SUBMITTED:
        yield store_peer, (number,)
    elif peer.procedure == ADD_REFRESHING:
        yield from ((refresh_add, (number, server)) for server in waiting)
        if not waiting:
            yield end_procedure, (number,)
    elif peer.procedure == REMOVE_QUEUES:
        yield remove_peer_queues, (number,)
    elif peer.procedure == TO_STANDBY:
        yield from ((drain_sources, (number, server)) for server in waiting)
        if not waiting:
            yield end_procedure, (number,)
    elif peer.procedure == FROM_STANDBY:
        yield end_procedure, (number,)


def submit_add_peer(world: World, peer: int) -> World:
    """AddPeerProcedure is submitted; its PRE step disables the log cleaner's barrier."""
    budget = world.budget._replace(adds=world.budget.adds - 1)
    return with_peer(world._replace(budget=budget), peer, world.peers[peer]._replace(procedure=ADD_SUBMITTED))


def store_peer(world: World, peer: int) -> World:
    """UPDATE_PEER_STORAGE: the peer exists; it owes nobody what was written into WALs closed before."""
    since = tuple(
        tuple(max(created - 1, 0) for created in life.created) if life.status == ONLINE else life.created
        for life in world.lives
    )
    return with_peer(world, peer, PeerState(STORED, ADD_REFRESHING, 0, since))


def refresh_add(world: World, peer: int, server: int) -> World:
    """REFRESH_PEER_ON_RS, `ReplicationSourceManager.addPeer`: offset 0 of the newest WAL of each group."""
    state = world.peers[peer]
    newest = tuple(2 * (created - 1) for created in world.lives[server].created)
    world = with_row(world, (peer, server, OWN, newest))
    return with_peer(world, peer, state._replace(refreshed=state.refreshed | 1 << server))


def end_procedure(world: World, peer: int) -> World:
    """POST_PEER_MODIFICATION: the barrier is enabled, the procedure ends."""
    state = world.peers[peer]
    standby = state.standby and state.procedure != FROM_STANDBY
    return with_peer(world, peer, state._replace(procedure=IDLE, standby=standby))


def remove_peer(world: World, peer: int) -> World:
    """RemovePeerProcedure, UPDATE_PEER_STORAGE and refresh: the peer is gone, its rows are not."""
    state = world.peers[peer]
    budget = world.budget._replace(removes=world.budget.removes - 1)
    gone = state._replace(status=ABSENT, procedure=REMOVE_QUEUES, refreshed=0, standby=False)
    return with_peer(world._replace(budget=budget), peer, gone)


def remove_peer_queues(world: World, peer: int) -> World:
    """POST_PEER_MODIFICATION: every row of the peer is deleted, and the procedure ends."""
    world = world._replace(rows=tuple(row for row in world.rows if row[0] != peer))
    return with_peer(world, peer, world.peers[peer]._replace(procedure=IDLE))


def toggle_peer(world: World, peer: int) -> World:
    """DisablePeer or EnablePeer: queues stand still or go on."""
    budget = world.budget._replace(toggles=world.budget.toggles - 1)
    state = world.peers[peer]
    return with_peer(world._replace(budget=budget), peer, state._replace(enabled=not state.enabled))


def to_standby(world: World, peer: int) -> World:
    """TransitPeerSyncReplicationStateProcedure to STANDBY: writes are refused, all rows of the peer go."""
    budget = world.budget._replace(transits=world.budget.transits - 1)
    rows = tuple(row for row in world.rows if row[0] != peer)
    state = world.peers[peer]._replace(procedure=TO_STANDBY, standby=True, refreshed=0)
    return with_peer(world._replace(budget=budget, rows=rows), peer, state)


def drain_sources(world: World, peer: int, server: int) -> World:
    """`ReplicationSourceManager.drainSources`: each group's newest WAL counts as finished (-1)."""
    state = world.peers[peer]
    finished = tuple(2 * created - 1 for created in world.lives[server].created)
    world = with_row(world, (peer, server, OWN, finished))
    return with_peer(world, peer, state._replace(refreshed=state.refreshed | 1 << server))


def from_standby(world: World, peer: int) -> World:
    """STANDBY to DOWNGRADE_ACTIVE: writes are allowed again, into WALs of their own."""
    lives = tuple(
        life._replace(created=tuple(created + 1 for created in life.created)) if life.status == ONLINE else life
        for life in world.lives
    )
    since = tuple(
        tuple(max(created - 1, 0) for created in life.created) if life.status == ONLINE else life.created
        for life in lives
    )
    world = world._replace(lives=lives)
    return with_peer(world, peer, world.peers[peer]._replace(procedure=FROM_STANDBY, standby=False, since=since))
