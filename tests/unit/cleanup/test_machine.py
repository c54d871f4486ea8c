"""No needed WAL is ever out of reach, and the audit equals the file system: whoever dies or sleeps, and where.

The use cases run unchanged; only the file system and the audit tables are in memory (`tests.labs.cleanup.memory`).
"""

import pickle
import random
from dataclasses import replace
from functools import cache, partial

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pipelines.cleanup.deletions import FileOutcome
from pipelines.common.errors import RefusedError, UnavailableError, UsageError, WalsafeError
from pipelines.common.instants import DAY_MS
from tests.labs.cleanup.memory import Behind, Kill, Killed, Process
from tests.labs.cleanup.world import FIRST, LEASE_MS, Job, World, cleaning, killed, purging, restoring, settling
from tests.suite.sizes import examples

N1 = "n1"
FILES = [f"oldWALs/h{server}/wal.{number}" for server in (1, 2) for number in (1, 2, 3)]
LISTED = FILES[:3] + FILES[4:]
"""What the first list holds; the other file is needed."""


@cache
def pickled_world(cleaned: bool) -> bytes:
    """A night is over; thousands of tests begin here, and reading the pickle takes a tenth of the time."""
    world = World()
    for path in FILES:
        world.archives(path, needed=path not in LISTED)
    world.night(N1)
    if cleaned:
        cleaning(N1)(world, Process())
    return pickle.dumps(world)


def world_before(kind: str) -> World:
    """A night is over; before restore and purge it was cleaned too."""
    world = pickle.loads(pickled_world(kind != "clean"))  # noqa: S301 - pickled above
    assert isinstance(world, World)
    return world


JOBS: dict[str, Job] = {
    "clean": cleaning(N1),
    "restore": restoring(N1),
    "restore-one": restoring(N1, FILES[0], FILES[1], FILES[2]),
    "purge": purging(),
}


@cache
def undisturbed(kind: str) -> object:
    """The world after the job, when nobody disturbs it."""
    world = world_before(kind)
    JOBS[kind](world, Process())
    return world.view()


def dry_run(kind: str) -> list[str]:
    """Names of a job's steps when nobody disturbs it."""
    process = Process()
    JOBS[kind](world_before(kind), process)
    return process.steps


STEPS = [(kind, number, name) for kind in JOBS for number, name in enumerate(dry_run(kind))]
NAMED = [pytest.param(kind, number, id=f"{kind}-{number}-{name}") for kind, number, name in STEPS]


def test_every_side_effect_is_a_step() -> None:
    """Were a call of a port no step, nobody would ever be killed there."""
    assert {name.partition(" ")[0] for _, _, name in STEPS} == {
        "make_directories", "create", "write", "replace", "rename_directory", "remove_empty",
        "started", "intend", "move", "delete", "record", "ended",
    }  # fmt: skip


@pytest.mark.promise(
    "killed-clean-is-resumed", "clean-is-reversible", "intent-before-rename", "no-order-of-deaths-loses-a-file"
)
@pytest.mark.parametrize(("kind", "number"), NAMED)
def test_killed_at_any_step_it_ends_the_same_when_it_is_run_again(kind: str, number: int) -> None:
    for after in (False, True):
        world = world_before(kind)
        assert killed(JOBS[kind], world, Process(Kill(number, after)))
        world.check()
        world.disk.now += LEASE_MS
        run_again(kind, world)
        world.check()
        assert world.view() == undisturbed(kind), f"killed {'after' if after else 'before'}"


def run_again(kind: str, world: World) -> None:
    """The same command; restore alone says so when there is nothing left to do."""
    error = attempted(JOBS[kind], world, Process())
    assert error is None or (error is UsageError and kind == "restore" and not world.resting())


@pytest.mark.promise("settled-by-the-file-system")
@pytest.mark.parametrize(("kind", "number"), NAMED)
def test_files_that_a_person_put_back_after_a_job_died_are_not_said_to_be_deleted(kind: str, number: int) -> None:
    world = world_before(kind)
    assert killed(JOBS[kind], world, Process(Kill(number, after=True)))
    for path in FILES:
        world.put_back_by_hand(path)
    home = world.home()
    world.disk.now += LEASE_MS
    assert attempted(OTHERS["settle"], world, Process()) is None
    world.check()
    assert world.home() == home
    says = {row.subject.path: row.result.outcome for row in world.lake.deletions if row.result}
    assert not {path for path in home if says.get(path) in (FileOutcome.PURGED, FileOutcome.ARCHIVED)}


