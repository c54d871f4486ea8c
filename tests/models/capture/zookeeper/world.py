"""The cluster and the znodes below `rs` at one instant, as frozen values, and what the peers still need."""

from typing import NamedTuple

from tests.models.capture.zookeeper.scope import ZkScope

WAITING, ONLINE, DEAD = range(3)
"""A life: not started; its session lives; its session has expired, so that others may claim its queues."""
ABSENT = -1
"""There is no such znode."""
NOBODY = -1
NOTHING = 1 << 30
"""First WAL needed where nothing is."""

Wal = tuple[int, int, int]
"""Server, group (always 0), number."""
Hops = tuple[int, ...]
"""Former owners of a queue, the first one first; empty = it was never claimed."""


class Queue(NamedTuple):
    """The queue `rs/<owner>/<peer>-<hop>-<hop>…` with its WALs, by number; the first owner wrote all of them."""

    owner: int
    peer: int
    hops: Hops
    wals: tuple[int, ...]

    @property
    def source(self) -> int:
        """Returns the server that wrote the WALs."""
        return self.hops[0] if self.hops else self.owner


class Znodes(NamedTuple):
    """The znodes below `rs`.

    Attributes:
        cversion: the cversion of `rs`.
        servers: the cversion of each `rs/<server>`, or ABSENT.
        queues: the queues, sorted by owner, peer and hops.
        locks: the holder of each `rs/<server>/lock`, or NOBODY.
    """

    cversion: int
    servers: tuple[int, ...]
    queues: tuple[Queue, ...]
    locks: tuple[int, ...]


class Life(NamedTuple):
    """One life of one region server.

    Attributes:
        status: one of WAITING to DEAD.
        created: the number of WALs so far; the last one is open while the server lives.
        archived: how many of them are in oldWALs.
        known: the peers for which the server has a source, a bit for each.
        first: for each peer the first WAL of which an entry is still to be shipped, whoever ships it; or NOTHING.
    """

    status: int
    created: int
    archived: int
    known: int
    first: tuple[int, ...]


class Claim(NamedTuple):
    """A claim that holds the lock of a dead server (HBase 1.x), and its progress.

    Attributes:
        dead: the server whose queue is claimed.
        claimer: the server that claims it.
        peer: the peer of the queue.
        hops: the hops in the queue's name.
        wals: the WALs of the queue when the claimer listed it.
        copied: how many of them are in the new queue; ABSENT = the new queue is not created yet.
        cleaned: how many of them are deleted from the old queue.
    """

    dead: int
    claimer: int
    peer: int
    hops: Hops
    wals: tuple[int, ...]
    copied: int = ABSENT
    cleaned: int = 0


class Budget(NamedTuple):
    """How often each thing may still happen."""

    crashes: int
    adds: int
    removes: int
    expiries: int


class Ensemble(NamedTuple):
    """The ZooKeeper servers that answer the capture.

    Attributes:
        late: the znodes as servers have them that do not follow the leader; None = all servers follow.
        servers: how many servers do not follow.
        asked: whether the capture's session is with one of them.
        session: the number of the session.
    """

    late: Znodes | None
    servers: int
    asked: bool
    session: int


class World(NamedTuple):
    """The cluster at one instant; `peers` are the peers that exist, a bit for each."""

    lives: tuple[Life, ...]
    znodes: Znodes
    peers: int
    claims: tuple[Claim, ...]
    ensemble: Ensemble
    budget: Budget


def first_world(scope: ZkScope) -> World:
    """Returns the cluster at the beginning of a history."""
    there = [peer for peer, exists in enumerate(scope.peers) if exists]
    known = sum(1 << peer for peer in there)
    lives, queues, servers = [], [], []
    for number, plan in enumerate(scope.servers):
        if plan.waits:
            lives.append(Life(WAITING, 0, 0, 0, (NOTHING,) * len(scope.peers)))
            servers.append(ABSENT)
            continue
        first = tuple(0 if exists else NOTHING for exists in scope.peers)
        archived = plan.wals if plan.dead else plan.archived
        lives.append(Life(DEAD if plan.dead else ONLINE, plan.wals, archived, known, first))
        queues += [Queue(number, peer, (), tuple(range(plan.wals))) for peer in there]
        servers.append(len(there) if there else ABSENT)
    made = sum(cversion != ABSENT for cversion in servers)
    return World(
        lives=tuple(lives),
        znodes=Znodes(made, tuple(servers), tuple(sorted(queues)), (NOBODY,) * len(lives)),
        peers=known,
        claims=(),
        ensemble=Ensemble(None, 0, asked=False, session=0),
        budget=Budget(scope.crashes, scope.adds, scope.removes, scope.expiries),
    )


def is_needed(world: World, wal: Wal) -> bool:
    """Returns whether an existing peer still needs an entry of a WAL, whatever queue has it: the ground truth."""
    server, _, number = wal
    first = world.lives[server].first
    return any(world.peers >> peer & 1 and number >= needed for peer, needed in enumerate(first))


def is_queued(world: World, wal: Wal) -> bool:
    """Returns whether a queue has a WAL.

    HBase promises this for a needed WAL, except in cases that the model must avoid too.
    """
    server, _, number = wal
    return any(queue.source == server and number in queue.wals for queue in world.znodes.queues)


def with_life(world: World, number: int, life: Life) -> World:
    """Returns the world with one life replaced."""
    return world._replace(lives=replaced(world.lives, number, life))


def replaced(values: tuple, place: int, value: object) -> tuple:  # type: ignore[type-arg]
    """Returns a tuple with one of its values replaced."""
    return (*values[:place], value, *values[place + 1 :])


def find_queue(znodes: Znodes, owner: int, peer: int, hops: Hops) -> Queue | None:
    """Returns the queue of that name; None = there is no such queue."""
    return next((queue for queue in znodes.queues if queue[:3] == (owner, peer, hops)), None)


def with_child(znodes: Znodes, server: int) -> Znodes:
    """Returns the znodes after a child of `rs/<server>` was created or deleted.

    Creates `rs/<server>` if it is missing.
    """
    cversion, rs = znodes.servers[server], znodes.cversion
    if cversion == ABSENT:
        cversion, rs = 0, rs + 1
    return znodes._replace(cversion=rs, servers=replaced(znodes.servers, server, cversion + 1))


def with_queue(znodes: Znodes, queue: Queue) -> Znodes:
    """Returns the znodes with a queue created, or its WALs replaced; only creation changes the server's cversion."""
    others = tuple(one for one in znodes.queues if one[:3] != queue[:3])
    if len(others) == len(znodes.queues):
        znodes = with_child(znodes, queue.owner)
    return znodes._replace(queues=tuple(sorted((*others, queue))))


def without_queue(znodes: Znodes, queue: Queue) -> Znodes:
    """Returns the znodes with a queue deleted."""
    left = tuple(one for one in znodes.queues if one[:3] != queue[:3])
    return with_child(znodes._replace(queues=left), queue.owner)


def with_znodes(world: World, znodes: Znodes) -> World:
    """Returns the world with other znodes."""
    return world._replace(znodes=znodes)
