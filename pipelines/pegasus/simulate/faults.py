"""Defines the faults and operator actions of the model; each step uses one of the faults that a search allows."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pipelines.pegasus.simulate.learning import to_learn
from pipelines.pegasus.simulate.protocol import meta_after_failover
from pipelines.pegasus.simulate.scope import Design, Scope
from pipelines.pegasus.simulate.world import (
    CANCELING,
    CAUGHT_UP,
    CHECKPOINTED,
    LEARNT,
    LISTING,
    MADE,
    NO_CHILD,
    NO_LEAD,
    OLD,
    PAUSED,
    PAUSING,
    PREPARED,
    REJECT,
    SPLITTING,
    UNSENT,
    Step,
    World,
    acked,
    living_members,
    put,
    without_child,
)

Fault = Callable[[World, Design], Iterator[Step]]


def fault_steps(world: World, scope: Scope, design: Design) -> Iterator[Step]:
    """Yields the faults that can happen next, and meta's reaction to a dead node."""
    if world.faults > 0:
        for name in sorted(scope.may):
            for move, after in FAULTS[name](world, design):
                yield move, after._replace(faults=world.faults - 1)
    yield from _reconfigured(world, design)
    if world.learner:
        yield ("learner_done", 0), world._replace(learner=False)


def _reconfigured(world: World, design: Design) -> Iterator[Step]:
    """Yields the step in which meta removes a dead node from the group with a new ballot.

    Meta does this only while no other write of meta is pending.
    """
    meta = world.meta
    dead = [node for node, one in enumerate(world.replicas) if not one.alive and meta.members >> node & 1]
    nodes = living_members(world)
    if dead and nodes and not meta.pending:
        primary = meta.primary if world.replicas[meta.primary].alive else nodes[0]
        yield ("reconfigure", dead[0]), _new_ballot(world, primary, meta.members & ~(1 << dead[0]), design)


def _new_ballot(world: World, primary: int, members: int, design: Design) -> World:
    """F7: returns the world after a new ballot, which ends all children unless meta has registered the child.

    Parents keep or reset their version. The writes that are under way are never answered; their clients try again.
    """
    meta = world.meta._replace(ballot=world.meta.ballot + 1, primary=primary, members=members)
    promoted = primary != world.meta.primary
    writes = tuple(UNSENT if state == PREPARED else state for state in world.writes)
    world = world._replace(meta=meta, lead=NO_LEAD, synced=0, writes=writes)
    for node in living_members(world):
        one = world.replicas[node]
        if design.drop_children and not (meta.child is not None and one.counted):
            one = without_child(one)
        # writes that were under way are sent again: whatever copies of them there are belong to the old ballot
        one = one._replace(due=0, has=one.has & acked(world), child_has=one.child_has & acked(world))
        version = OLD if one.version == REJECT else one.version
        if node == primary and design.query_first and version == OLD and meta.doubled and (promoted or meta.child):
            version = REJECT
        child_ballot = one.child_ballot if design.drop_children else meta.ballot
        world = put(
            world, node, **one._replace(ballot=meta.ballot, version=version, child_ballot=child_ballot)._asdict()
        )
    return world


def _crash(world: World, _design: Design) -> Iterator[Step]:
    """Yields the steps in which a node dies; at least two nodes stay.

    With one node, a split waits until meta has found another node, which the model does not have.
    """
    nodes = living_members(world)
    for node in nodes if len(nodes) > 2 else ():
        yield ("crash", node), put(world, node, alive=False)


def _restart(world: World, design: Design) -> Iterator[Step]:
    """F18: yields the steps in which a node returns outside the group.

    The directory of its child looks valid, although meta has no such child.
    """
    for node, one in enumerate(world.replicas):
        out = not world.meta.members >> node & 1
        if not one.alive and out and one.counted:
            known = world.meta.child is not None
            kept = one if known or not design.discard_orphans else without_child(one)
            loaded = not known and not design.discard_orphans
            after = put(world, node, **kept._replace(alive=True, active=loaded)._asdict())
            meta = after.meta._replace(child=(after.meta.ballot + 1, node), born=after.meta.ballot)
            yield ("restart", node), after._replace(meta=meta) if loaded else after


