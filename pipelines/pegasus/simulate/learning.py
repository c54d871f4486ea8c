"""Defines how a child learns from its parent: checkpoint, private log, prepare list, then the mutations copied since.

As in Pegasus (`replica_split_manager.cpp`), nobody compares the data of parent and child. A child that was brought all
that is due to it passes for one that has everything, up to the decree of the last mutation.
"""

from collections.abc import Iterator

from pipelines.pegasus.simulate.scope import Design
from pipelines.pegasus.simulate.world import (
    CAUGHT_UP,
    CHECKPOINTED,
    LEARNT,
    LISTING,
    MADE,
    NOTIFIED,
    PREPARED,
    Replica,
    Step,
    World,
    acked,
    living_members,
    put,
)


def learning_steps(world: World, node: int, design: Design) -> Iterator[Step]:
    """[5, 6] Yields the steps in which the child of a node learns and is brought mutations, one by one.

    A child that serves takes only mutations of sync mode, whose answer its parent awaits.
    """
    one, committed = world.replicas[node], acked(world)
    if one.child == MADE:
        yield ("checkpoint", node), put(world, node, child=CHECKPOINTED, child_has=one.has & committed)
    elif one.child == CHECKPOINTED:
        yield ("learn", node), put(world, node, child=LEARNT, due=to_learn(one, committed, design))
    elif one.child == LISTING and not unlisted(one) & ~committed:
        yield ("list_copied", node), put(world, node, child=LEARNT)
    coming = one.due & world.synced & ~committed if one.active else one.due
    if one.child >= LEARNT and coming:
        first = coming & -coming
        yield ("copy", node), put(world, node, child_has=one.child_has | first, due=one.due & ~first)
    if one.child == LEARNT and not one.due & committed:
        yield ("catch_up", node), put(world, node, child=CAUGHT_UP)
    if one.child == CAUGHT_UP:
        caught = world.lead._replace(caught=world.lead.caught | 1 << node)
        yield ("notify", node), put(world, node, child=NOTIFIED)._replace(lead=caught)


def to_learn(one: Replica, committed: int, design: Design) -> int:
    """Returns what a child must be brought after the checkpoint.

    The private log has what was committed since the checkpoint; the prepare list has what is not committed yet.
    """
    missing = one.has & ~one.child_has
    log = missing & committed if design.replay_log else 0
    prepared = missing & ~committed if design.copy_list else 0
    return log | prepared


def unlisted(one: Replica) -> int:
    """Returns the writes that a torn copy of the prepare list has left out.

    The decree of the copy covers them only if they are committed before the copy ends. In the other case an assertion
    ends Pegasus's server; the model leaves these histories out.
    """
    return one.has & ~one.child_has & ~one.due


def sent_to_child(one: Replica, place: int, design: Design) -> Replica:
    """Returns the replica after its parent has prepared a write and sent a copy to the child.

    A child drops copies that arrive before it has the prepare list (`on_copy_mutation`).
    """
    listens = one.child >= LEARNT or (one.child == LISTING and design.whole_list)
    return one._replace(due=one.due | 1 << place) if listens and not one.active else one


def is_point_reached(world: World, design: Design) -> bool:
    """Returns whether the sync point, an empty mutation after all others, is committed.

    Then all earlier mutations are committed, and each child has answered the empty one, which comes after all that was
    due to it. This is the only comparison of parent and child.
    """
    children = (world.replicas[node] for node in living_members(world))
    unsettled = any(state == PREPARED and not world.synced >> place & 1 for place, state in enumerate(world.writes))
    return not design.sync_point or (not unsettled and all(one.child >= CAUGHT_UP and not one.due for one in children))
