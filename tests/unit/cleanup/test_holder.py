"""The holder of a cluster's lease: when it stops, and what it does with the directories of the runs."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import FileOutcome
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.lease import Lease
from pipelines.cleanup.ports import Move
from pipelines.cleanup.quarantine import lease_in, runs_in
from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_UNAVAILABLE, RefusedError, UnavailableError, UsageError, WalsafeError
from tests.labs.cleanup.memory import Entry, Kill, MemoryStore, Process
from tests.labs.cleanup.world import FIRST, LEASE_MS, PLACE, World, cleaning, killed, restoring

RUN, OTHER = "n1", "n2"
A = "oldWALs/h1/wal.1"


def cleaned(*runs: str) -> World:
    world = World()
    for run in runs or (RUN,):
        world.archives(f"{A}.{run}", needed=False)
        world.night(run)
        cleaning(run)(world, Process())
        world.disk.now += LEASE_MS
    return world


def holder(world: World, name: str = "me 1", process: Process | None = None) -> LeaseHolder:
    return LeaseHolder(MemoryStore(world.disk, process or Process()), PLACE, name, LEASE_MS)


def directories(world: World) -> list[str]:
    return [name for name in world.disk.names(PLACE.home) if name != ".leases"]


def steps(world: World, work: Callable[[LeaseHolder], object]) -> list[str]:
    """Names of the steps of a holder that does this work and nothing after it."""
    process = Process()
    work(holder(world, process=process).__enter__())
    return process.steps


class Odd(MemoryStore):
    """A file system with an odd answer."""

    def __init__(self, world: World, process: Process | None = None) -> None:
        super().__init__(world.disk, process or Process())


# the lease


@pytest.mark.promise("one-at-a-time")
@pytest.mark.parametrize(
    ("step", "earlier", "later"),
    [
        pytest.param(f"create {FIRST}.json", 0, 0, id="both-want-the-same-file"),
        pytest.param(f"create {FIRST}.json", 1000, 0, id="the-first-has-a-higher-number"),
        pytest.param("replace .now-2-2", 0, 1000, id="the-first-has-a-lower-number"),
    ],
)
def test_of_two_jobs_that_take_a_lease_at_the_same_moment_one_stops(step: str, earlier: int, later: int) -> None:
    """The second one looks for leases before the first one has its own, and the first one goes on."""
    world = World()
    first: list[LeaseHolder] = []

    def meanwhile() -> None:
        world.disk.now += earlier
        first.append(holder(world, "first 1").__enter__())
        world.disk.now += later

    second = Process()
    holder(World(), "second 2", second).__enter__()
    late = Process(meanwhile={second.steps.index(step): meanwhile})
    with pytest.raises(UnavailableError, match=r"another job took a lease below .* at the same moment") as told:
        holder(world, "second 2", late).__enter__()
    assert told.value.condition is Condition.LEASE_HELD
    first[0].check()
    assert world.disk.names(PLACE.leases) == [Lease(first[0].number, "").file_name]


@pytest.mark.promise("holder-that-overslept-does-nothing")
def test_a_holder_whose_lease_is_not_there_stops() -> None:
    """Somebody removed the file; nothing would keep the next job from the same number."""
    for before in (0, 1):
        world = World()
        for _ in range(before):
            with holder(world):
                pass
        mine = holder(world).__enter__()
        del world.disk.files[f"{PLACE.leases}/{Lease(mine.number, '').file_name}"]
        with pytest.raises(UnavailableError, match=rf"lease {FIRST + before} is missing in {PLACE.leases}"):
            mine.check()


@pytest.mark.promise("one-at-a-time")
def test_the_newest_of_several_leases_counts() -> None:
    """Its holder died, or sleeps, before it removed the older ones."""
    world = World()
    world.disk.make(PLACE.leases)
    for lease in (Lease(1, "first 1", released=True), Lease(2, "second 2")):
        world.disk.files[f"{PLACE.leases}/{lease.file_name}"] = Entry(1, world.disk.now, lease.text())
    with pytest.raises(UnavailableError, match="another job is at work on this cluster: second 2, lease 2 below"):
        holder(world, "third 3").__enter__()
    world.disk.now += LEASE_MS
    with holder(world, "third 3") as third:
        assert third.number == 3
        assert world.disk.names(PLACE.leases) == [Lease(3, "").file_name]


@pytest.mark.promise("one-at-a-time")
def test_a_check_renews_a_lease_when_a_tenth_of_its_life_is_over() -> None:
    """The life counts from a time before the renewal, so a slow renewal cannot make the next one late."""
    world = World()
    mine = holder(world).__enter__()
    lease, taken, tenth = f"{PLACE.leases}/{Lease(FIRST, '').file_name}", world.disk.now, LEASE_MS // 10
    renewed = {0: 0, tenth - 1: 0, tenth: tenth, 2 * tenth - 1: tenth, 2 * tenth: 2 * tenth, 5 * tenth: 5 * tenth}
    for passed, at in renewed.items():
        world.disk.now = taken + passed
        mine.check()
        assert world.disk.files[lease].modification_time == taken + at


def test_a_lease_that_vanishes_while_it_is_read_counts_as_held() -> None:
    world = World()
    holder(world).__enter__()
    world.disk.now += LEASE_MS

    class Late(Odd):
        def read(self, uri: str) -> str | None:
            del self._disk.files[uri]
            return super().read(uri)

    with pytest.raises(UnavailableError, match="another job is at work on this cluster: somebody who died"):
        LeaseHolder(Late(world), PLACE, "next 2", LEASE_MS).__enter__()


def test_who_has_not_taken_a_lease_has_no_number() -> None:
    with pytest.raises(UnavailableError, match="no lease is held"):
        _ = holder(World()).number


def test_what_proves_a_look_has_a_name_of_this_job_alone() -> None:
    """By the last word of the holder's name; a file of another job would prove nothing."""
    world = World()
    process = Process()
    with holder(world, "me@edge clean 7f3a", process):
        pass
    probes = {name.split()[1] for name in process.steps if ".now-" in name}
    assert probes
    assert all(name.startswith(".now-7f3a-") for name in probes)


