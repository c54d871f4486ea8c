"""Models the ensemble as the capture meets it: servers that are behind, and sessions that end."""

from collections.abc import Iterator

from tests.models.capture.zookeeper.scope import ZkScope
from tests.models.capture.zookeeper.servers import Action
from tests.models.capture.zookeeper.world import World, Znodes


def quorum_actions(world: World, scope: ZkScope) -> Iterator[Action]:
    """Yields the next events of the ensemble."""
    ensemble = world.ensemble
    if scope.late and ensemble.late is None and ensemble.servers == 0 and not ensemble.session:
        yield fall_behind, (scope.late,)
    if world.budget.expiries and ensemble.late is not None:
        yield expire, ()


def fall_behind(world: World, servers: int) -> World:
    """Some servers of the ensemble hear nothing of their leader any more, and answer all the same."""
    return world._replace(ensemble=world.ensemble._replace(late=world.znodes, servers=servers))


def expire(world: World) -> World:
    """The capture's session expires; kazoo opens another, with a server that is behind and may not know it."""
    ensemble = world.ensemble
    budget = world.budget._replace(expiries=world.budget.expiries - 1)
    return world._replace(ensemble=ensemble._replace(asked=True, session=ensemble.session + 1), budget=budget)


def synced(world: World) -> World:
    """Returns the world after `sync`: the server that is asked has caught up with the leader."""
    ensemble = world.ensemble
    if not ensemble.asked:
        return world
    left = ensemble.servers - 1
    late = ensemble.late if left else None
    return world._replace(ensemble=ensemble._replace(late=late, servers=left, asked=False))


def seen_znodes(world: World) -> Znodes:
    """Returns the znodes as the server has them to which the capture is connected."""
    ensemble = world.ensemble
    return ensemble.late if ensemble.asked and ensemble.late is not None else world.znodes
