"""The disk that scans are saved on: it fills up, and whatever is saved afterwards is cut behind some row."""

from collections.abc import Iterator

from tests.models.capture.scope import Scope
from tests.models.capture.servers import Action
from tests.models.capture.world import UNLIMITED, World


def disk_actions(world: World, scope: Scope) -> Iterator[Action]:
    """What the disk may do next."""
    if scope.cuts and world.room == UNLIMITED:
        for rows in range(len(world.rows)):
            yield fill_up, (rows,)


def fill_up(world: World, rows: int) -> World:
    """The disk of saved scans is full, or a copy of them stops: the first rows stay, and no closing count."""
    return world._replace(room=rows)
