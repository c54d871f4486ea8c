"""Models how a live server takes over a queue of a dead server."""

from collections.abc import Callable, Iterator

from tests.models.capture.zookeeper.scope import CVERSION, LOCK, ZkScope
from tests.models.capture.zookeeper.servers import Action
from tests.models.capture.zookeeper.world import (
    ABSENT,
    DEAD,
    NOBODY,
    ONLINE,
    Claim,
    Hops,
    Queue,
    World,
    find_queue,
    replaced,
    with_child,
    with_queue,
    with_znodes,
    without_queue,
)


def claim_actions(world: World, scope: ZkScope) -> Iterator[Action]:
    """Yields the claims that may begin next, and the next steps of claims that are under way.

    Any live server may claim at any time after the crash: HBase 1.x and 2.x up to 2.4 wait a random time; from 2.5 on
    the master picks servers by chance.
    """
    znodes = world.znodes
    for queue in znodes.queues:
        dead = queue.owner
        if world.lives[dead].status != DEAD or not world.peers >> queue.peer & 1 or znodes.locks[dead] != NOBODY:
            continue
        for claimer, life in enumerate(world.lives):
            if life.status == ONLINE:
                trick = int(scope.claim == CVERSION)
                yield lock if scope.claim == LOCK else claim, (claimer, dead, trick, queue.peer, *queue.hops)
    for one in world.claims:
        yield _next(one), (one.dead,)
    for server, cversion in enumerate(znodes.servers):
        empty = not any(queue.owner == server for queue in znodes.queues) and znodes.locks[server] == NOBODY
        if world.lives[server].status == DEAD and cversion != ABSENT and empty:
            yield remove_replicator, (server,)


def claim(world: World, claimer: int, dead: int, trick: int, peer: int, *hops: int) -> World:
    """`claimQueue` in one transaction: make the new queue, move every WAL, delete the old queue."""
    znodes = world.znodes
    queue = find_queue(znodes, dead, peer, hops)
    if queue is None:
        return world
    if queue.wals:
        znodes = with_queue(znodes, Queue(claimer, peer, (*hops, dead), queue.wals))
        if trick:  # a child of `rs` is made and deleted in the same transaction
            znodes = znodes._replace(cversion=znodes.cversion + 2)
    return with_znodes(world, without_queue(znodes, queue))


def remove_replicator(world: World, server: int) -> World:
    """`removeReplicatorIfQueueIsEmpty`: `rs/<server>` goes once all its queues are gone."""
    znodes = world.znodes
    gone = replaced(znodes.servers, server, ABSENT)
    return with_znodes(world, znodes._replace(cversion=znodes.cversion + 1, servers=gone))


def lock(world: World, claimer: int, dead: int, _trick: int, peer: int, *hops: int) -> World:
    """`lockOtherRS`: `rs/<server>/lock` is made, and the queue listed."""
    queue = find_queue(world.znodes, dead, peer, hops)
    if queue is None:
        return world
    znodes = with_child(world.znodes, dead)
    znodes = znodes._replace(locks=replaced(znodes.locks, dead, claimer))
    one = Claim(dead, claimer, peer, hops, queue.wals)
    return with_znodes(world, znodes)._replace(claims=tuple(sorted((*world.claims, one))))


def make_copy(world: World, dead: int) -> World:
    """`copyQueueFromLockedRS`: the new queue is made, empty."""
    one = _claim_of(world, dead)
    znodes = world.znodes
    if one.wals:
        znodes = with_queue(znodes, Queue(one.claimer, one.peer, _copied_hops(one), ()))
    return _with_claim(with_znodes(world, znodes), one._replace(copied=0))


def copy_wal(world: World, dead: int) -> World:
    """`copyQueueFromLockedRS`: the znode of the next WAL is made in the new queue."""
    one = _claim_of(world, dead)
    copied = Queue(one.claimer, one.peer, _copied_hops(one), one.wals[: one.copied + 1])
    znodes = with_queue(world.znodes, copied)
    return _with_claim(with_znodes(world, znodes), one._replace(copied=one.copied + 1))


def clean_wal(world: World, dead: int) -> World:
    """`removeQueueFromLockedRS`: the znode of the next WAL is deleted from the old queue."""
    one = _claim_of(world, dead)
    znodes = with_queue(world.znodes, Queue(dead, one.peer, one.hops, one.wals[one.cleaned + 1 :]))
    return _with_claim(with_znodes(world, znodes), one._replace(cleaned=one.cleaned + 1))


def clean_queue(world: World, dead: int) -> World:
    """`removeQueueFromLockedRS`: the old queue, empty by now, is deleted."""
    one = _claim_of(world, dead)
    znodes = without_queue(world.znodes, Queue(dead, one.peer, one.hops, ()))
    return _with_claim(with_znodes(world, znodes), one._replace(cleaned=len(one.wals) + 1))


def unlock(world: World, dead: int) -> World:
    """`unlockOtherRS`: the lock is deleted, the claimer begins to ship."""
    znodes = with_child(world.znodes, dead)
    znodes = znodes._replace(locks=replaced(znodes.locks, dead, NOBODY))
    return with_znodes(world, znodes)._replace(claims=tuple(one for one in world.claims if one.dead != dead))


def _next(one: Claim) -> Callable[[World, int], World]:
    if one.copied == ABSENT:
        return make_copy
    if one.copied < len(one.wals):
        return copy_wal
    if one.cleaned < len(one.wals):
        return clean_wal
    return clean_queue if one.cleaned == len(one.wals) else unlock


def _claim_of(world: World, dead: int) -> Claim:
    return next(one for one in world.claims if one.dead == dead)


def _with_claim(world: World, changed: Claim) -> World:
    return world._replace(claims=tuple(changed if one.dead == changed.dead else one for one in world.claims))


def _copied_hops(one: Claim) -> Hops:
    return (*one.hops, one.dead)
