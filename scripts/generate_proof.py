"""Writes docs/proof.md from the model's source and from what its searches found (tests/corpus/adversary.json).

Run: .venv/bin/python -m scripts.generate_proof                 the page alone, from the recorded results
     .venv/bin/python -m scripts.generate_proof --search        search again what other code has found, then the page
     .venv/bin/python -m scripts.generate_proof --search NAME…  these mutants and clusters, whatever found them
     .venv/bin/python -m scripts.generate_proof --walks N       play the first N seeds, then the page

A search that is stopped keeps what it has; the same command goes on with the rest.
"""

import argparse
import json
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from scripts.proof_page import Found, render
from tests.models.capture.agreement import AgreementGame
from tests.models.capture.batch import code_sha256
from tests.models.capture.game import DESIGN, Game, Plan
from tests.models.capture.histories import HISTORIES
from tests.models.capture.mutants import MUTANTS
from tests.models.capture.players import player
from tests.models.capture.scenarios import GROUNDS, KEPT, SCOPES
from tests.models.capture.search import Outcome, explore_game
from tests.models.capture.shrink import loss_of, shrink
from tests.models.capture.walk import DESIGN_ITSELF
from tests.models.capture.walk import mutant as mutant_of
from tests.models.capture.zookeeper.agreement import ZkAgreementGame
from tests.models.capture.zookeeper.mutants import ZK_DESIGN, ZK_MUTANTS, zk_mutant
from tests.models.capture.zookeeper.scenarios import ZK_GROUNDS, ZK_KEPT, ZK_SCOPES
from tests.models.commands.seeds import Request, play_seeds

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "proof.md"
RESULTS = PROJECT / "tests" / "corpus" / "adversary.json"
WALKS = PROJECT / "walsafe-out" / "proof.jsonl"
"""What `./tests/run --search capture` records in the commands of the page."""

MOST_STATES = 1_500_000
"""Of one search of the design."""
ENOUGH_STATES = 20_000
"""Of one search for a mutant that loses nothing."""
_GROUNDS = {**GROUNDS, **ZK_GROUNDS}
_KEPT = {**KEPT, **ZK_KEPT}


def search_design(results: Found, names: Collection[str]) -> None:
    """Searches the clusters of these names with the unchanged design."""
    for design in (DESIGN_ITSELF.name, ZK_DESIGN.name):
        for name in (name for name in scopes_of(design) if name in names):
            outcome = look(design, name)
            found = {
                "states": outcome.states,
                "finished": outcome.finished,
                "captures": outcome.captures,
                "loss": [list(move) for move in outcome.loss.moves] if outcome.loss else None,
            }
            record(results, "scopes", name, found)


def search_mutants(results: Found, names: Collection[str]) -> None:
    """Looks for a counterexample of each mutant, and for the shortest one if the search can find it."""
    for mutant in (one.name for one in (*MUTANTS, *ZK_MUTANTS) if one.name in names):
        how = written if mutant in HISTORIES else without_a_loss if mutant in _KEPT else searched
        record(results, "mutants", mutant, how(mutant))


def record(results: Found, kind: str, name: str, found: Found) -> None:
    """Keeps one result, with the digest of the code that found it."""
    kept = results["zookeeper"] if is_zookeeper(name) else results
    kept[kind][name] = {**found, "code_sha256": code_sha256()}
    say(f"{kind} {name}: {str(found)[:150]}")
    save(results)


def written(mutant: str) -> Found:
    """Returns the written history of a mutant, shortened as far as possible."""
    scope, moves = HISTORIES[mutant]
    game, order = player(mutant).game(scope), mutant_of(mutant).order
    loss = loss_of(game, moves(order))
    if loss is None:
        raise SystemExit(f"the written history of {mutant} loses nothing")
    loss = shrink(game, loss, Game(Plan(scope)) if order == DESIGN else None)
    return {"by": "written", "scope": scope.name, "reason": loss.reason, "moves": [list(move) for move in loss.moves]}


