"""The model with queues in ZooKeeper: it reads as the real capture does, and every weakened piece is found out."""

import json
import random
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.common.instants import DAY_MS
from pipelines.common.progress import TERMINAL_ENV
from tests.labs.deep_seeds import Say
from tests.labs.places import TESTS
from tests.models.capture.search import explore_game
from tests.models.capture.shrink import loss_of, run, shrink
from tests.models.capture.turns import moves_of
from tests.models.capture.zookeeper.agreement import ZkAgreementGame
from tests.models.capture.zookeeper.capture import DESIGN
from tests.models.capture.zookeeper.game import ZkGame, ZkPlan
from tests.models.capture.zookeeper.judge import ZkJudge
from tests.models.capture.zookeeper.liveness import held_without_need, settle, undisturbed
from tests.models.capture.zookeeper.mutants import (
    ZK_DESIGN,
    ZK_MUTANTS,
    ZK_TOO_CAUTIOUS,
    ZkMutant,
    zk_mutant,
)
from tests.models.capture.zookeeper.scenarios import ZK_KEPT, ZK_SCOPES
from tests.models.capture.zookeeper.text import ZK_TOLD, zk_story
from tests.models.capture.zookeeper.walk import HISTORIES_OF_ONE, ZkWalk, random_zk_scope, zk_play, zk_walk
from tests.models.capture.zookeeper.world import ONLINE, WAITING, first_world, is_needed, is_queued
from tests.suite.sizes import examples

CORPUS = TESTS / "corpus" / "adversary.json"
RESULTS: dict[str, Any] = json.loads(CORPUS.read_text(encoding="utf-8"))["zookeeper"]
QUICK = ("zk-one-server", "zk-crash", "zk-multi", "zk-add-peer", "zk-remove-peer", "zk-late")
TOO_LARGE = ("zk-lock-twice",)  # not searched to the end so far
CHEAP = sorted(name for name, found in RESULTS["mutants"].items() if found["by"] and found["states"] < 3_000)


@dataclass
class Recorder:
    """A ZooKeeper with one server, which has one queue, and the session that reads it: writes down what is asked."""

    asked: list[str] = field(default_factory=list)

    def one_session(self) -> "Recorder":
        return self

    def __enter__(self) -> None:
        self.asked.append("session")

    def __exit__(self, *_: object) -> None:
        self.asked.append("session-again")

    def sync(self, _path: str) -> None:
        self.asked.append("sync")

    def data(self, _path: str) -> bytes:
        return b""

    def many(self, paths: list[str]) -> list[bytes]:
        return [b""] * len(paths)

    def children(self, path: str) -> tuple[list[str], int] | None:
        if not path.startswith("/hbase/replication/rs"):
            return None
        below = path.removeprefix("/hbase/replication/rs").count("/")
        names = {0: "rs", 1: "server", 2: "queue"}
        self.asked.append(names[below])
        return ([["rs1.example.org,16020,1"], ["p1"], ["w.1"]][below], 1)


def test_the_reading_of_znodes_shows_where_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(TERMINAL_ENV, "0")
    monkeypatch.setattr("pipelines.common.progress._LINE_EVERY_S", 0.0)
    caplog.set_level("INFO")
    ZooKeeperQueues(Recorder()).znodes("queues-1")  # type: ignore[arg-type]
    assert "reading the queues: 1 of 1 servers" in caplog.text


@pytest.mark.promise("zookeeper-syncs-first")
def test_model_reads_what_the_real_reading_reads_in_its_order() -> None:
    world = Recorder()
    for step in ("queues-1", "queues-2"):
        ZooKeeperQueues(world).znodes(step)  # type: ignore[arg-type]
    game = ZkGame(ZK_DESIGN.plan(ZK_SCOPES["zk-late"]))
    state, asked = undisturbed(game, game.first().world), list[str]()
    for name, _ in state.read:
        asked.append({"open": "rs", "list": "rs", "close": "rs", "again": "server"}.get(name, name))
    assert asked == ["files", "peers", *world.asked]


@pytest.mark.promise("zookeeper-is-proven")
@pytest.mark.parametrize("name", QUICK)
def test_no_interleaving_of_a_small_cluster_loses_a_wal(name: str) -> None:
    outcome = explore_game(ZkGame(ZK_DESIGN.plan(ZK_SCOPES[name])))
    assert outcome.finished
    assert outcome.captures > 0, "there was nothing to lose"
    assert outcome.loss is None


@pytest.mark.deep
@pytest.mark.parametrize("name", [name for name in ZK_SCOPES if name not in QUICK])
def test_no_interleaving_of_a_larger_cluster_loses_a_wal(name: str, record_property: Say) -> None:
    outcome = explore_game(ZkGame(ZK_DESIGN.plan(ZK_SCOPES[name])), limit=2_000_000)
    assert outcome.finished or name in TOO_LARGE
    record_property("states", outcome.states if outcome.finished else f"the first {outcome.states:,}")
    record_property("captures", outcome.captures)
    assert outcome.captures > 0, "there was nothing to lose"
    assert outcome.loss is None


