"""Every piece of order and rule that is taken away is found out, and docs/proof.md says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.decide.rule.verdict import Verdict
from scripts import generate_proof
from scripts.proof_page import render, states_of_code
from tests.labs.places import DOCS, PROJECT
from tests.models.capture.agreement import AgreementGame
from tests.models.capture.batch import code_modules, code_sha256
from tests.models.capture.game import DESIGN, Game, Plan
from tests.models.capture.histories import HISTORIES, SECOND_FORM, STILL_LOST, WRITTEN
from tests.models.capture.mutants import MUTANTS, STRICT, Mutant
from tests.models.capture.scenarios import KEPT, SCOPES
from tests.models.capture.search import explore, explore_game
from tests.models.capture.shrink import loss_of, run, shrink
from tests.models.capture.text import TOLD, story
from tests.models.capture.turns import Move, moves_of
from tests.models.capture.walk import mutant

RESULTS: dict[str, Any] = json.loads((PROJECT / "tests" / "corpus" / "adversary.json").read_text(encoding="utf-8"))
CLUSTERS = {**SCOPES, **WRITTEN}
CHEAP_STATES = 20_000
CHEAP = sorted(
    name for name, entry in RESULTS["mutants"].items() if entry["by"] == "search" and entry["states"] < CHEAP_STATES
)


def test_page_is_generated_from_the_model_and_the_results() -> None:
    page = (DOCS / "proof.md").read_text(encoding="utf-8")
    assert page == render(RESULTS), "run: .venv/bin/python -m scripts.generate_proof"


def test_every_mutant_has_been_looked_for() -> None:
    assert set(RESULTS["mutants"]) == {one.name for one in MUTANTS}
    assert {name for name, entry in RESULTS["mutants"].items() if entry["by"] is None} == set(KEPT)


def test_every_scope_has_been_searched_without_a_loss() -> None:
    assert set(RESULTS["scopes"]) == set(SCOPES)
    assert [name for name, found in RESULTS["scopes"].items() if found["loss"] or not found["captures"]] == []


def test_every_seed_has_been_played_without_a_loss() -> None:
    for storage in (RESULTS, RESULTS["zookeeper"]):
        assert [one["violations"] for one in storage["walks"]] == [0]


def test_a_seed_that_loses_a_wal_ends_the_recording_with_its_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate_proof, "DESIGN_ITSELF", mutant("no-directories"))
    monkeypatch.setattr(generate_proof, "WALKS", tmp_path / "walks.jsonl")
    monkeypatch.setattr(generate_proof, "RESULTS", tmp_path / "results.json")
    results = {"walks": [], "zookeeper": {"walks": []}}
    with pytest.raises(SystemExit, match="crashes: off the online list, no crash procedure yet"):
        generate_proof.play(results, 1_000)
    assert results == {"walks": [], "zookeeper": {"walks": []}}


def test_the_page_says_that_its_seeds_were_played_by_another_state_of_the_code() -> None:
    ours, other = {"code_sha256": code_sha256()}, {"code_sha256": "0" * 64}
    nothing: dict[str, Any] = {"scopes": {}, "mutants": {}, "walks": []}
    assert "All tables were found by this state" in states_of_code({**nothing, "walks": [ours], "zookeeper": nothing})
    mixed = {**nothing, "scopes": {"crash": ours}, "zookeeper": {**nothing, "walks": [other]}}
    assert "found by 2 states of rule and model, this one among them" in states_of_code(mixed)


def test_the_state_of_the_code_is_that_of_the_modules_that_the_model_imports() -> None:
    assert {"tests.models.walk", "tests.models.search", "pipelines.decide.rule.verdict"} <= {*code_modules()}
    assert {"pipelines.snapshot.writer", "tests.models.capture.captured"}.isdisjoint(code_modules())


@pytest.mark.promise("model-tries-to-lose-data", "every-step-is-needed", "row-that-was-moved-back-loses-nothing")
@pytest.mark.parametrize("weakened", [one for one in MUTANTS if one.name not in KEPT], ids=lambda one: one.name)
def test_counterexample_loses_with_the_mutant_and_not_with_the_design(weakened: Mutant) -> None:
    entry = RESULTS["mutants"][weakened.name]
    scope, moves = CLUSTERS[entry["scope"]], moves_of(entry)
    loss = loss_of(Game(Plan(scope, weakened.order, weakened.weakening)), moves)
    assert loss is not None
    assert loss.reason == entry["reason"]
    if weakened.order == DESIGN:
        assert run(Game(Plan(scope)), moves) is not None
        assert loss_of(Game(Plan(scope)), moves) is None


@pytest.mark.parametrize("name", CHEAP)
def test_search_finds_the_shortest_counterexample_again(name: str) -> None:
    entry, weakened = RESULTS["mutants"][name], mutant(name)
    outcome = explore(Plan(SCOPES[entry["scope"]], weakened.order, weakened.weakening))
    assert outcome.loss is not None
    assert len(outcome.loss.moves) == len(entry["moves"])


@pytest.mark.parametrize("name", [name for name in HISTORIES if mutant(name).order == DESIGN])
def test_written_history_is_held_by_the_design(name: str) -> None:
    scope, moves = HISTORIES[name]
    assert run(Game(Plan(scope)), moves(DESIGN)) is not None
    assert loss_of(Game(Plan(scope)), moves(DESIGN)) is None


@pytest.mark.promise("whatever-moves-is-not-quiet")
def test_second_form_of_what_the_capture_once_lost_needs_the_same_reading() -> None:
    scope, moves = SECOND_FORM
    unread = mutant("dead-unread")
    assert loss_of(Game(Plan(scope, unread.order, unread.weakening)), moves(DESIGN)) is not None
    assert why_held(Plan(scope), moves(DESIGN)) == "CLUSTER_MOVED"


@pytest.mark.parametrize("form", STILL_LOST)
def test_a_program_that_does_not_ask_who_died_is_what_is_left(form: str) -> None:
    scope, moves = STILL_LOST[form]
    assert loss_of(Game(Plan(scope)), moves(DESIGN)) is not None, "closed at last? then docs/proof.md must say so"
    assert why_held(Plan(scope, STRICT.order, STRICT.weakening), moves(DESIGN)) == "CLUSTER_MOVED"


def why_held(plan: Plan, moves: tuple[Move, ...]) -> str:
    """The reason for which the first needed WAL is held after a history."""
    game = Game(plan)
    state = run(game, moves)
    assert state is not None
    decision = game.judge.decide(game.seen(state), game.needed_files(state)[0])
    assert decision.verdict is Verdict.HELD
    return decision.reason.value


@pytest.mark.parametrize("name", KEPT)
def test_piece_that_no_loss_needs_is_needed_for_something_else(name: str) -> None:
    kept, shown = KEPT[name], RESULTS["mutants"][name]["shown"]
    scope, moves = SCOPES[kept.scope], moves_of(shown)
    if kept.behind is None or kept.both is None:
        weakened = mutant(name)
        assert loss_of(AgreementGame(Plan(scope, weakened.order, weakened.weakening)), moves) is not None
        assert run(AgreementGame(Plan(scope)), moves) is not None
        assert loss_of(AgreementGame(Plan(scope)), moves) is None
    else:
        both = mutant(kept.both)
        assert loss_of(Game(Plan(scope, both.order, both.weakening)), moves) is not None


@pytest.mark.deep
@pytest.mark.parametrize("name", KEPT)
def test_piece_that_no_loss_needs_loses_nothing_where_it_is_shown(name: str) -> None:
    for one in (mutant(name), mutant(KEPT[name].behind or "design")):
        outcome = explore(Plan(SCOPES[KEPT[name].scope], one.order, one.weakening))
        assert (outcome.finished, outcome.loss) == (True, None)


@pytest.mark.parametrize("name", ["add-peer", "migration"])
def test_what_the_design_lets_go_hbase_lets_go(name: str) -> None:
    outcome = explore_game(AgreementGame(Plan(SCOPES[name])))
    assert (outcome.finished, outcome.loss) == (True, None)


def test_shrinking_leaves_out_what_a_loss_does_not_need() -> None:
    weakened = mutant("no-directories")
    game = Game(Plan(SCOPES["crash"], weakened.order, weakened.weakening))
    least = moves_of(RESULTS["mutants"]["no-directories"])
    longer = loss_of(game, (("ship", (1, 0, 0)), *(move for move in least if move[0] != "ship")))
    assert longer is not None
    padded = loss_of(game, (("submit", (0, 0)), *least))
    assert padded is None, "a move that is not possible there"
    assert len(shrink(game, longer).moves) == len(least)


def test_every_move_is_told() -> None:
    for entry in RESULTS["mutants"].values():
        if entry["by"] is not None:
            lines = story(CLUSTERS[entry["scope"]], moves_of(entry)).splitlines()
            assert len(lines) == len(entry["moves"])
            assert all(name in TOLD or name in DESIGN for name, _ in moves_of(entry))
