"""The cluster and the znodes below `rs` at one instant, as frozen values, and what the peers still need of it."""

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
    """`rs/<owner>/<peer>-<hop>-<hop>…` with its WALs, by number; they are all of the first owner."""

    owner: int
    peer: int
    hops: Hops
    wals: tuple[int, ...]

    @property
    def source(self) -> int:
        """Whose WALs these are."""
        return self.hops[0] if self.hops else self.owner


class Znodes(NamedTuple):
    """What is below `rs`.

    Attributes:
        cversion: of `rs`.
        servers: cversion of each `rs/<server>`, or ABSENT.
        queues: sorted by owner, peer and hops.
        locks: who holds `rs/<server>/lock`, or NOBODY.
    """

    cversion: int
    servers: tuple[int, ...]
    queues: tuple[Queue, ...]
    locks: tuple[int, ...]


class Life(NamedTuple):
    """One life of one region server.

    Attributes:
        status: WAITING to DEAD.
        created: WALs so far; the last one is open while it lives.
        archived: how many of them are in oldWALs.
        known: peers that it has a source for, a bit each.
        first: for each peer the first WAL of which an entry is still to be shipped, whoever ships it; or NOTHING.
    """

    status: int
    created: int
    archived: int
    known: int
    first: tuple[int, ...]


class Claim(NamedTuple):
    """A claim that holds the lock of a dead server (HBase 1.x), and how far it is.

    Attributes:
        dead: whose queue is claimed.
        claimer: by whom.
        peer: of the queue.
        hops: of the queue.
        wals: of the queue when the claimer listed it.
        copied: so many of them are in the new queue; ABSENT = it is not made yet.
        cleaned: so many are out of the old one.
    """

    dead: int
    claimer: int
    peer: int
    hops: Hops
    wals: tuple[int, ...]
    copied: int = ABSENT
    cleaned: int = 0


class Budget(NamedTuple):
    """What may still happen."""

    crashes: int
    adds: int
    removes: int
    expiries: int


class Ensemble(NamedTuple):
    """The ZooKeeper servers that answer the capture.

    Attributes:
        late: the znodes as servers that do not follow the leader have them; None = all servers follow.
        servers: how many of these there are.
        asked: the capture's session is with one of them.
        session: number of its session.
    """

    late: Znodes | None
    servers: int
    asked: bool
    session: int


class World(NamedTuple):
    """The cluster at one instant; `peers` are those that exist, a bit each."""

    lives: tuple[Life, ...]
    znodes: Znodes
    peers: int
    claims: tuple[Claim, ...]
    ensemble: Ensemble
    budget: Budget


def first_world(scope: ZkScope) -> World:
    """The cluster at the beginning of a history."""
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
    """Ground truth: whether a peer that exists still needs an entry of a WAL, wherever the queue is that says so."""
    server, _, number = wal
    first = world.lives[server].first
    return any(world.peers >> peer & 1 and number >= needed for peer, needed in enumerate(first))


def is_queued(world: World, wal: Wal) -> bool:
    """Whether a queue has a WAL: of a needed one HBase promises it, but for what the model must not do either."""
    server, _, number = wal
    return any(queue.source == server and number in queue.wals for queue in world.znodes.queues)


def with_life(world: World, number: int, life: Life) -> World:
    """The world with one life replaced."""
    return world._replace(lives=replaced(world.lives, number, life))


def replaced(values: tuple, place: int, value: object) -> tuple:  # type: ignore[type-arg]
    """A tuple with one of its values replaced."""
    return (*values[:place], value, *values[place + 1 :])


def find_queue(znodes: Znodes, owner: int, peer: int, hops: Hops) -> Queue | None:
    """The queue of that name."""
    return next((queue for queue in znodes.queues if queue[:3] == (owner, peer, hops)), None)


def with_child(znodes: Znodes, server: int, changes: int = 1) -> Znodes:
    """The cversion of `rs/<server>` after so many of its children came or went; it is made where it is missing."""
    cversion, rs = znodes.servers[server], znodes.cversion
    if cversion == ABSENT:
        cversion, rs = 0, rs + 1
    return znodes._replace(cversion=rs, servers=replaced(znodes.servers, server, cversion + changes))


def with_queue(znodes: Znodes, queue: Queue) -> Znodes:
    """The znodes with a queue made, or its WALs replaced; only the first changes the cversion of its server."""
    others = tuple(one for one in znodes.queues if one[:3] != queue[:3])
    if len(others) == len(znodes.queues):
        znodes = with_child(znodes, queue.owner)
    return znodes._replace(queues=tuple(sorted((*others, queue))))


def without_queue(znodes: Znodes, queue: Queue) -> Znodes:
    """The znodes with a queue deleted."""
    left = tuple(one for one in znodes.queues if one[:3] != queue[:3])
    return with_child(znodes._replace(queues=left), queue.owner)


def with_znodes(world: World, znodes: Znodes) -> World:
    """The world with other znodes."""
    return world._replace(znodes=znodes)
