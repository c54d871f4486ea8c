"""Writes docs/proof.md from the model's source and from what its searches found (tests/corpus/adversary.json).

Run: .venv/bin/python -m scripts.generate_proof                 the page alone, from the recorded results
     .venv/bin/python -m scripts.generate_proof --search        search again what other code has found, then the page
     .venv/bin/python -m scripts.generate_proof --search NAME…  these mutants and clusters, whatever found them
     .venv/bin/python -m scripts.generate_proof --walks N       play so many seeds more, then the page

A search that is stopped keeps what it has; the same command goes on with the rest.
"""

import argparse
import json
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from scripts import proof_zookeeper
from scripts.proof_page import Found, render
from tests.models.capture.agreement import AgreementGame
from tests.models.capture.batch import code_sha256, play_range
from tests.models.capture.game import DESIGN, Game, Plan
from tests.models.capture.histories import HISTORIES
from tests.models.capture.mutants import MUTANTS, Mutant
from tests.models.capture.scenarios import GROUNDS, KEPT, SCOPES
from tests.models.capture.scope import Scope
from tests.models.capture.search import explore, explore_game
from tests.models.capture.shrink import loss_of, shrink
from tests.models.capture.walk import DESIGN_ITSELF
from tests.models.capture.walk import mutant as mutant_of
from tests.models.capture.zookeeper.mutants import ZK_DESIGN, ZK_MUTANTS
from tests.models.capture.zookeeper.scenarios import ZK_SCOPES

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "proof.md"
RESULTS = PROJECT / "tests" / "corpus" / "adversary.json"

MOST_STATES = 1_500_000
"""Of one search of the design."""
ENOUGH_STATES = 20_000
"""Of one search for a mutant that loses nothing."""


def search_design(results: Found, names: Collection[str]) -> None:
    """Searches the scopes of these names with the unchanged design."""
    for scope in (scope for scope in SCOPES.values() if scope.name in names):
        outcome = explore(Plan(scope), MOST_STATES)
        found = {
            "states": outcome.states,
            "finished": outcome.finished,
            "captures": outcome.captures,
            "loss": [list(move) for move in outcome.loss.moves] if outcome.loss else None,
        }
        record(results, "scopes", scope.name, found)


def search_mutants(results: Found, names: Collection[str]) -> None:
    """Looks for a counterexample of each mutant, and for the shortest one if the search can find it."""
    for mutant in (one for one in MUTANTS if one.name in names):
        how = written if mutant.name in HISTORIES else without_a_loss if mutant.name in KEPT else searched
        record(results, "mutants", mutant.name, how(mutant))


def record(results: Found, kind: str, name: str, found: Found, storage: str | None = None) -> None:
    """Keeps one result, with the digest of the code that found it."""
    kept = results[storage] if storage else results
    kept[kind][name] = {**found, "code_sha256": code_sha256()}
    say(f"{kind} {name}: {str(found)[:150]}")
    save(results)


def written(mutant: Mutant) -> Found:
    """Returns the written history of a mutant, shortened as far as possible."""
    scope, moves = HISTORIES[mutant.name]
    game = Game(plan_in(scope.name, mutant.name, scope))
    loss = loss_of(game, moves(mutant.order))
    if loss is None:
        raise SystemExit(f"the written history of {mutant.name} loses nothing")
    loss = shrink(game, loss, Game(Plan(scope)) if mutant.order == DESIGN else None)
    return {"by": "written", "scope": scope.name, "reason": loss.reason, "moves": [list(move) for move in loss.moves]}


def searched(mutant: Mutant) -> Found:
    """Returns the shortest counterexample in the first scope that has one."""
    for name in GROUNDS.get(mutant.name, ("crash",)):
        outcome = explore(plan_in(name, mutant.name), MOST_STATES)
        if outcome.loss:
            return {"by": "search", **proof_zookeeper.shortest(name, outcome)}
    raise SystemExit(f"nothing has found {mutant.name} out: write a history, or show what its piece is kept for")


def without_a_loss(mutant: Mutant) -> Found:
    """Returns the extent of the search for a mutant that loses nothing, and what shows that its piece is needed."""
    looked: Found = {}
    for name in SCOPES:
        outcome = explore(plan_in(name, mutant.name), ENOUGH_STATES)
        if outcome.loss:
            raise SystemExit(f"{mutant.name} loses a WAL in {name}: take it out of KEPT")
        looked[name] = {"states": outcome.states, "finished": outcome.finished}
    kept = KEPT[mutant.name]
    if kept.behind is None or kept.both is None:
        return {"by": None, "looked": looked, "shown": disagreement(kept.scope, mutant.name)}
    alone = explore(plan_in(kept.scope, kept.behind), MOST_STATES)
    both = explore(plan_in(kept.scope, kept.both), MOST_STATES)
    if alone.loss or not alone.finished or not both.loss:
        raise SystemExit(f"{kept.scope} does not show that {mutant.name} and {kept.behind} stand in for each other")
    shown = {**proof_zookeeper.shortest(kept.scope, both), "behind_states": alone.states}
    return {"by": None, "looked": looked, "shown": shown}


