"""Models peers that come and go while queues are in ZooKeeper: each region server learns of it at another moment."""

from collections.abc import Iterator

from tests.models.capture.zookeeper.servers import Action
from tests.models.capture.zookeeper.world import (
    NOTHING,
    ONLINE,
    Queue,
    World,
    find_queue,
    replaced,
    with_life,
    with_queue,
    with_znodes,
    without_queue,
)


def peer_actions(world: World) -> Iterator[Action]:
    """Yields the next steps of peers."""
    for peer in range(len(world.lives[0].first)):
        if not world.peers >> peer & 1:
            forgotten = not any(life.known >> peer & 1 for life in world.lives if life.status == ONLINE)
            if world.budget.adds and forgotten and not any(queue.peer == peer for queue in world.znodes.queues):
                yield add_peer, (peer,)
            yield from _deletions(world, peer)
            continue
        if world.budget.removes:
            yield remove_peer, (peer,)
        for server, life in enumerate(world.lives):
            if life.status == ONLINE and not life.known >> peer & 1:
                yield refresh_peer, (server, peer)


def _deletions(world: World, peer: int) -> Iterator[Action]:
    for queue in world.znodes.queues:
        if queue.peer == peer and world.lives[queue.owner].status == ONLINE:
            yield delete_queue, (queue.owner, peer, *queue.hops)


def add_peer(world: World, peer: int) -> World:
    """`ZKReplicationPeerStorage.addPeer`: the peer is stored; no server knows of it yet."""
    return world._replace(peers=world.peers | 1 << peer, budget=world.budget._replace(adds=world.budget.adds - 1))


def refresh_peer(world: World, server: int, peer: int) -> World:
    """`ReplicationSourceManager.addSource`: a server creates a queue that begins with the WAL that is written now."""
    life = world.lives[server]
    newest = life.created - 1
    known = life._replace(known=life.known | 1 << peer, first=replaced(life.first, peer, newest))
    znodes = with_queue(world.znodes, Queue(server, peer, (), (newest,)))
    return with_znodes(with_life(world, server, known), znodes)


def remove_peer(world: World, peer: int) -> World:
    """`ZKReplicationPeerStorage.removePeer`: the peer needs nothing from here on; its queues stay for now."""
    lives = tuple(life._replace(first=replaced(life.first, peer, NOTHING)) for life in world.lives)
    budget = world.budget._replace(removes=world.budget.removes - 1)
    return world._replace(lives=lives, peers=world.peers & ~(1 << peer), budget=budget)


def delete_queue(world: World, owner: int, peer: int, *hops: int) -> World:
    """`ReplicationSourceManager.removePeer`: a server deletes a queue of a removed peer; those of dead ones stay."""
    queue = find_queue(world.znodes, owner, peer, hops)
    if queue is None:
        return world
    life = world.lives[owner]
    world = with_life(world, owner, life._replace(known=life.known & ~(1 << peer)))
    return with_znodes(world, without_queue(world.znodes, queue))