def searched(mutant: str) -> Found:
    """Returns the shortest counterexample in the first cluster that has one."""
    for name in _GROUNDS.get(mutant, ("zk-crash" if is_zookeeper(mutant) else "crash",)):
        outcome = look(mutant, name)
        if outcome.loss:
            return {"by": "search", **shortest(name, outcome)}
    raise SystemExit(f"nothing has found {mutant} out: write a history, or show what its piece is kept for")


def without_a_loss(mutant: str) -> Found:
    """Returns the extent of the search for a mutant that loses nothing, and what shows that its piece is needed."""
    looked: Found = {}
    for name in scopes_of(mutant):
        outcome = look(mutant, name, ENOUGH_STATES)
        if outcome.loss:
            raise SystemExit(f"{mutant} loses a WAL in {name}: take it out of KEPT")
        looked[name] = {"states": outcome.states, "finished": outcome.finished}
    kept = _KEPT[mutant]
    if kept.behind is None or kept.both is None:
        return {"by": None, "looked": looked, "shown": disagreement(kept.scope, mutant)}
    alone, both = look(kept.behind, kept.scope), look(kept.both, kept.scope)
    if alone.loss or not alone.finished or not both.loss:
        raise SystemExit(f"{kept.scope} does not show that {mutant} and {kept.behind} stand in for each other")
    return {"by": None, "looked": looked, "shown": {**shortest(kept.scope, both), "behind_states": alone.states}}


def disagreement(name: str, mutant: str) -> Found:
    """Returns the shortest history after which HBase's own cleaner keeps a WAL that the mutant lets go.

    The design has no such history.
    """
    scope = scopes_of(mutant)[name]
    if is_zookeeper(mutant):
        games = [ZkAgreementGame(one.plan(scope)) for one in (ZK_DESIGN, zk_mutant(mutant))]
    else:
        weakened = mutant_of(mutant)
        games = [AgreementGame(one) for one in (Plan(scope), Plan(scope, weakened.order, weakened.weakening))]
    design, outcome = (explore_game(game, MOST_STATES) for game in games)
    if design.loss or not design.finished or not outcome.loss:
        raise SystemExit(f"{name} does not show that {mutant} breaks the agreement with HBase's cleaner")
    return shortest(name, outcome)


def is_zookeeper(name: str) -> bool:
    """Returns whether a mutant or a cluster has its queues in ZooKeeper."""
    return name.startswith("zk-")


def scopes_of(mutant: str) -> Mapping[str, Any]:
    """Returns the clusters with the same storage of queues."""
    return ZK_SCOPES if is_zookeeper(mutant) else SCOPES


def look(mutant: str, scope: str, most: int = MOST_STATES) -> Outcome[Any]:
    """Searches a named cluster for a loss of a mutant, or of the design itself."""
    return explore_game(player(mutant).game(scopes_of(mutant)[scope]), most)


def shortest(scope: str, outcome: Outcome[Any]) -> Found:
    """Returns the result of a search as a record."""
    if outcome.loss is None:
        raise SystemExit(f"nothing is lost in {scope}")
    moves = [list(move) for move in outcome.loss.moves]
    return {"scope": scope, "reason": outcome.loss.reason, "states": outcome.states, "moves": moves}


def play(results: Found, seeds: int) -> None:
    """Plays the seeds of either design that `WALKS` does not have yet, and records what all of them gave.

    Raises:
        SystemExit: a history loses a WAL.
    """
    for storage, design in ((results, DESIGN_ITSELF.name), (results["zookeeper"], ZK_DESIGN.name)):
        played, told = play_seeds(Request(0, seeds, design, WALKS))
        if played["violations"]:
            raise SystemExit(told)
        names = ("first_seed", "contested", "moves", "violations", "code_sha256")
        storage["walks"] = [{"seeds": played["histories"], **{name: played[name] for name in names}}]
        save(results)
        say(told)


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
