"""Defines the steps of clients and of compaction, and the invariants that hold in every state."""

from collections.abc import Iterator

from pipelines.pegasus.domain.partitions import PrimaryAnswer
from pipelines.pegasus.simulate.learning import sent_to_child
from pipelines.pegasus.simulate.scope import CHILD_HALF, PARENT_HALF, Design, Scope
from pipelines.pegasus.simulate.world import (
    ACKED,
    IDLE,
    NEW,
    NO_BALLOT,
    NO_CHILD,
    OLD,
    OLD_COUNT,
    PAUSED,
    PREPARED,
    REGISTERED,
    REJECT,
    SPLITTING,
    UNSENT,
    Step,
    World,
    acked,
    half_mask,
    leader,
    living_members,
    put,
)

LOST, DOUBLE, BALLOT, FORGOTTEN, STUCK = "LOST", "DOUBLE_OWNER", "BALLOT", "FORGOTTEN", "STUCK"
COUNT, MISSCANNED = "COUNT", "MISSCANNED"
OK, REJECTED, MISUSED = PrimaryAnswer.OK.value, PrimaryAnswer.REJECT.value, PrimaryAnswer.MISUSED.value


def client_steps(world: World, scope: Scope, design: Design) -> Iterator[Step]:
    """Yields the steps of clients: they send one write after the other, and do not wait for the answer to the last.

    Unless the scope has a client with a cache, a client may know any state of the table, so it tries parent and child.
    """
    place = next((number for number, state in enumerate(world.writes) if state == UNSENT), None)
    if place is not None and world.writes.count(PREPARED) < scope.in_flight:
        half = scope.writes[place]
        to_child = half == CHILD_HALF and world.cache == REGISTERED
        if said(world, half) == OK and not (scope.cached and to_child):
            yield ("write_parent", place), _prepared(world, place, design)
        if half == CHILD_HALF and child_serves(world) and (to_child or not scope.cached):
            yield ("write_child", place), _written_to_child(world, place)
        if scope.cached and design.refresh and not to_child and said(world, half) not in {OK, None}:
            yield ("client_refresh", place), world._replace(cache=known(world))
    for number, state in enumerate(world.writes):
        if state == PREPARED and _may_commit(world, number):
            yield ("commit", number), _with_write(world, number, ACKED)


def known(world: World) -> int:
    """Returns the state of the table that meta reports to a client."""
    return REGISTERED if world.meta.child is not None else NO_BALLOT if world.meta.doubled else OLD_COUNT


def said(world: World, half: str) -> str | None:
    """Returns the primary's answer to a key of that half, by its `partition_version`; None = there is no primary.

    If the env is not set, the server does not check the hash (`src/replica/replica.h`, `validate_partition_hash`).
    """
    primary = leader(world)
    if primary is None:
        return None
    if primary.version == OLD or (world.meta.doubled and not world.meta.validates):
        return OK
    if primary.version == REJECT:
        return REJECTED
    return OK if half == PARENT_HALF else MISUSED


def child_serves(world: World) -> bool:
    """Returns whether the child's primary answers."""
    child = world.meta.child
    return child is not None and world.replicas[child[1]].alive and world.replicas[child[1]].active


def _prepared(world: World, place: int, design: Design) -> World:
    for node in living_members(world):
        one = sent_to_child(world.replicas[node], place, design)
        world = put(world, node, has=one.has | 1 << place, due=one.due)
    synced = world.synced | (1 << place if world.lead.sync else 0)
    return _with_write(world, place, PREPARED)._replace(synced=synced)


def _may_commit(world: World, place: int) -> bool:
    """Returns whether a write can commit.

    Writes commit in the order of their decrees. One that was prepared in sync mode also needs the answer of every
    child, even if sync mode has ended since.
    """
    primary = leader(world)
    if primary is None or not primary.has >> place & 1 or PREPARED in world.writes[:place]:
        return False
    children = (one for one in map(world.replicas.__getitem__, living_members(world)) if one.child != NO_CHILD)
    return not world.synced >> place & 1 or all(one.child_has >> place & 1 for one in children)


def _written_to_child(world: World, place: int) -> World:
    for node, one in enumerate(world.replicas):
        if one.alive and one.counted:
            world = put(world, node, child_has=one.child_has | 1 << place)
    return _with_write(world, place, ACKED)


def _with_write(world: World, place: int, state: int) -> World:
    writes = list(world.writes)
    writes[place] = state
    return world._replace(writes=tuple(writes))


def compaction_steps(world: World, scope: Scope, design: Design) -> Iterator[Step]:
    """Yields manual compactions: the filter drops stale rows (F35)."""
    of_child, of_parent = half_mask(scope, CHILD_HALF), half_mask(scope, PARENT_HALF)
    if not world.meta.validates:
        return
    for node in living_members(world):
        one = world.replicas[node]
        takes = one.version == NEW or (one.version == REJECT and not design.careful_filter)
        stale = one.has & of_child & acked(world)  # uncommitted writes are not in RocksDB yet
        if takes and stale:
            yield ("compact_parent", node), put(world, node, has=one.has & ~stale)
        foreign = one.child_has & of_parent & acked(world)
        if one.active and foreign:
            yield ("compact_child", node), put(world, node, child_has=one.child_has & ~foreign)


def violation(world: World, scope: Scope, before: World | None = None) -> str | None:
    """Returns the first invariant that the state, or the step from `before` to it, breaks; None = none."""
    meta, done = world.meta, acked(world)
    of_child = half_mask(scope, CHILD_HALF)
    primary = leader(world)
    if meta.times not in {1, 2}:
        return COUNT
    if meta.child is not None and (meta.child[0] <= meta.born or _leaps(world, before)):
        return BALLOT
    if child_serves(world) and meta.child is not None:
        if said(world, CHILD_HALF) == OK:
            return DOUBLE
        if done & of_child & ~world.replicas[meta.child[1]].child_has:
            return LOST
    if primary is not None:
        served = done & ~of_child if primary.version == NEW or meta.child is not None else done
        if served & ~primary.has:
            return LOST
    if meta.asked and meta.doubled and meta.status == SPLITTING:
        return FORGOTTEN
    scan = world.scan
    if scan is not None and scan.is_over and not scan.flagged and (scan.due & ~scan.seen or scan.twice):
        return MISSCANNED
    return None


def _leaps(world: World, before: World | None) -> bool:
    """Returns whether a child was registered with another ballot than its parent's + 1, or a ballot went back."""
    if before is None:
        return False
    child, was = world.meta.child, before.meta.child
    back = world.meta.ballot < before.meta.ballot or (child is not None and was is not None and child[0] < was[0])
    return back or (was is None and child is not None and child[0] != world.meta.born + 1)


def is_settled(world: World) -> bool:
    """Returns whether the split has ended in a state that can last.

    It is then done, cancelled or paused, and every write is acknowledged.
    """
    meta, primary = world.meta, leader(world)
    if primary is None or any(state != ACKED for state in world.writes) or meta.pending:
        return False
    replicas = [world.replicas[node] for node in living_members(world)]
    if meta.child is not None:
        return child_serves(world) and all(one.version == NEW for one in replicas)
    ended = meta.status == PAUSED or (meta.status == IDLE and not meta.doubled and meta.asked == "cancel")
    return ended and primary.version == OLD and all(one.child == NO_CHILD for one in replicas)
