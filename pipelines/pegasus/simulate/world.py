"""The state of one group that is being split: meta, the parents with their children, writes, what is under way.

The names are Pegasus's. A write is a bit; `has` masks say which writes a replica holds. Messages that are repeated
until they are answered need no state of their own: a lost one is one that arrives later.
"""

from typing import Any, NamedTuple

OLD, REJECT, NEW = 0, -1, 1
"""`partition_version` of a parent: of the old count, -1, of the new count."""
NO_CHILD, MADE, LEARNT, CAUGHT_UP, NOTIFIED = range(5)
"""How far a child is: PS_PARTITION_SPLIT from MADE on."""
UNSENT, PREPARED, ACKED = range(3)
IDLE, SPLITTING, PAUSING, PAUSED, CANCELING = "", "SPLITTING", "PAUSING", "PAUSED", "CANCELING"
PARENT_HALF, CHILD_HALF = "parent", "child"
OLD_COUNT, NO_BALLOT, REGISTERED = range(3)
"""What a client has cached: the old count; the new one and a child with ballot -1; the child."""


class Meta(NamedTuple):
    """The meta server.

    Attributes:
        times: the partition count in ZooKeeper, of the old one: 1 or 2, whatever else is an error.
        ballot: of the parent.
        primary: of the parent, a node.
        members: nodes of the parent's group, a mask.
        child: ballot and primary of the child in ZooKeeper; None = ballot -1.
        status: of the split, in memory alone.
        pending: a write to ZooKeeper that is under way: "double", "child", "halve" or "".
        asked: what the operator last asked for: "", "pause" or "cancel".
        born: ballot of the parent when the child was registered.
        validates: the table's env `replica.split.validate_partition_hash` is true; before the first split it is not.
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
        """Whether the split has begun."""
        return self.times > 1

    @property
    def is_splitting(self) -> bool:
        """Whether the child is still to be registered."""
        return self.doubled and self.child is None


class Replica(NamedTuple):
    """A parent on a node, and its child beside it.

    Attributes:
        alive: the node runs.
        ballot: that it knows.
        version: OLD, REJECT or NEW.
        has: its writes.
        child: how far its child is.
        child_ballot: with which it was made.
        child_has: writes of the child.
        counted: the child has written the new count into its `.app-info`.
        active: the child serves, as primary or secondary.
    """

    alive: bool
    ballot: int
    version: int
    has: int
    child: int
    child_ballot: int
    child_has: int
    counted: bool
    active: bool


class Lead(NamedTuple):
    """What the primary alone remembers of the split.

    Attributes:
        caught: children that have told that they are caught up, a mask of nodes.
        sync: writes wait for the children.
        point: the sync point is committed.
        counted: children that have taken the new count, a mask of nodes.
        registering: it has asked meta to register the child.
    """

    caught: int
    sync: bool
    point: bool
    counted: int
    registering: bool


class Scan(NamedTuple):
    """A full scan: it asks meta for the partitions once, and then one after the other.

    Attributes:
        pieces: partitions that it knows of: 1 or 2.
        next: the piece that comes next.
        due: writes that were acknowledged when it began.
        seen: writes that it was given.
        twice: writes that it was given twice.
        flagged: it overlaps the split: what it was given is no promise of Pegasus.
    """

    pieces: int
    next: int
    due: int
    seen: int
    twice: int
    flagged: bool

    @property
    def is_over(self) -> bool:
        """Whether it has asked all."""
        return self.next == self.pieces


class World(NamedTuple):
    """All of it.

    Attributes:
        writes: UNSENT, PREPARED or ACKED, each.
        synced: writes that were prepared in sync mode.
        mail: requests to register the child (ballot), and meta's answers (ballot, error).
        learner: a learner is in the group: it is unhealthy.
        faults: how many more things may go wrong.
        cache: what the one client of `Scope.cached` knows: OLD_COUNT, NO_BALLOT or REGISTERED.
        scan: the one scan of `Scope.scans`; None = it has not begun.
        tight: nodes whose disk has no room for a child, a mask.
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


