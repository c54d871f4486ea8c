"""A list that ends before its clean-up does: what is begun is settled, and nothing more is moved."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import CleanupAction
from pipelines.common.errors import RefusedError, UnavailableError
from pipelines.common.instants import DAY_MS
from tests.labs.cleanup.memory import Process
from tests.labs.cleanup.odd_store import RUN, A, attempt, night, odd, open_paths, outcomes
from tests.labs.cleanup.world import World, cleaning


@pytest.mark.promise("list-ends-in-the-middle")
def test_the_end_of_a_list_is_looked_at_before_every_batch_and_after_its_intents() -> None:
    """The first look is for a pause, the fifth comes after the second batch's intents, whose files do not move."""
    for looks, moved, refused in ((2, 0, 0), (3, 0, 2), (4, 2, 0), (5, 2, 1)):
        world = night()
        place, ports = world.edges(Process())
        clock = Clock(world, looks)
        done = clean(CleanRequest(RUN, execute=True), place, replace(ports, clock=clock))
        assert (done.exit_code, done.result["status"], done.result["done_files"]) == (3, "STOPPED", moved), looks
        assert done.result["left_files"] == refused, looks
        assert len(world.resting()) == moved
        assert open_paths(world) == set()
        error: Any = done.result["error"]
        assert f"{moved} files were moved, the others stay" in error["message"]
        assert error["condition"] == "LIST_EXPIRED"
        world.disk.now += DAY_MS + 1
        with pytest.raises(RefusedError, match="the list is valid until"):
            cleaning(RUN)(world, Process())
    world = night()
    place, ports = world.edges(Process())
    assert clean(CleanRequest(RUN, execute=True), place, replace(ports, clock=Clock(world, 6))).exit_code == 0


@pytest.mark.promise("settled-by-the-file-system")
def test_past_its_end_a_list_is_settled_before_it_is_refused() -> None:
    world = night()
    with pytest.raises(UnavailableError):
        attempt(world, CleanupAction.CLEAN, odd(hides=".at-work-"))
    world.disk.now += DAY_MS + 1
    with pytest.raises(RefusedError, match="the list is valid until"):
        cleaning(RUN)(world, Process())
    assert open_paths(world) == set()
    assert outcomes(world, CleanupAction.CLEAN)[A] == "MOVED"


@dataclass
class Clock:
    """Says that the list has ended after so many looks at it; the first is that before the second look."""

    world: World
    looks: int

    def now_ms(self) -> int:
        self.looks -= 1
        return self.world.disk.now + (DAY_MS + 1 if self.looks < 0 else 0)
