"""A rehearsal changes nothing, and says what it cannot know."""

from typing import Any

import pytest

from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.common.errors import EXIT_UNAVAILABLE, UnavailableError
from tests.labs.cleanup.memory import Process
from tests.labs.cleanup.odd_store import RUN, attempt, cleaned, night, odd
from tests.labs.cleanup.world import PLACE, World, cleaning, purging


@pytest.mark.promise("clean-and-purge-rehearse")
def test_a_rehearsal_takes_no_step() -> None:
    world = night()
    for ready in (lambda: None, lambda: cleaning(RUN, 2)(world, Process())):
        ready()
        place, ports = world.edges(process := Process())
        if not world.actions(RUN):
            assert clean(CleanRequest(RUN), place, ports).result["status"] == "REHEARSAL"
        assert purge(PurgeRequest(before_grace="full"), place, ports).exit_code == 0
        assert process.steps == []


def test_a_rehearsal_says_what_is_not_settled_yet() -> None:
    world = night()
    with pytest.raises(UnavailableError):
        attempt(world, CleanupAction.CLEAN, odd(hides=".at-work-"))
    before = list(world.lake.deletions)
    said = purging(execute=False)(world, Process())
    assert said is not None
    assert "1 files that an earlier job began have no outcome yet; --execute looks them up first" in said.text
    place, ports = world.edges(Process())
    told = clean(CleanRequest(RUN), place, ports)
    assert "1 files that an earlier job began have no outcome yet; --resume looks them up first" in told.text
    assert world.lake.deletions == before


def test_a_rehearsal_that_would_leave_many_files_sends_nobody_to_rows_that_it_did_not_write() -> None:
    world = World()
    for number in range(22):
        world.archives(f"oldWALs/h1/wal.{number}", needed=False)
    world.night(RUN)
    world.needed |= world.ever
    place, ports = world.edges(Process())
    lines = clean(CleanRequest(RUN), place, ports).text.splitlines()
    assert sum(line.startswith("  REFUSED ") for line in lines) == 20
    (more,) = (line for line in lines if line.startswith("  … and"))
    assert more.startswith("  … and 2 more: --output json names up to 100 files; the table deletions has all, but not")


def test_a_rehearsal_of_a_run_that_another_job_takes_says_so() -> None:
    world = cleaned()
    place, ports = world.edges(Process())
    renamed = PLACE.at_work(RUN, 9)
    look = ports.second_look.at_quarantine

    def taken(*args: Any) -> Any:  # noqa: ANN401
        found = look(*args)
        ports.store.rename_directory(PLACE.at_rest(RUN), renamed)
        return found

    ports.second_look.at_quarantine = taken  # type: ignore[method-assign]
    told = purge(PurgeRequest(before_grace="full"), place, ports)
    assert told.exit_code == EXIT_UNAVAILABLE
    assert "another job is at work on run n1" in told.text