@pytest.mark.promise("restore-brings-back")
def test_a_restore_of_some_files_goes_on_after_hbase_deleted_what_it_gave_back() -> None:
    world = world_before("restore-one")
    intends = [number for number, name in enumerate(dry_run("restore-one")) if name == "intend"]
    assert killed(JOBS["restore-one"], world, Process(Kill(intends[1], after=True)))
    for path in FILES[:2]:
        world.hbase_cleans(path)
    world.disk.now += LEASE_MS
    assert attempted(JOBS["restore-one"], world, Process()) is None
    assert FILES[2] in world.home()
    world.check()


@pytest.mark.promise("hbases-cleaner-is-no-rival")
@pytest.mark.parametrize(("kind", "number"), NAMED)
def test_hbases_cleaner_at_any_step_leaves_no_file_without_an_outcome(kind: str, number: int) -> None:
    """Also when it takes a file that restore has just given back, before restore looks at it again."""
    for path in LISTED:
        world = world_before(kind)

        def cleaner(world: World = world, path: str = path) -> None:
            if path in world.home():
                world.hbase_cleans(path)

        assert attempted(JOBS[kind], world, Process(meanwhile={number: cleaner})) is None
        assert not world.open_intents()
        world.check()


OTHERS: dict[str, Job] = {
    "clean": cleaning(N1),
    "restore": restoring(N1),
    "restore-one": restoring(N1, FILES[0]),
    "purge": purging(),
    "settle": settling(),
}


@pytest.mark.promise("holder-that-overslept-does-nothing")
@pytest.mark.parametrize(("kind", "number"), NAMED)
def test_a_holder_that_sleeps_past_its_lease_changes_nothing_after_the_next_one(kind: str, number: int) -> None:
    for name, job in OTHERS.items():
        world = world_before(kind)
        seen: list[object] = []

        def meanwhile(job: Job = job, world: World = world, seen: list[object] = seen) -> None:
            world.disk.now += LEASE_MS
            attempted(job, world, Process())
            world.check()
            if world.disk.taken.get(N1, 0) > FIRST + (
                kind != "clean"
            ):  # a job that is refused takes the lease alone, and touches nothing
                seen.append((world.home(), world.resting()))

        held = attempted(JOBS[kind], world, Process(meanwhile={number: meanwhile}))
        world.check()
        if held is UnavailableError and seen:
            assert seen == [(world.home(), world.resting())], name
        world.disk.now += LEASE_MS
        attempted(OTHERS["settle"], world, Process())
        world.check()
        rests = {run for run, _ in world.resting()}
        assert not rests or not world.lake.unsettled(world.lake.decided[N1].run), name


@pytest.mark.promise("list-is-cleaned-once")
def test_a_list_restored_while_a_resume_waits_for_its_lease_is_not_cleaned_again() -> None:
    world = world_before("clean")
    cleaning(N1, 1)(world, Process())
    restored = partial(attempted, restoring(N1), world, Process())
    assert attempted(cleaning(N1), world, Process(meanwhile={0: restored})) is RefusedError
    assert not world.resting()


@pytest.mark.promise("deletable-in-both-looks")
@pytest.mark.parametrize(("kind", "number"), NAMED)
def test_a_file_made_anew_at_any_step_is_not_taken_for_the_one_of_the_list(kind: str, number: int) -> None:
    for path in LISTED:
        world = world_before(kind)
        anew = partial(world.archives, path, needed=True)
        attempted(JOBS[kind], world, Process(meanwhile={number: anew}))
        world.check()
        (made,) = (entry for entry in world.disk.files.values() if entry.modification_time == max(world.ever))
        assert world.home()[path] == made, "it stays where HBase put it"


@pytest.mark.promise("gone-is-looked-up")
@pytest.mark.parametrize(("kind", "number"), NAMED)
def test_a_file_made_anew_under_a_job_that_dies_is_named_wherever_it_rests(kind: str, number: int) -> None:
    """No answer says that it is gone, though the file in whose place it was moved is."""
    for path in LISTED:
        world = world_before(kind)
        anew = partial(world.archives, path, needed=True)
        attempted(JOBS[kind], world, Process(Kill(number, after=True), {number: anew}))
        world.disk.now += LEASE_MS
        error = attempted(JOBS[kind], world, Process())
        world.check()
        rests = world.needed & {entry.modification_time for entry in world.resting().values()}
        assert not rests or error is UnavailableError


