"""The model that tries to lose data: it reads as the real capture does, and finds no loss in the design."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import seed as from_seed
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pipelines.capture.capture import CaptureSources, CaptureTarget, capture
from pipelines.capture.ports import ClusterSettings
from pipelines.capture.timeline import RetryPolicy
from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_verdict
from pipelines.decide.rule.decision_table import decision_table
from pipelines.decide.rule.table_rule import decide_replication
from pipelines.decide.rule.verdict import Verdict
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.snapshot.capture_order import CAPTURE_ORDER, order_fault
from pipelines.snapshot.model import Backup, CaptureStep, MasterFlags, Retention, Snapshot, WalDirectory
from tests.labs.deep_seeds import SEED, Say
from tests.models.capture.batch import play_range
from tests.models.capture.capture import list_files
from tests.models.capture.game import DESIGN, Game, Plan, State
from tests.models.capture.liveness import held_without_need, nights_held, settle
from tests.models.capture.mutants import MUTANTS, TOO_CAUTIOUS, Mutant
from tests.models.capture.names import Names
from tests.models.capture.scenarios import SCOPES
from tests.models.capture.search import explore
from tests.models.capture.servers import may_start
from tests.models.capture.walk import DESIGN_ITSELF, Walk, mutant, random_scope, walk
from tests.models.capture.world import NO_DIRECTORY, ONLINE, World, first_needed
from tests.suite.sizes import examples

QUICK = ("late-server", "add-peer", "loading", "migration", "standby", "restart", "hbck", "two-peers", "claimed")
SLOW = tuple(name for name in SCOPES if name not in QUICK)


@dataclass
class Recorder:
    """Every source and the sink of a capture, writing down what is asked."""

    asked: list[str] = field(default_factory=list)
    now: int = 0

    def now_ms(self) -> int:
        self.now += 1
        return self.now

    def stamp(self, _step: str) -> None:
        """Read now."""

    def files(self, batches: Iterable[FileBatch] | None = None) -> object:
        if batches is None:
            self.asked.append("files")
            return []
        return sum(map(len, batches))

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        self.asked.append("wal_directories")
        return ()

    def cells(self, name: str, cells: Iterable[Cell] | None = None) -> object:
        if cells is None:
            self.asked.append(name)
            return []
        return len(list(cells))

    def settings(self) -> ClusterSettings:
        return ClusterSettings("id", "3.0.0", Retention(1, 2, 3), None, Backup(enabled=False))

    def active_master(self, step: str) -> str:
        self.asked += {"crashing": ("master", "proof"), "crashing-2": ("proof-2",)}[step]
        return "m,1,1"

    def servers(self, step: str) -> KnownServers:
        self.asked.append(step)
        return KnownServers(frozenset(), frozenset())

    def crashing(self, step: str) -> frozenset[ServerName]:
        self.asked.append(step)
        return frozenset()

    def peers(self) -> tuple[Peer, ...]:
        self.asked.append("peers")
        return ()

    def flags(self, step: str) -> MasterFlags:
        self.asked.append({"peers": "flags", "crashing-2": "flags-2"}[step])
        return MasterFlags(True, False, False, False)

    def finish(self, _snapshot: Snapshot) -> str:
        return "snapshot"


def test_model_reads_what_the_real_capture_reads_in_its_order() -> None:
    world = Recorder()
    sources = CaptureSources(world, world, world, world)  # type: ignore[arg-type]
    patience = RetryPolicy(1, 1, 0, lambda _: None)
    capture(CaptureTarget("c", "hdfs://c/hbase", "edge"), sources, world, clock=world, patience=patience)  # type: ignore[arg-type]
    assert tuple(world.asked) == DESIGN


@pytest.mark.promise("every-step-is-needed")
@pytest.mark.parametrize("changed", [one for one in MUTANTS if one.order != DESIGN], ids=lambda one: one.name)
def test_rule_refuses_an_order_that_is_stamped_as_it_was(changed: Mutant) -> None:
    steps = [name for name in changed.order if name in CAPTURE_ORDER]
    stamped = [CaptureStep(name, 10 * number, 10 * number + 1) for number, name in enumerate(steps)]
    inside = [name for name in DESIGN if name not in CAPTURE_ORDER]
    if steps == list(CAPTURE_ORDER):
        assert [name for name in changed.order if name in inside] != inside, "a mutant that reads everything in order"
    else:
        assert order_fault(stamped) is not None


@pytest.mark.promise("list-is-safe", "model-tries-to-lose-data")
@pytest.mark.parametrize("name", QUICK)
def test_no_interleaving_of_a_small_cluster_loses_a_wal(name: str) -> None:
    outcome = explore(Plan(SCOPES[name]))
    assert outcome.finished
    assert outcome.captures > 0, "there was nothing to lose"
    assert outcome.loss is None


@pytest.mark.promise("row-that-was-moved-back-loses-nothing")
@pytest.mark.deep
@pytest.mark.parametrize("name", SLOW)
def test_no_interleaving_of_a_larger_cluster_loses_a_wal(name: str, record_property: Say) -> None:
    outcome = explore(Plan(SCOPES[name]), limit=3_000_000)
    assert outcome.finished
    record_property("states", outcome.states)
    record_property("captures", outcome.captures)
    assert outcome.captures > 0, "there was nothing to lose"
    assert outcome.loss is None


@pytest.mark.long
@pytest.mark.promise("row-that-was-moved-back-loses-nothing")
def test_a_server_that_was_taken_for_dead_and_still_ships_loses_no_wal() -> None:
    outcome = explore(Plan(SCOPES["zombie"]), limit=3_000_000)
    assert (outcome.finished, outcome.captures > 0, outcome.loss) == (True, True, None)


@pytest.mark.long
@pytest.mark.parametrize("name", ["migration", "restart", "nothing-shipped", "add-peer"])
def test_what_the_search_leaves_out_hides_no_loss(name: str) -> None:
    weak = ("no-zk-flag", "prefix-match", "peers-before-membership", "files-after-peers")
    plans = [Plan(SCOPES[name], one.order, one.weakening) for one in map(mutant, ("design", *weak))]
    found = [explore(plan).loss is not None for plan in plans]
    assert found == [explore(plan, shorten=False).loss is not None for plan in plans]
    assert found.count(True) == 1


@pytest.mark.promise("list-is-safe")
def test_no_history_by_seed_loses_a_wal() -> None:
    played = play_range(0, 3_000, DESIGN_ITSELF.name)
    assert played.violations == ()
    assert played.contested > 1_000, "histories that had nothing to lose prove nothing"


@pytest.mark.deep
def test_no_history_of_many_seeds_loses_a_wal(record_property: Say) -> None:
    first = 1_000_000_000 + SEED * 300_000
    played = play_range(first, 300_000, DESIGN_ITSELF.name)
    record_property("first seed", first)
    record_property("histories", played.seeds)
    assert played.violations == ()


def test_fast_form_and_hbase_agree_on_what_captures_of_the_model_saw() -> None:
    answered = 0
    for seed in range(0, 20_000, 10):
        history = walk(seed)
        if not history.needed:
            continue
        game = Game(Plan(history.scope))
        view = game.judge.view(game.seen(history.state))
        if view.untrusted is not None:
            continue  # everything is held, whatever the queues say
        table = {group.name: group for group in decision_table(view).groups}
        for wal in game.files(history.state):
            name = game.judge.names.wal(*wal)
            parsed = parse_wal_name(name)
            assert parsed is not None
            assert parsed.server is not None
            assert parsed.timestamp is not None
            decision = decide_replication(view, parsed.server, parsed.group, parsed.timestamp)
            if decision.verdict is Verdict.DELETABLE:
                assert hbase_verdict(name, view) is HBaseVerdict.DELETE
            if parsed.group in table and view.peer_ids:
                answered += 1
                assert table[parsed.group].answer(parsed.timestamp).decision == decision
    assert answered > 300


def test_same_seed_is_the_same_history() -> None:
    assert walk(4_711) == walk(4_711)
    assert walk(4_711) != walk(4_712)


def test_histories_have_everything_in_them() -> None:
    seen = {name for seed in range(0, 150_000, 250) for name, _ in walk(seed).moves}
    possible = {"migration", "zombie"}  # not drawn by seed
    assert {"crash", "claim", "recovered_ships", "store_peer", "fail_over", "drain_sources", "cleaner_deletes"} <= seen
    assert not {name for name in seen if any(word in name for word in possible)}


def at_rest(history: Walk, weakened: Mutant = DESIGN_ITSELF) -> tuple[Game, World]:
    """The cluster of a history after everything that was begun has ended."""
    game = Game(Plan(history.scope, weakened.order, weakened.weakening))
    return game, settle(game, history.state.world, idle=history.seed % 80 == 0)


def lively(seeds: Iterable[int]) -> list[Walk]:
    """Histories after which a server lives: without one no crash procedure ends, and the cluster is never quiet."""
    histories = [walk(seed) for seed in seeds]
    return [one for one in histories if _somebody_lives(one.state.world)]


def _somebody_lives(world: World) -> bool:
    return any(life.status == ONLINE or may_start(world, number) for number, life in enumerate(world.lives))


def test_at_rest_nothing_is_held_that_nobody_needs_or_the_operator_is_told_why() -> None:
    held, files = [], 0
    for history in lively(range(0, 30_000, 40)):
        game, world = at_rest(history)
        files += len(list_files(world))
        for one in held_without_need(game, world):
            held.append(one)
            leftover = world.lives[one.wal[0]].directory != NO_DIRECTORY
            assert (one.reason, leftover, one.told) == ("LEFTOVER_WAL_DIR", True, "LEFTOVER_WAL_DIRECTORY"), history
    assert 0 < 20 * len(held) < files


@pytest.mark.parametrize("ttl_days", [0, 7])
def test_at_rest_a_wal_that_nobody_needs_is_deletable_the_night_after_its_time_to_live(ttl_days: int) -> None:
    nights = [
        nights_held(game, world, ttl_ms=ttl_days * DAY_MS + 600_000, every_ms=DAY_MS)
        for game, world in map(at_rest, lively(range(0, 8_000, 40)))
        if list_files(world) and not held_without_need(game, world)
    ]
    assert len(nights) > 100
    assert set(nights) == {ttl_days + 1}, "0: there is nothing but needed WALs"


@pytest.mark.parametrize("cautious", TOO_CAUTIOUS, ids=lambda one: one.name)
def test_mutant_that_holds_too_much_is_found_out(cautious: Mutant) -> None:
    histories = lively(range(0, 4_000, 40))
    rest = [at_rest(history, cautious) for history in histories]
    stuck = [pair for pair in rest if any(one.told is None for one in held_without_need(*pair))]
    assert stuck, "nothing is held too long"
    with pytest.raises(RuntimeError, match="still held"):
        nights_held(*stuck[0], ttl_ms=600_000, every_ms=DAY_MS)


class Interleaving(RuleBasedStateMachine):
    """Hypothesis chooses the cluster and every move, and shrinks what loses a WAL."""

    def __init__(self) -> None:
        super().__init__()
        self.game = Game(Plan(SCOPES["crash"]))
        self.state = self.game.first()

    @initialize(seed=st.integers(0, 10**9), zombies=st.booleans())
    def draw_cluster(self, seed: int, zombies: bool) -> None:
        self.game = Game(Plan(replace(random_scope(seed), zombies=zombies)))
        self.state = self.game.first()

    @precondition(lambda self: not self.game.is_over(self.state))
    @rule()
    def read(self) -> None:
        self.state = self.game.look(self.state) or self.state

    @rule(part=st.integers(0, 10**6), choice=st.integers(0, 10**6))
    def act(self, part: int, choice: int) -> None:
        actions = list(self.game.some_actions(self.state, part))
        if actions and not self.game.is_over(self.state):
            before, action = self.state, actions[choice % len(actions)]
            self.state = self.game.act(before, action)
            assert needs_only_shrink(before, self.state)

    @invariant()
    def nothing_is_lost(self) -> None:
        if self.game.is_over(self.state):
            assert self.game.loss(self.state) is None


def needs_only_shrink(before: State, after: State) -> bool:
    """Of a WAL that exists nobody begins to need an entry, but for a peer that is stored or leaves STANDBY."""
    for peer, state in enumerate(after.world.peers):
        was = before.world.peers[peer]
        if was.status != state.status or was.standby != state.standby or was.since != state.since:
            continue
        for server, life in enumerate(before.world.lives):
            for group, created in enumerate(life.created):
                earlier = min(first_needed(before.world, peer, server, group), created)
                if first_needed(after.world, peer, server, group) < earlier and not life.memory:
                    return False
    return True


_HEALTH = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
TestInterleaving = Interleaving.TestCase
TestInterleaving.settings = settings(
    max_examples=examples(30), stateful_step_count=60, deadline=None, suppress_health_check=_HEALTH
)


class DeepInterleaving(Interleaving):
    """The same, for longer."""


@pytest.mark.deep
def test_no_long_interleaving_loses_a_wal(record_property: Say) -> None:
    record_property("seed", SEED)
    record_property("histories", 5_000)
    longer = settings(
        max_examples=5_000, stateful_step_count=120, deadline=None, database=None, suppress_health_check=_HEALTH
    )
    run_state_machine_as_test(from_seed(SEED)(DeepInterleaving), settings=longer)


def test_names_are_those_of_hbase() -> None:
    names = Names(SCOPES["restart"])
    assert names.wal(0, 0, 1) == "rs01.example.org%2C16020%2C1.10"
    assert [str(cell.queue) for cell in names.cells((0, 1, 0, (2,)))] == [
        "p1-rs01.example.org,16020,12/rs01.example.org,16020,1"
    ]
    (placeholder,) = names.cells((0, 0, -1, (-1,)))
    assert (placeholder.group, str(placeholder.offset)) == ("rs01.example.org,16020,1", ":0")


class Weakened(Interleaving):
    """The same machine on a mutant: it must fail, or it could not find anything."""

    @initialize()
    def draw_cluster(self) -> None:
        weakened = mutant("no-directories")
        self.game = Game(Plan(SCOPES["crash"], weakened.order, weakened.weakening))
        self.state = self.game.first()


@pytest.mark.deep
def test_hypothesis_finds_a_mutant_out() -> None:
    search = settings(
        max_examples=3_000,
        stateful_step_count=60,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=_HEALTH,
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Weakened, settings=search)
