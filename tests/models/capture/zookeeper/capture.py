"""Models the capture of queues in ZooKeeper as atomic reads: the reads of `ZooKeeperQueues.znodes`, a znode at a time.

The next read depends on earlier answers: the servers below `rs`, and the queues of each of these servers.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.models.capture.zookeeper.quorum import seen_znodes, synced
from tests.models.capture.zookeeper.servers import Listing
from tests.models.capture.zookeeper.world import ABSENT, Hops, World, find_queue

DESIGN = ("files", "peers", "queues-1", "queues-2")
"""The steps of `pipelines.capture.capture_zookeeper`, in its order."""
LAST = 2
"""The reading behind whose queues the servers are looked at once more."""
READING = ("session", "sync", "open", "list", "close", "session-again")
"""The reads of one reading of the queues; those of servers and queues come behind `list`, then `again` for servers."""

Read = tuple[str, tuple[int, ...]]
"""One read with its arguments: the number of the reading, then what is read."""


class ServerLook(NamedTuple):
    """The answer for `rs/<server>`: its cversion, and its queues as peer and hops.

    A lock is a child like the queues.
    """

    cversion: int
    queues: tuple[tuple[int, Hops], ...]
    locked: bool


class Reading(NamedTuple):
    """One whole reading of the queues.

    Attributes:
        opened: the cversion of `rs` before the reading.
        servers: the answer for each listed server; None = it was gone when it was asked.
        queues: the WALs of each queue; queues that were gone are left out.
        again: the cversion of each listed server, read once more after all queues; only the second reading has it.
        closed: the cversion of `rs` after the reading.
    """

    opened: int
    servers: tuple[tuple[int, ServerLook | None], ...]
    queues: tuple[tuple[int, int, Hops, tuple[int, ...]], ...]
    again: tuple[tuple[int, int], ...]
    closed: int


def reads_of(step: str, *, whole: bool) -> tuple[Read, ...]:
    """Returns the reads of a step that are known before anything of it was answered.

    Args:
        step: a step of `DESIGN`.
        whole: whether to include reads that make a difference only if a ZooKeeper server is behind.
    """
    if not step.startswith("queues"):
        return ((step, ()),)
    number = int(step[-1])
    names = READING if whole else READING[2:5]
    return tuple((name, (number,)) for name in names)


def ask(world: World, read: Read) -> tuple[World, Any, tuple[Read, ...]]:
    """Executes a read.

    Returns:
        The cluster after it, its answer, and the reads that follow from it; if the answer is None, the read fails.
    """
    name, (*where,) = read
    znodes = seen_znodes(world)
    if name == "files":
        return world, list_files(world), ()
    if name == "peers":
        return world, world.peers, ()
    if name in ("session", "session-again"):
        return world, world.ensemble.session, ()
    if name == "sync":
        return synced(world), True, ()
    if name in ("open", "close"):
        return world, znodes.cversion, ()
    reading, *below = where
    if name == "list":
        there = tuple(server for server, cversion in enumerate(znodes.servers) if cversion != ABSENT)
        last = tuple(("again", (reading, server)) for server in there) if reading == LAST else ()
        return world, there, (*(("server", (reading, server)) for server in there), *last)
    if name == "again":
        (server,) = below
        return world, (server, znodes.servers[server]), ()
    if name == "server":
        (server,) = below
        if znodes.servers[server] == ABSENT:
            return world, (server, None), ()
        mine = tuple((queue.peer, queue.hops) for queue in znodes.queues if queue.owner == server)
        look = ServerLook(znodes.servers[server], mine, znodes.locks[server] >= 0)
        return world, (server, look), tuple(("queue", (reading, server, peer, *hops)) for peer, hops in mine)
    server, peer, *hops = below
    queue = find_queue(znodes, server, peer, tuple(hops))
    return world, (server, peer, tuple(hops), None if queue is None else queue.wals), ()


def list_files(world: World) -> Listing:
    """Returns the files of oldWALs; one read, because an earlier read would only list fewer files."""
    return tuple((server, 0, number) for server, life in enumerate(world.lives) for number in range(life.archived))


def readings(read: tuple[tuple[str, Any], ...]) -> Iterator[Reading]:
    """Yields the readings of a finished capture, made from its answers in order."""
    opened, servers, queues, again = ABSENT, list[Any](), list[Any](), list[Any]()
    for name, answer in read:
        if name == "open":
            opened, servers, queues, again = answer, [], [], []
        elif name == "server":
            servers.append(answer)
        elif name == "queue" and answer[3] is not None:
            queues.append(answer)
        elif name == "again" and answer[1] != ABSENT:
            again.append(answer)
        elif name == "close":
            yield Reading(opened, tuple(servers), tuple(queues), tuple(again), answer)
