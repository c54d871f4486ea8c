"""The state of one group that is being split: meta, parents with their children, writes, and messages.

The names are those of Pegasus. A write is a bit; `has` masks show which writes a replica has. Clients send the writes
in their order, so the place of a write stands for its decree. Messages that are repeated until they are answered need
no state: a lost message is one that arrives later.
"""

from functools import cache
from typing import Any, NamedTuple

from pipelines.pegasus.simulate.scope import Scope

OLD, REJECT, NEW = 0, -1, 1
"""`partition_version` of a parent: of the old count, -1, of the new count."""
NO_CHILD, MADE, CHECKPOINTED, LISTING, LEARNT, CAUGHT_UP, NOTIFIED = range(7)
"""Progress of a child (`learning`): PS_PARTITION_SPLIT from MADE on. LISTING only if writes go on meanwhile."""
UNSENT, PREPARED, ACKED = range(3)
IDLE, SPLITTING, PAUSING, PAUSED, CANCELING = "", "SPLITTING", "PAUSING", "PAUSED", "CANCELING"
OLD_COUNT, NO_BALLOT, REGISTERED = range(3)
"""The cache of a client: the old count; the new count and a child with ballot -1; the registered child."""


class Meta(NamedTuple):
    """The meta server.

    Attributes:
        times: the partition count in ZooKeeper as a multiple of the old count: 1 or 2; any other value is an error.
        ballot: the ballot of the parent.
        primary: the node of the parent's primary.
        members: the nodes of the parent's group, a mask.
        child: the ballot and primary of the child in ZooKeeper; None = ballot -1.
        status: the status of the split, in memory only.
        pending: the write to ZooKeeper that is under way: "double", "child", "halve" or "".
        asked: the operator's last request: "", "pause" or "cancel".
        born: the ballot of the parent when the child was registered.
        validates: whether the table's env `replica.split.validate_partition_hash` is true; it is false before the first
            split.
    """

    times: int
    ballot: int
    primary: int
    members: int
    child: tuple[int, int] | None
    status: str
    pending: str
    asked: str
    born: int
    validates: bool

    @property
    def doubled(self) -> bool:
        """Returns whether the split has begun."""
        return self.times > 1

    @property
    def is_splitting(self) -> bool:
        """Returns whether the child is not registered yet."""
        return self.doubled and self.child is None


class Replica(NamedTuple):
    """A parent on a node, and its child on the same node.

    Attributes:
        alive: whether the node runs.
        ballot: the ballot that the node knows.
        version: OLD, REJECT or NEW.
        has: the writes that the parent has.
        child: the progress of its child.
        child_ballot: the ballot with which the child was created.
        child_has: the writes that the child has.
        due: the writes on their way to the child, from the private log, the prepare list, or copied since.
        counted: whether the child has written the new count into its `.app-info`.
        active: whether the child serves, as primary or secondary.
    """

    alive: bool
    ballot: int
    version: int
    has: int
    child: int
    child_ballot: int
    child_has: int
    due: int
    counted: bool
    active: bool


class Lead(NamedTuple):
    """The part of the split that only the primary has in memory.

    Attributes:
        caught: the children that have reported that they are caught up, a mask of nodes.
        sync: whether writes wait for the children.
        point: whether the sync point is committed.
        counted: the children that have taken the new count, a mask of nodes.
        registering: whether the primary has asked meta to register the child.
    """

    caught: int
    sync: bool
    point: bool
    counted: int
    registering: bool


class Scan(NamedTuple):
    """A full scan: it asks meta for the partitions once, then reads them one after the other.

    Attributes:
        pieces: the number of partitions that the scan knows: 1 or 2.
        next: the index of the next piece.
        due: the writes that were acknowledged when the scan began.
        seen: the writes that the scan returned.
        twice: the writes that the scan returned twice.
        flagged: whether the scan overlaps the split, so that Pegasus promises nothing about its rows.
    """

    pieces: int
    next: int
    due: int
    seen: int
    twice: int
    flagged: bool

    @property
    def is_over(self) -> bool:
        """Returns whether the scan has read all pieces."""
        return self.next == self.pieces


class World(NamedTuple):
    """The whole state.

    Attributes:
        writes: UNSENT, PREPARED or ACKED for each write.
        synced: writes that were prepared in sync mode.
        mail: requests to register the child (ballot), and meta's answers (ballot, error).
        learner: the group has a learner, so it is unhealthy.
        faults: how many more faults can happen.
        cache: the cache of the client of `Scope.cached`: OLD_COUNT, NO_BALLOT or REGISTERED.
        scan: the scan of `Scope.scans`; None = it has not begun.
        tight: nodes whose disk has no space for a child, a mask.
    """

    meta: Meta
    replicas: tuple[Replica, ...]
    lead: Lead
    writes: tuple[int, ...]
    synced: int
    mail: frozenset[tuple[str, int, str]]
    learner: bool
    faults: int
    cache: int = 0
    scan: Scan | None = None
    tight: int = 0


NO_LEAD = Lead(0, False, False, 0, False)
Move = tuple[str, int]
"""The name of a step, and its node, write or ballot."""
Step = tuple[Move, World]


def first_world(scope: Scope) -> World:
    """Returns the state before the split is requested."""
    everyone = (1 << scope.replicas) - 1
    replica = Replica(True, 1, OLD, 0, NO_CHILD, 0, 0, 0, counted=False, active=False)
    meta = Meta(1, 1, 0, everyone, None, IDLE, "", "", 0, validates=False)
    return World(
        meta, (replica,) * scope.replicas, NO_LEAD, (UNSENT,) * len(scope.writes), 0, frozenset(), False, scope.faults
    )


def put(world: World, node: int, **changes: Any) -> World:  # noqa: ANN401 - fields of a Replica
    """Returns the world with one replica changed."""
    before = world.replicas
    return world._replace(replicas=(*before[:node], before[node]._replace(**changes), *before[node + 1 :]))


def without_child(replica: Replica) -> Replica:
    """Returns the replica without its child."""
    return replica._replace(child=NO_CHILD, child_ballot=0, child_has=0, due=0, counted=False, active=False)


def living_members(world: World) -> list[int]:
    """Returns the nodes of the group that run."""
    return [node for node, one in enumerate(world.replicas) if one.alive and world.meta.members >> node & 1]


def leader(world: World) -> Replica | None:
    """Returns the parent's primary; None if its node is dead or it does not know the current ballot."""
    one = world.replicas[world.meta.primary]
    return one if one.alive and one.ballot == world.meta.ballot else None


def half_mask(scope: Scope, half: str) -> int:
    """Returns the writes that belong to a half."""
    return _places(scope.writes, half)


def acked(world: World) -> int:
    """Returns the acknowledged writes."""
    return _places(world.writes, ACKED)


@cache  # measured: a search takes a seventh less time
def _places(values: tuple[object, ...], value: object) -> int:
    return sum(1 << place for place, one in enumerate(values) if one == value)