class Scope(NamedTuple):
    """What a search plays.

    Attributes:
        replicas: of the group.
        writes: the half that each write belongs to after the split.
        may: names of the moves that count as faults or as the operator's.
        faults: how many of them may happen.
        cached: the writes are those of one client, which knows the table from before the split; else of any.
        scans: a full scan runs at some time.
    """

    replicas: int = 3
    writes: tuple[str, ...] = (CHILD_HALF, PARENT_HALF)
    may: frozenset[str] = frozenset()
    faults: int = 1
    cached: bool = False
    scans: bool = False


class Design(NamedTuple):
    """The protocol: what is shipped, what mends it, and what a mutant takes away.

    Attributes:
        restart_all: a primary that begins anew makes the secondaries begin anew, too (#2209: it does not).
        query_first: a new primary rejects until it knows whether meta has the child (F29: it does not).
        remember_pause: PAUSED and CANCELING survive the meta leader (F5: they do not).
        sync_point: the primary waits for the sync point.
        reject: the parent rejects while it registers.
        check_ballot: meta compares the ballot of a registration.
        ballot_step: the child begins with the parent's ballot plus so much: 1.
        drop_children: a new ballot ends all children.
        discard_orphans: a child that comes back without being registered is discarded.
        careful_filter: the compaction filter takes nothing while the version is -1.
        check_start: meta refuses a split that it must not begin (F1).
        check_disks: the operator asks the preflight for room on the disks (F37).
        set_env: meta makes servers check hashes (`replica.split.validate_partition_hash`).
        refresh: a client that is told to ask elsewhere asks meta where (F34).
        scan_filter: a scan gives only rows that the partition owns (F36).
    """

    restart_all: bool = True
    query_first: bool = True
    remember_pause: bool = True
    sync_point: bool = True
    reject: bool = True
    check_ballot: bool = True
    ballot_step: int = 1
    drop_children: bool = True
    discard_orphans: bool = True
    careful_filter: bool = True
    check_start: bool = True
    check_disks: bool = True
    set_env: bool = True
    refresh: bool = True
    scan_filter: bool = True


NO_LEAD = Lead(0, False, False, 0, False)
Move = tuple[str, int]
"""The name of a step, and the node, write or ballot that it is about."""
Step = tuple[Move, World]


def first_world(scope: Scope) -> World:
    """Before anybody has asked for a split."""
    everyone = (1 << scope.replicas) - 1
    replica = Replica(True, 1, OLD, 0, NO_CHILD, 0, 0, False, False)
    meta = Meta(1, 1, 0, everyone, None, IDLE, "", "", 0, validates=False)
    return World(
        meta, (replica,) * scope.replicas, NO_LEAD, (UNSENT,) * len(scope.writes), 0, frozenset(), False, scope.faults
    )


def put(world: World, node: int, **changes: Any) -> World:  # noqa: ANN401 - fields of a Replica
    """The world with one replica changed."""
    replicas = list(world.replicas)
    replicas[node] = replicas[node]._replace(**changes)
    return world._replace(replicas=tuple(replicas))


def without_child(replica: Replica) -> Replica:
    """The parent alone."""
    return replica._replace(child=NO_CHILD, child_ballot=0, child_has=0, counted=False, active=False)


def living_members(world: World) -> list[int]:
    """Nodes of the group that run."""
    return [node for node, one in enumerate(world.replicas) if one.alive and world.meta.members >> node & 1]


def leader(world: World) -> Replica | None:
    """The parent's primary, while its node runs and it knows that it is."""
    one = world.replicas[world.meta.primary]
    return one if one.alive and one.ballot == world.meta.ballot else None


def half_mask(scope: Scope, half: str) -> int:
    """The writes that belong to a half."""
    return sum(1 << place for place, owner in enumerate(scope.writes) if owner == half)


def acked(world: World) -> int:
    """The writes that a client was told are done."""
    return sum(1 << place for place, state in enumerate(world.writes) if state == ACKED)
