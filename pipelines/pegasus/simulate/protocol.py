"""Defines the steps of the protocol without failures: start, execute, register."""

from collections.abc import Iterator

from pipelines.pegasus.simulate.learning import is_point_reached, learning_steps
from pipelines.pegasus.simulate.scope import Design, Scope
from pipelines.pegasus.simulate.world import (
    CANCELING,
    IDLE,
    MADE,
    NEW,
    NO_CHILD,
    NO_LEAD,
    OLD,
    PAUSED,
    PAUSING,
    REJECT,
    SPLITTING,
    Meta,
    Replica,
    Step,
    World,
    leader,
    living_members,
    put,
    without_child,
)


def protocol_steps(world: World, scope: Scope, design: Design) -> Iterator[Step]:
    """Yields every step that servers can take next."""
    yield from _meta_steps(world, design)
    primary = leader(world)
    if primary is not None:
        yield from _primary_steps(world, primary, scope, design)
    for node in living_members(world):
        yield from _child_steps(world, node, design)


def _meta_steps(world: World, design: Design) -> Iterator[Step]:
    meta = world.meta
    if not meta.doubled and not meta.pending and meta.asked != "cancel" and not (design.check_disks and world.tight):
        yield ("start_split", 0), world._replace(meta=meta._replace(pending="double"))
    if world.tight and not meta.doubled and not meta.pending:
        yield ("disk_freed", 0), world._replace(tight=0)
    if meta.pending == "double":
        after = meta._replace(times=2, status=SPLITTING, pending="", validates=design.set_env)
        yield ("count_doubled", 0), world._replace(meta=after)
    if meta.pending == "halve":
        yield ("count_halved", 0), world._replace(meta=meta._replace(times=1, status=IDLE, pending=""))
    if meta.pending == "child":
        yield ("child_written", 0), _child_written(world, design)
    for kind, ballot, _ in sorted(world.mail):
        if kind == "register" and meta.pending == "child":
            yield ("answer_ERR_IO_PENDING", ballot), world  # F22: the request is sent again
        elif kind == "register" and not meta.pending and not _answered(world, ballot):
            yield ("meta_registers", ballot), _registered(world, ballot, design)
    yield from _stops(world)
    yield from _child_group(world)


def _child_written(world: World, design: Design) -> World:
    meta = world.meta
    child = (meta.ballot + design.ballot_step, meta.primary)
    meta = meta._replace(child=child, status=IDLE, pending="", born=meta.ballot)
    return _answer(world._replace(meta=meta), meta.ballot, "ERR_OK")


def _registered(world: World, ballot: int, design: Design) -> World:
    """[10, 11] Returns the world after meta has handled a request to register the child."""
    meta = world.meta
    if meta.child is not None:
        return _answer(world, ballot, "ERR_CHILD_REGISTERED")
    if design.check_ballot and ballot != meta.ballot:
        return _answer(world, ballot, "ERR_INVALID_VERSION")
    if meta.status != SPLITTING:
        return _answer(world, ballot, "ERR_INVALID_STATE")
    return world._replace(meta=meta._replace(pending="child"))


def _answer(world: World, ballot: int, error: str) -> World:
    return world._replace(mail=world.mail | {("answer", ballot, error)})


def _answered(world: World, ballot: int) -> bool:
    return any(kind == "answer" and about == ballot for kind, about, _ in world.mail)


def _stops(world: World) -> Iterator[Step]:
    """Yields the steps of pausing and cancelling: the primary ends all children, then meta records it."""
    meta = world.meta
    if meta.status not in {PAUSING, CANCELING} or meta.pending or world.lead.registering:
        return  # F21: meta refuses the registration first
    busy = [node for node in living_members(world) if world.replicas[node].child != NO_CHILD]
    for node in busy:
        after = put(world, node, **without_child(world.replicas[node])._asdict())
        yield ("stop_child", node), after._replace(lead=NO_LEAD)
    primary = leader(world)
    if not busy and primary is not None and primary.version == OLD:
        ended = meta._replace(status=PAUSED) if meta.status == PAUSING else meta._replace(pending="halve")
        yield ("all_stopped", 0), world._replace(meta=ended)


def _child_group(world: World) -> Iterator[Step]:
    """Yields the steps of the child's own group once meta has it.

    Its primary is notified, or another is elected (F28).
    """
    child = world.meta.child
    if child is None:
        return
    ballot, node = child
    one = world.replicas[node]
    if one.alive and one.counted and not one.active:
        yield ("child_told", node), put(world, node, active=True)
    if not one.alive or not one.counted:
        heirs = [place for place in living_members(world) if world.replicas[place].counted]
        for heir in heirs[:1]:
            yield ("child_elected", heir), world._replace(meta=world.meta._replace(child=(ballot + 1, heir)))


