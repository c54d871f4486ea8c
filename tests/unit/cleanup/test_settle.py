"""What settling writes about the files that a job before it had begun."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.ports import FileState, Move
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.quarantine import Quarantine, runs_in
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from tests.labs.cleanup.memory import Kill, MemoryStore, Process
from tests.labs.cleanup.world import FIRST, LEASE_MS, PLACE, Job, World, cleaning, killed, purging, restoring, settling

RUN = "n1"
FILES = [f"oldWALs/h1/wal.{number}" for number in (1, 2, 3)]


def world_before(action: CleanupAction) -> World:
    world = World()
    for path in FILES:
        world.archives(path, needed=False)
    world.night(RUN)
    if action is not CleanupAction.CLEAN:
        cleaning(RUN)(world, Process())
        world.disk.now += LEASE_MS
    return world


JOBS: dict[CleanupAction, Job] = {
    CleanupAction.CLEAN: cleaning(RUN),
    CleanupAction.RESTORE: restoring(RUN),
    CleanupAction.PURGE: purging(RUN),
}


def died(action: CleanupAction, step: str, *, after: bool = False) -> World:
    """A job of a run died at its first step of that name."""
    rehearsed = Process()
    JOBS[action](world_before(action), rehearsed)
    world = world_before(action)
    assert killed(JOBS[action], world, Process(Kill(rehearsed.steps.index(step), after)))
    world.disk.now += LEASE_MS
    return world


class Slow(MemoryStore):
    """Something happens after the first answer of the look for the files of a dead job, and before the others."""

    def __init__(self, inner: MemoryStore, meanwhile: Callable[[], object]) -> None:
        super().__init__(inner._disk, inner._process)
        self._meanwhile: Callable[[], object] | None = meanwhile

    def seen(self, uris: Sequence[str]) -> list[FileState | None]:
        if self._meanwhile is None or not any(uri.endswith(FILES[0]) for uri in uris):
            return super().seen(uris)
        first = super().seen(uris[:1])
        meanwhile, self._meanwhile = self._meanwhile, None
        meanwhile()
        return first + super().seen(uris[1:])


class Linked(MemoryStore):
    """Finds a symbolic link on the way when it is about to move."""

    def move(self, moves: Sequence[Move]) -> list[str | None]:
        raise RefusedError(Condition.SYMBOLIC_LINK, f"{moves[0].source} is below a link")


def test_the_next_job_settles_what_a_clean_had_begun_when_it_was_refused() -> None:
    world = world_before(CleanupAction.CLEAN)
    place, ports = world.edges(Process())
    with pytest.raises(RefusedError, match="is below a link"):
        clean(CleanRequest(RUN, execute=True), place, replace(ports, store=Linked(world.disk, Process())))
    assert len(world.open_intents()) == 2
    purging()(world, Process())
    assert (world.open_intents(), runs_in(world.disk.names(PLACE.home))) == (set(), {})


@pytest.mark.promise("holder-that-overslept-does-nothing", "settled-by-the-file-system")
def test_who_is_taken_over_while_it_looks_for_the_files_writes_nothing() -> None:
    """The next holder renames the directory in the middle of the look, so that the files seem deleted."""
    world = died(CleanupAction.PURGE, "delete wal.1")
    resting = world.resting()

    def meanwhile() -> None:
        world.disk.now += LEASE_MS
        settling()(world, Process())

    place, ports = world.edges(Process())
    before = len(world.lake.deletions)
    request = PurgeRequest(RUN, "full", execute=True)
    with pytest.raises(UnavailableError, match=f"another job holds lease {FIRST + 3}: this job stops"):
        purge(request, place, replace(ports, store=Slow(ports.store, meanwhile)))  # type: ignore[arg-type]
    assert world.resting() == resting
    written = [row.result.outcome.value for row in world.lake.deletions[before:] if row.result]
    assert written == ["FAILED", "FAILED"], "by the next holder, of the files of the dead job's batch"
    world.check()


@pytest.mark.promise("settled-by-the-file-system")
@pytest.mark.parametrize(
    ("action", "step", "after", "outcomes"),
    [
        (CleanupAction.CLEAN, "move wal.1", False, ["FAILED", "FAILED"]),
        (CleanupAction.CLEAN, "move wal.1", True, ["MOVED", "FAILED"]),
        (CleanupAction.CLEAN, "move wal.2", True, ["MOVED", "MOVED"]),
        (CleanupAction.RESTORE, "move wal.1", True, ["RESTORED", "FAILED"]),
        (CleanupAction.PURGE, "delete wal.1", True, ["PURGED", "FAILED"]),
        (CleanupAction.PURGE, "delete wal.2", True, ["PURGED", "PURGED"]),
    ],
)
def test_the_batch_of_a_dead_job_gets_its_outcomes_under_its_own_lease(
    action: CleanupAction, step: str, outcomes: list[str], *, after: bool
) -> None:
    world = died(action, step, after=after)
    before = len(world.lake.deletions)
    answer = JOBS[action](world, Process())
    assert answer is not None
    if action is not CleanupAction.PURGE:
        assert answer.result["settled_files"] == 2
    lease = FIRST if action is CleanupAction.CLEAN else FIRST + 1
    settled = [row for row in world.lake.deletions[before:] if row.lease == lease]
    assert [(row.subject.path, row.result and row.result.outcome.value) for row in settled] == [
        *zip(FILES[:2], outcomes, strict=True)
    ]
    assert all(row.batch == 1 for row in settled)
    world.check()


@pytest.mark.promise("settled-by-the-file-system")
@pytest.mark.parametrize("action", [CleanupAction.RESTORE, CleanupAction.PURGE])
def test_a_file_that_rests_in_place_of_another_is_not_said_to_have_left(action: CleanupAction) -> None:
    """Else its run would count as empty, though a file rests there that nobody has looked at."""
    world = died(action, "delete wal.1" if action is CleanupAction.PURGE else "move wal.1")
    (uri,) = (uri for uri in world.disk.below(PLACE.home) if uri.endswith(FILES[0]))
    world.disk.files[uri] = replace(world.disk.files[uri], length=99)
    answer = restoring(RUN)(world, Process())
    assert answer is not None
    settled = [row.result for row in world.lake.deletions if row.result and row.lease == FIRST + 1]
    assert [(one.outcome.value, one.place) for one in settled] == [
        ("CHANGED", f"{PLACE.at_rest(RUN)}/{FILES[0]}"),
        ("FAILED", f"{PLACE.at_rest(RUN)}/{FILES[1]}"),
    ]
    assert answer.result["left_files"] == 1
    assert {path for _, path in world.resting()} == {FILES[0]}


@pytest.mark.promise("settled-by-the-file-system")
def test_files_on_their_way_to_another_quarantine_are_not_called_gone() -> None:
    world = died(CleanupAction.CLEAN, "move wal.1", after=True)
    place, ports = world.edges(Process())
    changed = replace(place, quarantine=Quarantine("hdfs://ns1/walsafe/other", place.cluster))
    before = list(world.lake.deletions)
    said = f"began to move {FILES[0]} to {PLACE.at_rest(RUN)}/{FILES[0]}, but clean.quarantine is .*/walsafe/other now"
    with pytest.raises(UsageError, match=said):
        clean(CleanRequest(RUN, resume=True), changed, ports)
    assert world.lake.deletions == before
    world.disk.now += LEASE_MS
    answer = cleaning(RUN)(world, Process())
    assert answer is not None
    assert (answer.result["settled_files"], answer.result["gone_files"]) == (2, 0)
    assert {path for _, path in world.resting()} == set(FILES)


@pytest.mark.promise("settled-by-the-file-system")
@pytest.mark.parametrize("step", ["move wal.1", "move wal.2"])
def test_files_that_are_found_have_an_outcome_also_if_the_quarantine_was_moved(step: str) -> None:
    """Nothing had been moved yet, or somebody moved the whole quarantine with what was in it."""
    world = died(CleanupAction.CLEAN, step)
    other = Quarantine("hdfs://ns1/walsafe/other", PLACE.cluster)
    for uri in list(world.disk.below(PLACE.home)):
        if uri.endswith(FILES[0]):
            target = f"{other.at_rest(RUN)}/{FILES[0]}"
            world.disk.make(target.rpartition("/")[0])
            world.disk.files[target] = world.disk.files.pop(uri)
    place, ports = world.edges(Process())
    done = clean(CleanRequest(RUN, resume=True), replace(place, quarantine=other), ports)
    assert (done.exit_code, done.result["settled_files"], done.result["gone_files"]) == (0, 2, 0)
    assert not world.home()
    settled = [row.result for row in world.lake.deletions if row.result and row.lease == FIRST]
    assert [one.outcome.value for one in settled] == ["MOVED" if step == "move wal.2" else "FAILED", "FAILED"]
    assert {one.place for one in settled} <= {f"{other.at_rest(RUN)}/{FILES[0]}", None}
    assert len(world.disk.below(other.at_rest(RUN))) == len(FILES)


@pytest.mark.promise("settled-by-the-file-system")
@pytest.mark.parametrize("place", [f"hdfs://nn1:8020/walsafe/quarantine/prod/{RUN}", None])
def test_a_quarantine_under_another_name_of_its_file_system_is_the_same(place: str | None) -> None:
    """An older walsafe did not write the place into an intent."""
    world = died(CleanupAction.CLEAN, "move wal.1", after=True)
    world.lake.deletions = [replace(row, place=place and f"{place}/{row.subject.path}") for row in world.lake.deletions]
    world.hbase_cleans(FILES[1])
    answer = cleaning(RUN)(world, Process())
    assert answer is not None
    assert (answer.result["settled_files"], len(world.resting())) == (2, 2)
    world.check()


class Cold:
    """An archive that has everything at once."""

    def place(self, name: str) -> str:
        return f"hdfs://cold/archive/{name}"

    def keep(self, _sources: Sequence[str], names: Sequence[str]) -> list[tuple[str, str | None]]:
        return [(self.place(name), None) for name in names]


@pytest.mark.promise("settled-by-the-file-system")
def test_a_file_that_was_archived_before_the_job_died_is_known_to_be_there() -> None:
    def archiving(world: World, process: Process) -> Any:  # noqa: ANN401
        place, ports = world.edges(process)
        return purge(PurgeRequest(RUN, "full", execute=True), place, replace(ports, archive=Cold()))

    rehearsed = Process()
    archiving(world_before(CleanupAction.PURGE), rehearsed)
    world = world_before(CleanupAction.PURGE)
    assert killed(archiving, world, Process(Kill(rehearsed.steps.index("delete wal.1"), after=True)))
    world.disk.now += LEASE_MS
    restoring(RUN)(world, Process())
    (row,) = (
        row for row in world.lake.deletions if row.subject.path == FILES[0] and row.lease == FIRST + 1 and row.result
    )
    assert row.result is not None
    assert (row.result.outcome.value, row.result.place) == ("ARCHIVED", f"hdfs://cold/archive/prod/{RUN}/{FILES[0]}")