def _move_primary(world: World, design: Design) -> Iterator[Step]:
    for node in living_members(world):
        if node != world.meta.primary and not world.meta.pending:
            yield ("move_primary", node), _new_ballot(world, node, world.meta.members, design)


def _meta_failover(world: World, design: Design) -> Iterator[Step]:
    yield ("meta_failover", 0), world._replace(meta=meta_after_failover(world.meta, design))


def _zookeeper_timeout(world: World, _design: Design) -> Iterator[Step]:
    """F2, F25: yields the step in which a write to ZooKeeper did not happen.

    Meta's memory is unchanged, and the request is sent again.
    """
    if world.meta.pending in {"double", "child"}:
        yield ("zookeeper_timeout", 0), world._replace(meta=world.meta._replace(pending=""))


def _child_fails(world: World, _design: Design) -> Iterator[Step]:
    """F6, F10, F11: yields the steps in which a child cannot be created or cannot learn.

    Only its own parent notices.
    """
    for node in living_members(world):
        one = world.replicas[node]
        if MADE <= one.child <= LEARNT:
            after = put(world, node, **without_child(one)._asdict())
            yield ("child_fails", node), after._replace(lead=NO_LEAD) if node == world.meta.primary else after


def _copy_fails(world: World, _design: Design) -> Iterator[Step]:
    """F9: yields the steps in which the checkpoint could not be copied. The child starts to learn again."""
    for node in living_members(world):
        if world.replicas[node].child == CHECKPOINTED:
            yield ("copy_fails", node), put(world, node, child=MADE, child_has=0)


def _list_slow(world: World, design: Design) -> Iterator[Step]:
    """F38: yields the steps in which a parent is slow to copy its prepare list, and takes writes meanwhile."""
    for node in living_members(world):
        one = world.replicas[node]
        if one.child == CHECKPOINTED and one.child_ballot == one.ballot:
            due = to_learn(one, acked(world), design)
            yield ("list_slow", node), put(world, node, child=LISTING, due=due)


def _three_second_check(world: World, design: Design) -> Iterator[Step]:
    """F39: yields the steps in which a child's check, every three seconds, finds another ballot at its parent.

    The child ends (`child_check_split_context`, `parent_check_states`), although meta may have registered it.
    """
    if world.meta.child is None:
        return  # a new ballot has ended the children
    for node in living_members(world):
        one = world.replicas[node]
        if one.child != NO_CHILD and not one.active and one.child_ballot != one.ballot:
            ended = one if design.spare_registered else without_child(one)
            yield ("three_second_check", node), put(world, node, **ended._asdict())


def _child_refuses(world: World, design: Design) -> Iterator[Step]:
    """F14: yields the steps in which a child refuses a mutation of sync mode.

    The primary treats this as a failed replica: a new ballot.
    """
    if world.lead.sync and world.meta.child is None and not world.meta.pending:
        for node in living_members(world):
            if world.replicas[node].child != NO_CHILD:
                # the node leaves the group and returns: two configurations
                left = world._replace(meta=world.meta._replace(ballot=world.meta.ballot + 1))
                yield ("child_refuses", node), _new_ballot(left, world.meta.primary, world.meta.members, design)


def _notify_refused(world: World, _design: Design) -> Iterator[Step]:
    """F13: yields the steps in which the primary refuses a child's message that it is caught up. The child ends."""
    for node in living_members(world):
        if world.replicas[node].child == CAUGHT_UP:
            after = put(world, node, **without_child(world.replicas[node])._asdict())
            yield ("notify_refused", node), after._replace(lead=NO_LEAD) if node == world.meta.primary else after


def _count_outdated(world: World, _design: Design) -> Iterator[Step]:
    """F17: yields the steps in which a child answers VERSION_OUTDATED to the new count.

    The primary leaves sync mode and starts it again.
    """
    if world.lead.point and not world.lead.registering:
        lead = world.lead._replace(sync=False, point=False, counted=0)
        yield ("count_outdated", 0), world._replace(lead=lead)