@pytest.mark.parametrize("name", ["zk-one-server", "zk-multi"])
def test_what_the_search_leaves_out_hides_no_loss(name: str) -> None:
    found = {}
    for mutant in map(zk_mutant, ("zk-design", "zk-files-last", "zk-one-reading")):
        plan = mutant.plan(ZK_SCOPES[name])
        lost = [explore_game(ZkGame(plan, shorten=shorten)).loss is not None for shorten in (True, False)]
        assert lost[0] == lost[1]
        found[mutant.name] = lost[0]
    assert list(found.values()).count(True) == 1
    assert not found["zk-design"]


def test_every_mutant_has_been_looked_for_and_every_cluster_searched() -> None:
    assert set(RESULTS["mutants"]) == {one.name for one in ZK_MUTANTS}
    assert {name for name, entry in RESULTS["mutants"].items() if entry["by"] is None} == set(ZK_KEPT)
    assert set(RESULTS["scopes"]) == set(ZK_SCOPES)
    assert [name for name, found in RESULTS["scopes"].items() if found["loss"] or not found["captures"]] == []


@pytest.mark.promise("zookeeper-is-proven")
@pytest.mark.parametrize("weakened", [one for one in ZK_MUTANTS if one.name not in ZK_KEPT], ids=lambda one: one.name)
def test_counterexample_loses_with_the_mutant_and_not_with_the_design(weakened: ZkMutant) -> None:
    entry = RESULTS["mutants"][weakened.name]
    scope, moves = ZK_SCOPES[entry["scope"]], moves_of(entry)
    loss = loss_of(ZkGame(weakened.plan(scope)), moves)
    assert loss is not None
    assert loss.reason == entry["reason"]
    assert len(zk_story(scope, moves).splitlines()) == len(moves)
    if weakened.order == DESIGN and not weakened.unread:
        assert run(ZkGame(ZkPlan(scope)), moves) is not None
        assert loss_of(ZkGame(ZkPlan(scope)), moves) is None


@pytest.mark.parametrize("name", CHEAP)
def test_search_finds_the_shortest_counterexample_again(name: str) -> None:
    entry = RESULTS["mutants"][name]
    outcome = explore_game(ZkGame(zk_mutant(name).plan(ZK_SCOPES[entry["scope"]])))
    assert outcome.loss is not None
    assert len(outcome.loss.moves) == len(entry["moves"])


@pytest.mark.parametrize("name", ZK_KEPT)
def test_piece_that_no_loss_needs_is_needed_for_something_else(name: str) -> None:
    kept, shown = ZK_KEPT[name], RESULTS["mutants"][name]["shown"]
    scope, moves = ZK_SCOPES[kept.scope], moves_of(shown)
    if kept.both is None:
        assert loss_of(ZkAgreementGame(zk_mutant(name).plan(scope)), moves) is not None
        assert run(ZkAgreementGame(ZK_DESIGN.plan(scope)), moves) is not None
        assert loss_of(ZkAgreementGame(ZK_DESIGN.plan(scope)), moves) is None
    else:
        assert loss_of(ZkGame(zk_mutant(kept.both).plan(scope)), moves) is not None


def test_what_the_design_lets_go_hbase_lets_go() -> None:
    outcome = explore_game(ZkAgreementGame(ZK_DESIGN.plan(ZK_SCOPES["zk-remove-peer"])))
    assert (outcome.finished, outcome.loss) == (True, None)


@pytest.mark.promise("zookeeper-reading-is-of-one-session")
def test_a_session_that_has_ended_ends_the_reading() -> None:
    """Of the capture's own history: kazoo went on in silence, with a server that could lag behind the listing."""
    entry = RESULTS["mutants"]["zk-any-session"]
    scope, moves = ZK_SCOPES[entry["scope"]], moves_of(entry)
    game, state = ZkGame(ZK_DESIGN.plan(scope)), ZkGame(ZK_DESIGN.plan(scope)).first()
    for wanted in moves:
        while state.todo[0][0].startswith("session") and wanted != state.todo[0]:
            looked = game.look(state)
            if looked is None:
                return
            state = looked
        state = next(after for move, after in game.moves(state) if move == wanted)
    pytest.fail("both readings were believed")


def test_shrinking_leaves_out_what_a_loss_does_not_need() -> None:
    weakened = zk_mutant("zk-position-is-shipped")
    history = next(
        one for one in (zk_walk(seed, weakened) for seed in range(5_000)) if one.loss and len(one.moves) > 25
    )
    assert history.loss is not None
    game = ZkGame(weakened.plan(history.scope))
    least = shrink(game, history.loss, ZkGame(ZkPlan(history.scope))).moves
    assert len(least) < len(history.moves)
    assert not any(loss_of(game, (*least[:place], *least[place + 1 :])) for place in range(len(least)))