def _primary_steps(world: World, primary: Replica, scope: Scope, design: Design) -> Iterator[Step]:
    meta, lead, node = world.meta, world.lead, world.meta.primary
    nodes = living_members(world)
    everyone = sum(1 << place for place in nodes)
    healthy = not world.learner and everyone == meta.members and len(nodes) >= min(2, scope.replicas)
    splitting = meta.doubled and meta.child is None and meta.status == SPLITTING
    if splitting and healthy and primary.child == NO_CHILD and primary.version == OLD:
        yield ("create_child", node), _created(world, design)  # [3, 4]
    if meta.doubled and meta.child is not None and primary.version == OLD:
        yield ("query_child", node), _activated(world, node)
    if design.query_first and primary.version == REJECT and not lead.registering:
        yield ("config_sync", node), _activated(world, node) if meta.child else put(world, node, version=OLD)
    if lead.caught == everyone and healthy and not lead.sync:
        yield ("sync_mode", node), world._replace(lead=lead._replace(sync=True))  # [7]
    if lead.sync and not lead.point and is_point_reached(world, design):
        yield ("sync_point", node), world._replace(lead=lead._replace(point=True))
    for place in nodes:
        if lead.point and world.replicas[place].counted and not lead.counted >> place & 1:
            yield ("count_acked", place), world._replace(lead=lead._replace(counted=lead.counted | 1 << place))  # [9]
    if lead.point and lead.counted == everyone and healthy and not lead.registering:
        yield ("register_child", node), _asked(world, node, design)  # [10]
    for kind, ballot, error in sorted(world.mail):
        if kind == "answer":
            yield (f"answer_{error}", ballot), _taken(world, ballot, error)
    for place in nodes:
        if primary.version == NEW and world.replicas[place].version != NEW:
            counted = world.replicas[place].counted
            yield ("group_count", place), put(world, place, version=NEW, active=counted)


def _created(world: World, design: Design) -> World:
    """Returns the world after the primary has started the split.

    Secondaries that have no child, or that must restart, start with it.
    """
    nodes = living_members(world)
    for node in nodes:
        one = world.replicas[node]
        if node == world.meta.primary or one.child == NO_CHILD or design.restart_all:
            fresh = without_child(one)._replace(child=MADE, child_ballot=one.ballot)
            world = put(world, node, **fresh._asdict())
    return world._replace(lead=NO_LEAD)


def _asked(world: World, node: int, design: Design) -> World:
    world = put(world, node, version=REJECT) if design.reject else world
    mail = world.mail | {("register", world.meta.ballot, "")}
    return world._replace(lead=world.lead._replace(registering=True), mail=mail)


def _taken(world: World, ballot: int, error: str) -> World:
    """[12] Returns the world after the primary has handled meta's answer; it drops an answer about another ballot."""
    world = world._replace(mail=frozenset(one for one in world.mail if one[1] != ballot))
    if ballot != world.meta.ballot or not world.lead.registering:
        return world
    node = world.meta.primary
    if error in {"ERR_OK", "ERR_CHILD_REGISTERED"}:
        return _activated(world, node)
    for place in living_members(world):
        world = put(world, place, **without_child(world.replicas[place])._asdict())
    return put(world, node, version=OLD)._replace(lead=NO_LEAD)


def _activated(world: World, node: int) -> World:
    """[12, 13] Returns the world after the activation: first the child serves, then the parent gives its half away."""
    counted = world.replicas[node].counted
    return put(world, node, version=NEW, active=counted)._replace(lead=NO_LEAD)


def _child_steps(world: World, node: int, design: Design) -> Iterator[Step]:
    one, lead = world.replicas[node], world.lead
    if one.child == NO_CHILD:
        primary = leader(world)
        splitting = world.meta.status == SPLITTING and world.meta.child is None
        if splitting and primary is not None and primary.child != NO_CHILD and node != world.meta.primary:
            yield ("group_check", node), put(world, node, child=MADE, child_ballot=one.ballot)
        return
    if one.child_ballot != one.ballot:
        return
    if one.child == MADE and world.tight >> node & 1:
        yield ("disk_full", node), put(world, node, alive=False)  # F37: parent and child are on one disk
        return
    yield from learning_steps(world, node, design)
    if lead.point and not one.counted and not one.active:
        yield ("update_count", node), put(world, node, counted=True)  # [8]


def meta_after_failover(meta: Meta, design: Design) -> Meta:
    """Returns the state that a new meta leader reads from ZooKeeper: the count, and whether there is a child."""
    forgotten = SPLITTING if meta.doubled and meta.child is None else IDLE
    keeps = design.remember_pause and meta.status in {PAUSED, PAUSING, CANCELING}
    return meta._replace(status=meta.status if keeps else forgotten, pending="")
