"""Looks that are behind, or do not show what is there: nothing is concluded from them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import CleanupAction, FileOutcome
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.lease import Lease
from pipelines.cleanup.ports import FileState
from pipelines.cleanup.quarantine import runs_in
from pipelines.common.errors import UnavailableError
from tests.labs.cleanup.memory import Behind, Entry, Process
from tests.labs.cleanup.odd_store import RUN, A, B, C, Odd, attempt, cleaned, night, odd, open_paths, outcomes
from tests.labs.cleanup.world import FIRST, LEASE_MS, PLACE


@pytest.mark.promise("look-that-is-behind-counts-for-nothing")
def test_settling_concludes_nothing_from_a_look_that_does_not_show_the_new_name() -> None:
    """Whatever else the look shows: the file of this job's own look too."""
    world = night()
    with pytest.raises(UnavailableError, match="was acknowledged"):
        attempt(world, CleanupAction.CLEAN, odd(hides=".at-work-"))
    world.disk.now += LEASE_MS

    class Blind(Odd):
        def seen(self, uris: Sequence[str]) -> list[FileState | None]:
            return [None if ".at-work-" in uri else one for uri, one in zip(uris, self.inner.seen(uris), strict=True)]

    place, ports = world.edges(Process())
    with pytest.raises(UnavailableError, match=r"the name that this job has just given it.*have no outcome yet"):
        clean(CleanRequest(RUN, resume=True), place, replace(ports, store=Blind(ports.store)))  # type: ignore[arg-type]
    assert open_paths(world) == {A}


@pytest.mark.parametrize("there", [RUN, PLACE.at_work(RUN, FIRST).rpartition("/")[2]])
def test_a_second_directory_of_a_run_that_was_not_shown_is_not_worked_in(there: str) -> None:
    """The next holder would take the empty one, and the files in the other would be out of sight."""
    world = cleaned()
    _, ports = world.edges(Process())
    if there != RUN:
        ports.store.rename_directory(PLACE.at_rest(RUN), f"{PLACE.home}/{there}")
    resting = world.resting()

    @dataclass
    class Blind(Odd):
        caught_up: bool = False

        def names(self, directory: str) -> list[str]:
            return [one for one in self.inner.names(directory) if one != there or self.caught_up]

        def make_directories(self, uris: Sequence[str]) -> None:
            self.inner.make_directories(uris)
            self.caught_up = uris != [PLACE.leases]

    said = f"shows .*{there}.* for run n1, and this job has just made"
    one = LeaseHolder(Blind(ports.store), PLACE, "one 1", LEASE_MS)  # type: ignore[arg-type]
    with pytest.raises(UnavailableError, match=said), one as holder:
        holder.make_run(RUN)
    assert runs_in(world.disk.names(PLACE.home)) == {RUN: there}
    assert world.resting() == resting


@pytest.mark.promise("holder-that-overslept-does-nothing")
@pytest.mark.parametrize(
    ("before", "said"),
    [
        (0, "another job took a lease below .* at the same moment"),
        (1, f"lease {FIRST + 1} expired and another job holds lease {FIRST + 2}"),
    ],
)
def test_a_lease_below_another_that_was_taken_meanwhile_is_none(before: int, said: str) -> None:
    """The job slept between its look and its lease; the next holders have come, gone, and removed the old leases."""
    world = night()

    def jobs(count: int = 2) -> None:
        for number in range(count):
            with LeaseHolder(world.edges(Process())[1].store, PLACE, f"other {number}", LEASE_MS):
                pass

    rehearsed = Process()
    LeaseHolder(night().edges(rehearsed)[1].store, PLACE, "dry run", LEASE_MS).__enter__()
    jobs(before)
    _, ports = world.edges(Process(meanwhile={rehearsed.steps.index(f"create {FIRST}.json"): jobs}))
    with pytest.raises(UnavailableError, match=said):
        LeaseHolder(ports.store, PLACE, "sleeper 9", LEASE_MS).__enter__()
    assert Lease(FIRST + 1 + before, "").file_name in world.disk.names(PLACE.leases)


@pytest.mark.promise("look-that-is-behind-counts-for-nothing")
def test_a_lease_that_cannot_be_proven_is_given_back() -> None:
    world = night()
    _, ports = world.edges(Process(behind=Behind([0] * 6 + [1000] * 50)))
    with pytest.raises(UnavailableError, match="its answers are stale"):
        LeaseHolder(ports.store, PLACE, "behind 1", LEASE_MS).__enter__()
    with LeaseHolder(world.edges(Process())[1].store, PLACE, "next 2", LEASE_MS) as next_one:
        assert next_one.number == FIRST + 1


@pytest.mark.promise("gone-is-looked-up")
def test_a_file_that_the_second_look_did_not_list_is_looked_up() -> None:
    world = night()
    world.hbase_cleans(B)
    place, ports = world.edges(Process())

    @dataclass
    class Blind:
        inner: Any

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the look has
            return getattr(self.inner, name)

        def at_list(self, *args: Any) -> Any:  # noqa: ANN401
            looked = self.inner.at_list(*args)
            gone = FileOutcome.ALREADY_GONE
            return replace(looked, files=[replace(one, outcome=gone, why="not listed") for one in looked.files])

    done = clean(CleanRequest(RUN, execute=True), place, replace(ports, second_look=Blind(ports.second_look)))  # type: ignore[arg-type]
    assert outcomes(world, CleanupAction.CLEAN) == {A: "REFUSED", B: "ALREADY_GONE", C: "REFUSED"}
    assert "the second look did not list it, but it is there" in done.text
    assert "1 are gone already: not below oldWALs any more. Who removed them is not known" in done.text


def test_a_first_attempt_looks_up_no_file_that_the_second_look_holds() -> None:
    """With WebHDFS each look is a request, and a peer may hold most of a list by now."""
    world = night()
    world.needed.add(world.home()[A].modification_time)
    stranger = f"{PLACE.at_rest(RUN)}/{A}"
    world.disk.make(stranger.rpartition("/")[0])
    world.disk.files[stranger] = Entry(9, 9)
    looked: list[str] = []

    class Watched(Odd):
        def seen(self, uris: Sequence[str]) -> list[FileState | None]:
            looked.extend(uris)
            return self.inner.seen(uris)

    for request, outcome in ((CleanRequest(RUN, execute=True), "REFUSED"), (CleanRequest(RUN, resume=True), "FAILED")):
        place, ports = world.edges(Process())
        clean(request, place, replace(ports, store=Watched(ports.store)))  # type: ignore[arg-type]
        assert outcomes(world, CleanupAction.CLEAN) == {A: outcome, B: "MOVED", C: "MOVED"}
        assert [uri.partition("/oldWALs/")[0].startswith(PLACE.home) for uri in looked if uri.endswith(A)] == (
            [True] if request.resume else []
        ), "only in the quarantine"