LAGS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 1000)


@pytest.mark.promise("look-that-is-behind-counts-for-nothing")
@pytest.mark.parametrize("kind", JOBS)
def test_a_client_that_reads_behind_concludes_nothing_wrong(kind: str) -> None:
    """Whatever the lag, and whenever it begins."""
    for lag in LAGS:
        for current in range(0, 30, 1 if lag == max(LAGS) else 3):
            ends_as_if_undisturbed(kind, Behind([0] * current + [lag] * 200))


@pytest.mark.promise("look-that-is-behind-counts-for-nothing")
@pytest.mark.parametrize("kind", JOBS)
def test_nor_does_one_that_asks_several_observers_in_turn(kind: str) -> None:
    """Of one look after the other each may show an older state."""
    chance = random.Random(5)  # noqa: S311 - repeatable, no secret
    for _ in range(400):
        lags = chance.sample(LAGS, 2)
        ends_as_if_undisturbed(kind, Behind([chance.choice((0, 0, *lags)) for _ in range(100)], back=True))


def ends_as_if_undisturbed(kind: str, behind: Behind) -> None:
    """What a job that reads behind writes down is true, and the next one ends its work."""
    world = world_before(kind)
    error = attempted(JOBS[kind], world, Process(behind=behind))
    assert error in (None, UnavailableError, UsageError), behind
    world.check()
    world.disk.now += LEASE_MS
    run_again(kind, world)
    world.check()
    assert world.view() == undisturbed(kind), behind


def attempted(job: Job, world: World, process: Process) -> type[WalsafeError] | None:
    """Run a job; what a user would see as its error, be it raised or a part of the answer."""
    try:
        outcome = job(world, process)
        return {3: RefusedError, 4: UnavailableError}.get(outcome.exit_code if outcome else 0)
    except WalsafeError as error:
        return type(error)
    except Killed:
        pass
    return None


JOB = st.one_of(
    st.builds(cleaning, st.sampled_from(["n1", "n2", "n3"]), st.none() | st.integers(1, 3)),
    st.builds(
        lambda run, paths: restoring(run, *paths),
        st.sampled_from(["n1", "n2", "n3"]),
        st.lists(st.sampled_from(FILES), max_size=2),
    ),
    st.builds(purging, st.none() | st.just("n1"), st.none() | st.just("full"), execute=st.booleans()),
)
LONGEST = max(number for _, number, _ in STEPS)
KILL = st.none() | st.builds(Kill, st.integers(0, LONGEST), st.booleans())
STEP = st.integers(0, LONGEST)
BEHIND = st.builds(Behind, st.lists(st.sampled_from((0, *LAGS)), max_size=60), st.booleans())