def disagreement(scope: str, mutant: str) -> Found:
    """Returns the shortest history after which HBase's own cleaner keeps a WAL that the mutant lets go.

    The design has no such history.
    """
    design = explore_game(AgreementGame(plan_in(scope, DESIGN_ITSELF.name)), MOST_STATES)
    outcome = explore_game(AgreementGame(plan_in(scope, mutant)), MOST_STATES)
    if design.loss or not design.finished or not outcome.loss:
        raise SystemExit(f"{scope} does not show that {mutant} breaks the agreement with HBase's cleaner")
    return proof_zookeeper.shortest(scope, outcome)


def plan_in(name: str, mutant: str, scope: Scope | None = None) -> Plan:
    """Returns the plan that plays a mutant in a named cluster, or in the given one."""
    weakened = mutant_of(mutant)
    return Plan(scope or SCOPES[name], weakened.order, weakened.weakening)


def play(results: Found, seeds: int) -> None:
    """Plays more histories of the design, from the end of the last ones on, and records them."""
    for storage, design in ((results, DESIGN_ITSELF.name), (results["zookeeper"], ZK_DESIGN.name)):
        code = code_sha256()
        mine = storage["walks"] = [entry for entry in storage["walks"] if entry["code_sha256"] == code]
        first = max((entry["first_seed"] + entry["seeds"] for entry in mine), default=0)
        total: Found = {"first_seed": first, "seeds": 0, "contested": 0, "moves": 0, "violations": 0}
        mine.append(total)
        total["code_sha256"] = code
        for begin in range(first, first + seeds, 10_000):
            played = play_range(begin, min(10_000, first + seeds - begin), design)
            total["seeds"] += played.seeds
            total["contested"] += played.contested
            total["moves"] += played.moves
            total["violations"] += len(played.violations)
            save(results)
        say(f"walks of {design}: {total}")


def say(words: str) -> None:
    """Prints the progress."""
    sys.stderr.write(words + "\n")


def save(results: Found) -> None:
    """Writes the results, so that a run that is stopped keeps them."""
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load() -> Found:
    """Returns the recorded results."""
    if not RESULTS.exists():
        return {"scopes": {}, "mutants": {}, "walks": [], "zookeeper": {"scopes": {}, "mutants": {}, "walks": []}}
    loaded: Found = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {"zookeeper": {"scopes": {}, "mutants": {}, "walks": []}, **loaded}


def _stale(results: Found, kinds: Mapping[str, str]) -> list[str]:
    """Returns the names of the results that other code has found.

    Removes results whose mutant or cluster does not exist any more.
    """
    for kind in ("scopes", "mutants"):
        results[kind] = {name: found for name, found in results[kind].items() if kinds.get(name) == kind}
    code = code_sha256()
    return [name for name, kind in kinds.items() if results[kind].get(name, {}).get("code_sha256") != code]


def main() -> None:
    """Runs the searches and walks that were asked for, then writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search", nargs="*", metavar="NAME")
    parser.add_argument("--walks", type=int, default=0, metavar="N")
    asked = parser.parse_args()
    results = load()
    if asked.search is not None:
        tables = {**dict.fromkeys(SCOPES, "scopes"), **{one.name: "mutants" for one in MUTANTS}}
        queues = {**dict.fromkeys(ZK_SCOPES, "scopes"), **{one.name: "mutants" for one in ZK_MUTANTS}}
        unknown = sorted(set(asked.search) - set(tables) - set(queues))
        if unknown:
            parser.error(f"no mutant and no cluster {unknown[0]!r}; there are {', '.join((*tables, *queues))}")
        stale = [*_stale(results, tables), *_stale(results["zookeeper"], queues)]
        names = asked.search or stale
        search_mutants(results, names)
        search_design(results, names)
        proof_zookeeper.search(names, lambda kind, name, found: record(results, kind, name, found, "zookeeper"))
    if asked.walks:
        play(results, asked.walks)
    theirs = results["zookeeper"]
    there = {*results["scopes"], *results["mutants"], *theirs["scopes"], *theirs["mutants"]}
    every = (*SCOPES, *(one.name for one in MUTANTS), *ZK_SCOPES, *(one.name for one in ZK_MUTANTS))
    missing = [name for name in every if name not in there]
    if missing:
        raise SystemExit(f"not searched yet: {', '.join(missing)}; run with --search")
    TARGET.write_text(render(results), encoding="utf-8")


if __name__ == "__main__":
    main()