def test_no_history_by_seed_loses_a_wal_and_a_needed_wal_is_always_queued() -> None:
    histories, contested, seen = examples(6_600), 0, set[str]()
    for seed in range(0, 20 * histories, 20):
        history = zk_walk(seed)
        assert history.loss is None, zk_story(history.scope, history.moves)
        contested += bool(history.needed)
        seen |= {name for name, _ in history.moves}
        world = history.state.world
        for server, life in enumerate(world.lives):
            for number in range(life.created):
                wal = (server, 0, number)
                assert is_queued(world, wal) or not is_needed(world, wal), seed
    assert contested > histories // 4, "histories that had nothing to lose prove nothing"
    assert seen >= set(ZK_TOLD)


@pytest.mark.long
@pytest.mark.promise("zookeeper-free-stays-free")
def test_what_is_deletable_is_in_no_queue_ever_after() -> None:
    """What the clean-up rests on between its second look and the move, and until the purge: whatever happens then."""
    free, later = 0, set[str]()
    for seed in range(0, 40_000, 10):
        scope = replace(random_zk_scope(seed // HISTORIES_OF_ONE), crashes=4, adds=2, removes=1)
        game = ZkGame(ZkPlan(scope), shorten=False)
        state, draw = zk_play(game, seed).state, random.Random(seed)  # noqa: S311 - a seed gives the same history again
        if not game.is_over(state):
            continue
        seen = game.seen(state)
        gone = [wal for wal in game.files(state) or () if game.judge.deletable(seen, wal)]
        free += len(gone)
        # what the history has used up may happen again
        state = state._replace(world=state.world._replace(budget=first_world(scope).budget))
        for _ in range(40 if gone else 0):
            actions = list(game.actions(state))
            if not actions:
                break
            action = draw.choice(actions)
            later.add(action[0].__name__)
            state = game.act(state, action)
            queued = [wal for wal in gone if is_queued(state.world, wal) or is_needed(state.world, wal)]
            assert not queued, (seed, action)
    assert free > 300
    assert later >= {"start", "roll", "archive", "crash", "claim", "lock", "copy_wal", "add_peer", "refresh_peer"}


def lively(seeds: range) -> list[ZkWalk]:
    histories = [zk_walk(seed) for seed in seeds]
    return [one for one in histories if any(life.status in (ONLINE, WAITING) for life in one.state.world.lives)]


@pytest.mark.long
def test_at_rest_nothing_is_held_that_nobody_needs_or_the_operator_is_told_why() -> None:
    held, files = [], 0
    for history in lively(range(0, 100_000, 50)):
        game = ZkGame(ZkPlan(history.scope), shorten=False)
        world = settle(game, history.state.world)
        files += sum(life.archived for life in world.lives)
        held += held_without_need(game, world)
    assert not [one for one in held if one.told is None and not one.locked]
    assert {one.told for one in held if one.reason == "PENDING" and not one.locked} == {"ORPHAN_QUEUE"}
    assert {one.reason for one in held} == {"PENDING", "SNAPSHOT_UNTRUSTED"}
    assert 0 < 3 * len(held) < files


@pytest.mark.parametrize("ttl_days", [0, 7])
def test_at_rest_a_wal_that_nobody_needs_is_deletable_the_night_after_its_time_to_live(ttl_days: int) -> None:
    nights = set()
    for history in lively(range(0, 20_000, 50)):
        game = ZkGame(ZkPlan(history.scope), shorten=False)
        world = settle(game, history.state.world)
        if held_without_need(game, world):
            continue
        state = undisturbed(game, world)
        free = [wal for wal in game.files(state) or () if not is_needed(world, wal)]
        for night in range(ttl_days + 3) if free else ():
            judge = ZkJudge(game.judge.names, ttl_ms=ttl_days * DAY_MS + 600_000, age_ms=night * DAY_MS)
            if all(judge.deletable(game.seen(state), wal) for wal in free):
                nights.add(night)
                break
        else:
            assert not free, "still held"
    assert nights == {ttl_days + 1}


@pytest.mark.parametrize("cautious", ZK_TOO_CAUTIOUS, ids=lambda one: one.name)
def test_mutant_that_holds_too_much_is_found_out(cautious: ZkMutant) -> None:
    for history in lively(range(0, 20_000, 50)):
        game = ZkGame(cautious.plan(history.scope), shorten=False)
        if any(
            one.told is None and not one.locked for one in held_without_need(game, settle(game, history.state.world))
        ):
            return
    pytest.fail("nothing is held too long")