class CleanupMachine(RuleBasedStateMachine):
    """Whole days of a cluster: jobs that end, die or sleep, HBase beside them, and time."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    @initialize(needed=st.sets(st.sampled_from(FILES), max_size=3))
    def begins(self, needed: set[str]) -> None:
        for path in FILES:
            self.world.archives(path, needed=path in needed)
        self.night()

    @precondition(lambda self: len(self.world.lists) < 3)
    @rule()
    def night(self) -> None:
        self.world.night(f"n{len(self.world.lists) + 1}")

    @rule(job=JOB, kill=KILL, waits=st.sampled_from([LEASE_MS, LEASE_MS, LEASE_MS, 0]))
    def one_job(self, job: Job, kill: Kill | None, waits: int) -> None:
        self.world.disk.now += waits
        attempted(job, self.world, Process(kill))

    @rule(job=JOB, step=STEP, other=JOB, kill=KILL, other_kill=KILL)
    def a_job_overtaken_by_another(
        self, job: Job, step: int, other: Job, kill: Kill | None, other_kill: Kill | None
    ) -> None:
        def meanwhile() -> None:
            self.world.disk.now += LEASE_MS
            attempted(other, self.world, Process(other_kill))
            self.world.check()

        self.world.disk.now += LEASE_MS
        attempted(job, self.world, Process(kill, {step: meanwhile}))

    @rule(job=JOB, step=STEP, kill=KILL, path=st.sampled_from(FILES), needed=st.booleans())
    def a_file_made_anew_under_a_job(self, job: Job, step: int, kill: Kill | None, path: str, *, needed: bool) -> None:
        self.world.disk.now += LEASE_MS
        attempted(job, self.world, Process(kill, {step: partial(self.made_anew, path, needed=needed)}))

    @rule(job=JOB, step=STEP, kill=KILL, path=st.sampled_from(FILES))
    def hbase_beside_a_job(self, job: Job, step: int, kill: Kill | None, path: str) -> None:
        self.world.disk.now += LEASE_MS
        before = self.world.open_intents()
        attempted(job, self.world, Process(kill, {step: partial(self.hbase_cleans, path)}))
        assert kill or self.world.open_intents() <= before, "a job that lives knows what became of its files"

    @rule(job=JOB, behind=BEHIND, kill=KILL)
    def a_job_that_reads_behind(self, job: Job, behind: Behind, kill: Kill | None) -> None:
        self.world.disk.now += LEASE_MS
        attempted(job, self.world, Process(kill, behind=replace(behind)))

    @rule(job=JOB, step=STEP, other=JOB, behind=BEHIND, other_behind=BEHIND, kill=KILL)
    def a_job_that_reads_behind_overtaken_by_another(
        self, job: Job, step: int, other: Job, behind: Behind, other_behind: Behind, kill: Kill | None
    ) -> None:
        def meanwhile() -> None:
            self.world.disk.now += LEASE_MS
            attempted(other, self.world, Process(kill, behind=replace(other_behind)))
            self.world.check()

        self.world.disk.now += LEASE_MS
        attempted(job, self.world, Process(None, {step: meanwhile}, behind=replace(behind)))

    @rule(path=st.sampled_from(FILES))
    def hbase_cleans(self, path: str) -> None:
        entry = self.world.home().get(path)
        if entry is not None and entry.modification_time not in self.world.needed:
            self.world.hbase_cleans(path)

    @rule(path=st.sampled_from(FILES))
    def a_person_puts_back(self, path: str) -> None:
        """As the runbook says, where no job can."""
        self.world.put_back_by_hand(path)

    @rule(path=st.sampled_from(FILES), needed=st.booleans())
    def made_anew(self, path: str, *, needed: bool) -> None:
        entry = self.world.home().get(path)
        if entry is None or entry.modification_time not in self.world.needed:
            self.world.archives(path, needed=needed)

    @rule(how_many=st.integers(1, 3))
    def shipped(self, how_many: int) -> None:
        self.world.needed -= set(sorted(self.world.needed)[:how_many])

    @rule(ms=st.sampled_from([LEASE_MS, DAY_MS + 1, 8 * DAY_MS]))
    def time_passes(self, ms: int) -> None:
        self.world.disk.now += ms

    @invariant()
    def nothing_is_lost_and_the_audit_is_true(self) -> None:
        self.world.check()

    @rule()
    def every_run_is_settled(self) -> None:
        """What any next job of the run does; after it no intent is open, and the audit equals the file system."""
        self.world.disk.now += LEASE_MS
        assert attempted(settling(), self.world, Process()) is None
        for run in {run for run, _ in self.world.resting()}:
            assert not self.world.lake.unsettled(self.world.lake.decided[run].run)
        self.world.check()


TestCleanupMachine = CleanupMachine.TestCase
TestCleanupMachine.settings = settings(
    max_examples=examples(75), stateful_step_count=15, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.promise("list-is-cleaned-once")
@pytest.mark.parametrize("cluster_id", ["another", None])
def test_a_list_and_a_lake_of_two_clusters_are_not_cleaned(cluster_id: str | None) -> None:
    world = world_before("clean")
    world.lake.decided[N1] = replace(world.lake.decided[N1], cluster_id=cluster_id)
    with pytest.raises(RefusedError, match=f"with id id by the list, and with {cluster_id or 'none'} by the lake"):
        cleaning(N1)(world, Process())
    assert world.resting() == {}


@pytest.mark.promise("purge-looks-once-more")
def test_purge_asks_the_cluster_that_the_files_were_decided_for() -> None:
    """With queues in ZooKeeper another cluster would have none of these names in a queue."""
    world = world_before("purge")
    resting = world.resting()
    world.lake.decided[N1] = replace(world.lake.decided[N1], cluster_id="another")
    world.disk.now += 8 * DAY_MS
    done = purging()(world, Process())
    assert done is not None
    assert done.exit_code == 3
    assert "cluster with id another, but the cluster that answers has id id" in done.text
    with pytest.raises(RefusedError, match="cluster with id another, but the cluster that answers has id id"):
        purging(N1)(world, Process())
    assert world.resting().keys() == resting.keys()