def test_the_folder_of_leases_is_there_before_a_file_is_written_into_it() -> None:
    world = World()

    class Strict(Odd):
        """Makes no parents."""

        def replace(self, uri: str, text: str) -> None:
            assert uri.rpartition("/")[0] in self._disk.directories
            super().replace(uri, text)

    with LeaseHolder(Strict(world), PLACE, "me 1", LEASE_MS) as mine:
        assert mine.number == FIRST


# the runs


@pytest.mark.parametrize("at_rest", [True, False])
def test_of_two_directories_of_a_run_the_one_at_rest_counts_or_the_last_one(*, at_rest: bool) -> None:
    """The other is a tree of empty directories, which is no reason to stop."""
    names = [f".at-work-000000000{number}-{RUN}" for number in (2, 7)] + [RUN] * at_rest
    assert runs_in(names) == runs_in(names[::-1]) == {RUN: names[-1]}
    world = cleaned()
    world.disk.make(f"{PLACE.at_work(RUN, FIRST)}/oldWALs/h1")
    with holder(world, "who died 2") as dead:
        assert dead.number == FIRST + 1
    if not at_rest:
        MemoryStore(world.disk, Process()).rename_directory(PLACE.at_rest(RUN), PLACE.at_work(RUN, FIRST + 1))
    resting = world.resting()
    mine = holder(world).__enter__()
    taken = mine.take_run(RUN)
    assert taken == PLACE.at_work(RUN, mine.number)
    assert world.resting() == resting
    assert world.disk.below(taken)


def test_the_runs_are_in_order_whoever_works_on_them() -> None:
    world = cleaned(RUN, OTHER)
    MemoryStore(world.disk, Process()).rename_directory(PLACE.at_rest(OTHER), PLACE.at_work(OTHER, FIRST + 1))
    with holder(world) as mine:
        assert mine.runs() == {RUN: RUN, OTHER: f".at-work-{FIRST + 1}-{OTHER}"}
        assert list(mine.runs()) == [RUN, OTHER]


def test_a_run_that_is_not_there_is_made_only_on_demand() -> None:
    world = World()
    with holder(world) as mine:
        assert mine.take_run(RUN) is None
        assert directories(world) == []
        assert mine.make_run(RUN) == PLACE.at_work(RUN, FIRST)
        assert directories(world) == [f".at-work-{FIRST}-n1"]
    world.night(RUN)
    with pytest.raises(UsageError, match=f"run n1 of prod has no files in {PLACE.root}"):
        restoring(RUN)(world, Process())
    assert directories(world) == []


