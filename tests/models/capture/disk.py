"""Models the disk on which scans are saved: it fills up, and every later scan is cut after some row."""

from collections.abc import Iterator

from tests.models.capture.scope import Scope
from tests.models.capture.servers import Action
from tests.models.capture.world import UNLIMITED, World


def disk_actions(world: World, scope: Scope) -> Iterator[Action]:
    """Yields the actions that the disk may take next."""
    if scope.cuts and world.room == UNLIMITED:
        for rows in range(len(world.rows)):
            yield fill_up, (rows,)


def fill_up(world: World, rows: int) -> World:
    """The disk of saved scans is full, or a copy of them stops: the first rows stay, and no closing count."""
    return world._replace(room=rows)
