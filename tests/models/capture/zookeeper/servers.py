"""Models region servers with queues in ZooKeeper: start, roll, archive, ship, crash."""

from collections.abc import Callable, Iterator

from tests.models.capture.zookeeper.scope import ZkScope
from tests.models.capture.zookeeper.world import (
    DEAD,
    NOTHING,
    ONLINE,
    WAITING,
    Life,
    Queue,
    Wal,
    World,
    find_queue,
    replaced,
    with_life,
    with_queue,
    with_znodes,
    without_queue,
)

Listing = tuple[Wal, ...]
"""Files of oldWALs."""
Action = tuple[Callable[..., World], tuple[int, ...]]
"""An atomic action with its arguments: `action[0](world, *action[1])` is the cluster after it."""


def server_actions(world: World, scope: ZkScope, listed: Listing | None) -> Iterator[Action]:
    """Yields everything that region servers may do next.

    Args:
        world: the cluster.
        scope: what may happen.
        listed: the listed WALs that matter, once they are known; new WALs change no answer about these.
    """
    for number, life in enumerate(world.lives):
        if life.status == WAITING:
            yield start, (number,)
        elif life.status == DEAD:
            if listed is None and life.archived < life.created:
                yield split, (number,)
        else:
            if world.budget.crashes:
                yield crash, (number,)
            if listed is None and scope.rolls and life.created < scope.max_wals:
                yield roll, (number,)
            if listed is None and life.archived < life.created - 1:
                yield archive, (number,)
    if scope.ships:
        for queue in world.znodes.queues:
            if ships(world, queue) and (listed is None or any(wal[0] == queue.source for wal in listed)):
                yield ship, (queue.owner, queue.peer, *queue.hops)


def ships(world: World, queue: Queue) -> bool:
    """Returns whether a live server may finish the next WAL of a queue.

    It does not ship from a queue that it still copies.
    """
    life = world.lives[queue.owner]
    if life.status != ONLINE or not world.peers >> queue.peer & 1 or not queue.wals:
        return False
    if any(
        (claim.claimer, claim.peer) == queue[:2] and (*claim.hops, claim.dead) == queue.hops for claim in world.claims
    ):
        return False
    return bool(queue.hops) or (life.known >> queue.peer & 1 == 1 and queue.wals[0] < life.created - 1)


def start(world: World, server: int) -> World:
    """`ReplicationSourceManager.init`: a queue for every peer that exists, and its first WAL in each."""
    none = (NOTHING,) * len(world.lives[server].first)
    first = tuple(0 if world.peers >> peer & 1 else none[peer] for peer in range(len(none)))
    world = with_life(world, server, Life(ONLINE, 1, 0, world.peers, first))
    znodes = world.znodes
    for peer in range(len(none)):
        if world.peers >> peer & 1:
            znodes = with_queue(znodes, Queue(server, peer, (), (0,)))
    return with_znodes(world, znodes)


def roll(world: World, server: int) -> World:
    """`ReplicationSourceManager.preLogRoll`: the new WAL is in every queue before anything is written to it."""
    life, znodes = world.lives[server], world.znodes
    for peer in range(len(life.first)):
        queue = find_queue(znodes, server, peer, ()) if life.known >> peer & 1 else None
        if queue is not None:
            znodes = with_queue(znodes, queue._replace(wals=(*queue.wals, life.created)))
    return with_life(with_znodes(world, znodes), server, life._replace(created=life.created + 1))


def archive(world: World, server: int) -> World:
    """`AbstractFSWAL.archive`: the oldest finished WAL is renamed into oldWALs."""
    life = world.lives[server]
    return with_life(world, server, life._replace(archived=life.archived + 1))


def ship(world: World, owner: int, peer: int, *hops: int) -> World:
    """`ReplicationSourceManager.cleanOldLogs`: the next WAL is shipped and leaves its queue."""
    queue = find_queue(world.znodes, owner, peer, hops)
    if queue is None:
        return world
    number, *left = queue.wals
    source = world.lives[queue.source]
    first = max(source.first[peer], number + 1)
    if source.first[peer] == NOTHING or (first >= source.created and hops):
        first = NOTHING
    world = with_life(world, queue.source, source._replace(first=replaced(source.first, peer, first)))
    if hops and not left:
        return with_znodes(world, without_queue(world.znodes, queue))
    return with_znodes(world, with_queue(world.znodes, queue._replace(wals=tuple(left))))


def crash(world: World, server: int) -> World:
    """The server's session expires: it writes to ZooKeeper no more; a lock that it holds stays (HBASE-16144)."""
    claims = tuple(claim for claim in world.claims if claim.claimer != server)
    world = with_life(world, server, world.lives[server]._replace(status=DEAD))
    return world._replace(claims=claims, budget=world.budget._replace(crashes=world.budget.crashes - 1))


def split(world: World, server: int) -> World:
    """`ServerCrashProcedure`: the WALs of a dead server are split and archived."""
    life = world.lives[server]
    return with_life(world, server, life._replace(archived=life.created))