@pytest.mark.promise("holder-that-overslept-does-nothing")
def test_the_directory_of_the_next_holder_is_left_to_it() -> None:
    """That job has taken over after the check, and still works on the run."""
    world = cleaned()
    rehearsed = steps(cleaned(), lambda mine: mine.take_run(RUN))
    checked = rehearsed.index("delete .now-1-4")
    others: list[LeaseHolder] = []

    def meanwhile() -> None:
        world.disk.now += LEASE_MS
        others.append(holder(world, "next 2").__enter__())
        others[0].take_run(RUN)

    mine = holder(world, process=Process(meanwhile={checked + 1: meanwhile})).__enter__()
    with pytest.raises(UnavailableError, match=rf"\.at-work-{FIRST + 2}-n1 belongs to the next holder"):
        mine.take_run(RUN)
    assert directories(world) == [f".at-work-{FIRST + 2}-n1"]
    others[0].check()
    world.check()


@pytest.mark.parametrize("at_rest", [True, False])
def test_lease_numbers_rise_also_after_somebody_has_removed_the_leases(*, at_rest: bool) -> None:
    """Rows of the audit are sorted by lease; a job that died has its number in the name of the run's directory."""
    world = cleaned(*[f"n{number}" for number in range(1, 7)])
    if not at_rest:
        MemoryStore(world.disk, Process()).rename_directory(PLACE.at_rest(RUN), PLACE.at_work(RUN, FIRST + 5))
    for uri in world.disk.below(PLACE.leases):
        del world.disk.files[uri]
    resting = world.resting()
    with holder(world) as mine:
        assert mine.number == world.disk.now // 1000 > FIRST + 5
        assert mine.take_run(RUN) == PLACE.at_work(RUN, mine.number)
    with holder(world, "next 2") as following:
        assert following.number == mine.number + 1
    assert world.resting() == resting
    restoring(RUN)(world, Process())
    placed = world.lake.placed(world.lake.decided[RUN].run)
    assert {row.result.outcome.value for row in placed.values() if row.result} == {"RESTORED"}
    world.check()


@pytest.mark.promise("settled-by-the-file-system")
def test_a_quarantine_that_was_made_anew_does_not_get_the_old_lease_numbers_back() -> None:
    """No file could be moved, so there was no run either. An old outcome would hide an intent with the same number."""
    world = World()
    world.archives(A, needed=False)
    world.night(RUN)
    place, ports = world.edges(Process())

    class Refusing(Odd):
        def move(self, moves: Sequence[Move]) -> list[str | None]:
            return ["NSQuotaExceededException"] * len(moves)

    failed = clean(CleanRequest(RUN, execute=True), place, replace(ports, store=Refusing(world)))
    assert (failed.exit_code, directories(world)) == (EXIT_UNAVAILABLE, [])
    for uri in world.disk.below(PLACE.home):
        del world.disk.files[uri]
    world.disk.now += LEASE_MS
    rehearsed = Process()
    cleaning(RUN)(copy.deepcopy(world), rehearsed)
    assert killed(cleaning(RUN), world, Process(Kill(rehearsed.steps.index("move wal.1"), after=True)))
    world.disk.now += LEASE_MS
    cleaning(RUN)(world, Process())
    (row,) = world.lake.placed(world.lake.decided[RUN].run).values()
    assert row.result is not None
    assert row.result.outcome is FileOutcome.MOVED
    world.check()


def test_a_run_that_vanishes_before_it_is_renamed_is_not_worked_on() -> None:
    world = cleaned()

    class Late(Odd):
        def rename_directory(self, source: str, target: str) -> bool:
            super().rename_directory(source, f"{PLACE.root}/elsewhere")
            return super().rename_directory(source, target)

    mine = LeaseHolder(Late(world), PLACE, "me 1", LEASE_MS).__enter__()
    with pytest.raises(UnavailableError, match=f"{PLACE.at_rest(RUN)} vanished: another job may be at work"):
        mine.take_run(RUN)
    assert directories(world) == []


