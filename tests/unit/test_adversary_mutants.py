"""Every piece of order and rule that is taken away is found out, and docs/proof.md says so."""

import importlib.util
import json
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipelines.simulate.adversary.game import DESIGN, Game, Move, Plan
from pipelines.simulate.adversary.mutants import MUTANTS, STRICT, Mutant
from pipelines.simulate.adversary.scenarios import HARMLESS, HISTORIES, SCOPES, WRITTEN
from pipelines.simulate.adversary.search import explore
from pipelines.simulate.adversary.shrink import loss_of, run, shrink
from pipelines.simulate.adversary.text import TOLD, story
from pipelines.simulate.adversary.walk import DESIGN_ITSELF, mutant

PROJECT = Path(__file__).resolve().parents[2]
RESULTS: dict[str, Any] = json.loads((PROJECT / "tests" / "corpus" / "adversary.json").read_text(encoding="utf-8"))
CLUSTERS = {**SCOPES, **WRITTEN}
LOST = ("design", "design-expired")
CHEAP_STATES = 20_000
CHEAP = sorted(
    name for name, entry in RESULTS["mutants"].items() if entry["by"] == "search" and entry["states"] < CHEAP_STATES
)


@cache
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_proof", PROJECT / "scripts" / "generate_proof.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def moves_of(entry: dict[str, Any]) -> tuple[Move, ...]:
    return tuple((name, tuple(arguments)) for name, arguments in entry["moves"])


def test_page_is_generated_from_the_model_and_the_results() -> None:
    page = (PROJECT / "docs" / "proof.md").read_text(encoding="utf-8")
    assert page == script().render(RESULTS), "run: .venv/bin/python scripts/generate_proof.py"


def test_every_mutant_has_been_looked_for() -> None:
    assert set(RESULTS["mutants"]) == {DESIGN_ITSELF.name, *(one.name for one in MUTANTS)}
    assert {name for name, entry in RESULTS["mutants"].items() if entry["by"] is None} == set(HARMLESS)


def test_every_scope_has_been_searched_without_a_loss() -> None:
    assert set(RESULTS["scopes"]) == set(SCOPES)
    assert [name for name, found in RESULTS["scopes"].items() if found["loss"] or not found["captures"]] == []


@pytest.mark.parametrize("weakened", [one for one in MUTANTS if one.name not in HARMLESS], ids=lambda one: one.name)
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


@pytest.mark.parametrize("name", [name for name in HISTORIES if name not in LOST])
def test_written_history_is_held_by_the_design(name: str) -> None:
    scope, moves = HISTORIES[name]
    assert loss_of(Game(Plan(scope)), moves(DESIGN)) is None


@pytest.mark.parametrize("name", LOST)
def test_history_that_the_design_loses_is_held_by_the_stronger_quiet(name: str) -> None:
    scope, moves = HISTORIES[name]
    assert loss_of(Game(Plan(scope)), moves(DESIGN)) is not None, "closed at last? then docs/proof.md must say so"
    strict = Game(Plan(scope, STRICT.order, STRICT.weakening))
    state = run(strict, moves(DESIGN))
    assert state is not None
    (wal,) = strict.needed_files(state)[:1]
    assert strict.judge.decide(strict.seen(state), wal).reason.value == "CLUSTER_MOVED"


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