def _disk_tight(world: World, _design: Design) -> Iterator[Step]:
    """F37: yields the steps in which other tables use the space that a split needs.

    Then used + 3 times the table is above 90 % of the disk.
    """
    for node in living_members(world) if not world.meta.doubled and not world.meta.pending else ():
        if not world.tight >> node & 1:
            yield ("disk_tight", node), world._replace(tight=world.tight | 1 << node)


def _learner(world: World, _design: Design) -> Iterator[Step]:
    """F3, F17: yields the step in which a learner appears; a split in sync mode is aborted."""
    if not world.learner:
        lead = world.lead._replace(sync=False, point=False, counted=0) if not world.lead.registering else world.lead
        yield ("learner", 0), world._replace(learner=True, lead=lead)


def _answer_lost(world: World, _design: Design) -> Iterator[Step]:
    """F24: yields the steps in which meta's answer is lost; the request remains."""
    for one in sorted(world.mail):
        if one[0] == "answer":
            yield ("answer_lost", one[1]), world._replace(mail=world.mail - {one})


def _pause(world: World, _design: Design) -> Iterator[Step]:
    meta = world.meta
    if meta.status == SPLITTING and not meta.pending:
        yield ("pause", 0), world._replace(meta=meta._replace(status=PAUSING, asked="pause"))


def _restart_split(world: World, _design: Design) -> Iterator[Step]:
    if world.meta.status == PAUSED:
        yield ("restart_split", 0), world._replace(meta=world.meta._replace(status=SPLITTING, asked=""))


def _cancel(world: World, _design: Design) -> Iterator[Step]:
    """F32: yields the step that cancels the split. F33: meta refuses with CHILD_REGISTERED once it has the child."""
    meta = world.meta
    if meta.status in {SPLITTING, PAUSED, PAUSING} and meta.child is None and not meta.pending:
        yield ("cancel", 0), world._replace(meta=meta._replace(status=CANCELING, asked="cancel"))
    elif meta.child is not None:
        yield ("cancel_refused", 0), world


REQUESTS = {"wrong_count": 3, "no_app": 2, "dropped_app": 2, "again": 4}
"""Requests for a split that meta must refuse (F1), and the requested count as a multiple of the old one."""


def start_error(request: str, world: World) -> str:
    """Returns meta's answer to a request, in the order of `meta_split_service::start_partition_split`."""
    if request in {"no_app", "dropped_app"}:
        return "ERR_APP_NOT_EXIST" if request == "no_app" else "ERR_APP_DROPPED"
    if REQUESTS[request] != 2 * world.meta.times:
        return "ERR_INVALID_PARAMETERS"
    return "ERR_BUSY" if world.meta.is_splitting else "ERR_OK"


def _asked(world: World, design: Design, request: str) -> Iterator[Step]:
    """F1: yields a refused request, which must not change anything.

    A request for another table cannot affect this one.
    """
    error = start_error(request, world)
    if error == "ERR_OK" or world.meta.pending:
        return  # ERR_OK would start the split itself; the next doubling is another split
    taken = not design.check_start and error in {"ERR_INVALID_PARAMETERS", "ERR_BUSY"}
    meta = world.meta._replace(times=REQUESTS[request], status=SPLITTING) if taken else world.meta
    yield (f"ask_{request}", 0), world._replace(meta=meta)


FAULTS: Mapping[str, Fault] = {
    "crash": _crash,
    "restart": _restart,
    "move_primary": _move_primary,
    "meta_failover": _meta_failover,
    "zookeeper_timeout": _zookeeper_timeout,
    "child_fails": _child_fails,
    "copy_fails": _copy_fails,
    "list_slow": _list_slow,
    "three_second_check": _three_second_check,
    "child_refuses": _child_refuses,
    "learner": _learner,
    "answer_lost": _answer_lost,
    "pause": _pause,
    "restart_split": _restart_split,
    "cancel": _cancel,
    "notify_refused": _notify_refused,
    "count_outdated": _count_outdated,
    "disk_tight": _disk_tight,
    **{f"ask_{name}": partial(_asked, request=name) for name in REQUESTS},
}