@pytest.mark.promise("look-that-is-behind-counts-for-nothing")
@pytest.mark.parametrize("files", [0, 1])
def test_a_renamed_run_that_is_not_shown_is_not_worked_on_and_stays(files: int) -> None:
    """Even without a file: intents may have no outcome yet, and only a run that is there is looked up."""
    world = cleaned()
    if not files:
        for uri in world.disk.below(PLACE.at_rest(RUN)):
            del world.disk.files[uri]

    class Blind(Odd):
        def names(self, directory: str) -> list[str]:
            return [name for name in super().names(directory) if not lease_in(name)]

    mine = LeaseHolder(Blind(world), PLACE, "me 1", LEASE_MS).__enter__()
    with pytest.raises(UnavailableError, match="shows nothing for run n1, and this job has just made"):
        mine.take_run(RUN)
    assert directories(world) == [f".at-work-{FIRST + 1}-n1"]
    assert len(world.resting()) == files


# the end


@pytest.mark.parametrize(
    ("error", "left"),
    [
        (None, []),
        (RefusedError(Condition.SYMBOLIC_LINK, "no"), [RUN]),
        (UnavailableError("no answer"), [RUN]),
        (UsageError("a bad word"), [RUN]),
        (KeyboardInterrupt(), [f".at-work-{FIRST}-n1"]),
    ],
)
def test_an_empty_run_goes_only_if_no_file_can_lack_an_outcome(error: BaseException | None, left: list[str]) -> None:
    world = World()
    try:
        with holder(world) as mine:
            mine.make_run(RUN)
            if error is not None:
                raise error
    except (WalsafeError, KeyboardInterrupt) as raised:
        assert raised is error  # noqa: PT017 - the error goes on as it is
    assert directories(world) == left


def test_a_job_that_is_killed_leaves_its_lease_as_it_is() -> None:
    world = cleaned()
    process = Process()
    mine = holder(world, process=process).__enter__()
    mine.take_run(RUN)
    done = len(process.steps)
    mine.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert len(process.steps) == done
    with pytest.raises(UnavailableError, match="another job is at work on this cluster: me 1"):
        holder(world, "next 2").__enter__()


def test_a_lease_is_given_back_at_the_end() -> None:
    world = World()
    with holder(world), pytest.raises(UnavailableError, match="another job is at work"):
        holder(world, "next 2").__enter__()
    with holder(world, "next 2") as second:
        assert second.number == FIRST + 1


def test_a_lease_is_given_back_if_the_older_ones_cannot_be_deleted() -> None:
    world = cleaned()

    class Failing(Odd):
        def delete(self, uris: Sequence[str]) -> list[str | None]:
            if f"{PLACE.leases}/{Lease(FIRST, '').file_name}" in uris:
                raise UnavailableError("the name node fails over")
            return super().delete(uris)

    with pytest.raises(UnavailableError, match="the name node fails over"):
        LeaseHolder(Failing(world), PLACE, "me 1", LEASE_MS).__enter__()
    with holder(world, "next 2") as second:
        assert second.number == FIRST + 2


def test_a_run_that_gets_no_name_at_rest_keeps_back_neither_the_other_runs_nor_the_lease() -> None:
    world = cleaned(RUN, OTHER)

    class Refusing(Odd):
        def rename_directory(self, source: str, target: str) -> bool:
            if target == PLACE.at_rest(RUN):
                raise UsageError("the right is missing")
            return super().rename_directory(source, target)

    with LeaseHolder(Refusing(world), PLACE, "me 1", LEASE_MS) as mine:
        number = mine.number
        mine.take_run(RUN)
        mine.take_run(OTHER)
    assert directories(world) == [f".at-work-{number}-{RUN}", OTHER]
    with holder(world, "next 2") as second:
        assert second.take_run(RUN) == PLACE.at_work(RUN, number + 1)
    assert directories(world) == [RUN, OTHER]


@pytest.mark.promise("holder-that-overslept-does-nothing")
def test_a_holder_that_was_taken_over_changes_nothing_at_its_end() -> None:
    world = cleaned()
    mine = holder(world).__enter__()
    mine.take_run(RUN)
    world.disk.now += LEASE_MS
    other = holder(world, "next 2").__enter__()
    for taken in (False, True):
        if taken:
            other.take_run(RUN)
        before = dict(world.disk.files), set(world.disk.directories)
        mine.__exit__(None, None, None)
        assert (world.disk.files, world.disk.directories) == before
    other.check()
