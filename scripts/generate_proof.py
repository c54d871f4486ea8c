"""Writes docs/proof.md from the model's source and from what its searches found (tests/corpus/adversary.json).

Run: .venv/bin/python scripts/generate_proof.py                 the page alone, from the recorded results
     .venv/bin/python scripts/generate_proof.py --search        search again (half an hour), then the page
     .venv/bin/python scripts/generate_proof.py --search NAME…  only these mutants and clusters
     .venv/bin/python scripts/generate_proof.py --walks N       play so many seeds more, then the page
"""

import argparse
import json
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "proof.md"
RESULTS = PROJECT / "tests" / "corpus" / "adversary.json"
sys.path.insert(0, str(PROJECT))

from pipelines.simulate.adversary import cleaner, master, peers, servers, text  # noqa: E402 - importable from here on
from pipelines.simulate.adversary.batch import code_sha256, play_range  # noqa: E402
from pipelines.simulate.adversary.game import Game, Move, Plan  # noqa: E402
from pipelines.simulate.adversary.mutants import MUTANTS, Mutant  # noqa: E402
from pipelines.simulate.adversary.names import Names  # noqa: E402
from pipelines.simulate.adversary.scenarios import GROUNDS, HARMLESS, HISTORIES, SCOPES, WRITTEN  # noqa: E402
from pipelines.simulate.adversary.search import explore  # noqa: E402
from pipelines.simulate.adversary.shrink import loss_of, shrink  # noqa: E402
from pipelines.simulate.adversary.walk import DESIGN_ITSELF  # noqa: E402

MOST_STATES = 1_500_000
"""Of one search of the design."""
ENOUGH_STATES = 20_000
"""Of one search for a mutant that nothing has found out."""
Found = dict[str, Any]


def search_design(results: Found, names: Collection[str]) -> None:
    """Search scopes with nothing taken away."""
    for scope in (scope for scope in SCOPES.values() if scope.name in names):
        outcome = explore(Plan(scope), MOST_STATES)
        results["scopes"][scope.name] = {
            "states": outcome.states,
            "finished": outcome.finished,
            "captures": outcome.captures,
            "loss": [list(move) for move in outcome.loss.moves] if outcome.loss else None,
        }
        say(f"design in {scope.name}: {results['scopes'][scope.name]}")
        save(results)


def search_mutants(results: Found, names: Collection[str]) -> None:
    """Look for a counterexample of mutants, and for the shortest one where a search gets there."""
    for mutant in (one for one in (DESIGN_ITSELF, *MUTANTS) if one.name in names):
        results["mutants"][mutant.name] = written(mutant) if mutant.name in HISTORIES else searched(mutant)
        say(f"{mutant.name}: {str(results['mutants'][mutant.name])[:150]}")
        save(results)


def written(mutant: Mutant) -> Found:
    """The written history of a mutant, shrunk."""
    scope, moves = HISTORIES[mutant.name]
    game = Game(Plan(scope, mutant.order, mutant.weakening))
    loss = loss_of(game, moves(mutant.order))
    if loss is None:
        raise SystemExit(f"the written history of {mutant.name} loses nothing")
    loss = shrink(game, loss)
    return {"by": "written", "scope": scope.name, "reason": loss.reason, "moves": [list(move) for move in loss.moves]}


def searched(mutant: Mutant) -> Found:
    """The shortest counterexample in the first scope that has one, or how much was searched."""
    harmless = mutant.name in HARMLESS
    looked: Found = {}
    for name in SCOPES if harmless else GROUNDS.get(mutant.name, ("crash",)):
        plan = Plan(SCOPES[name], mutant.order, mutant.weakening)
        outcome = explore(plan, ENOUGH_STATES if harmless else MOST_STATES)
        if outcome.loss:
            moves = [list(move) for move in outcome.loss.moves]
            found = {"scope": name, "reason": outcome.loss.reason, "states": outcome.states, "moves": moves}
            return {"by": "search", **found}
        looked[name] = {"states": outcome.states, "finished": outcome.finished}
    return {"by": None, "looked": looked}


def play(results: Found, seeds: int) -> None:
    """Play more histories of the design, from where the last ones ended, and record them."""
    code = code_sha256()
    mine = [entry for entry in results["walks"] if entry["code_sha256"] == code]
    results["walks"] = mine
    first = max((entry["first_seed"] + entry["seeds"] for entry in mine), default=0)
    total: Found = {"first_seed": first, "seeds": 0, "contested": 0, "moves": 0, "violations": 0, "code_sha256": code}
    results["walks"].append(total)
    for begin in range(first, first + seeds, 10_000):
        played = play_range(begin, min(10_000, first + seeds - begin), DESIGN_ITSELF.name)
        total["seeds"] += played.seeds
        total["contested"] += played.contested
        total["moves"] += played.moves
        total["violations"] += len(played.violations)
        save(results)
    say(f"walks: {total}")


def say(words: str) -> None:
    """Tell how far it is."""
    sys.stderr.write(words + "\n")


def save(results: Found) -> None:
    """Write the results; a run that is stopped keeps what it has."""
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load() -> Found:
    """The recorded results."""
    if not RESULTS.exists():
        return {"scopes": {}, "mutants": {}, "walks": []}
    loaded: Found = json.loads(RESULTS.read_text(encoding="utf-8"))
    return loaded


def render(results: Found) -> str:
    """The whole page."""
    page = (PROJECT / "scripts" / "proof_head.md").read_text(encoding="utf-8")
    parts = {
        "ACTIONS": actions_table(),
        "SCOPES": scopes_table(results["scopes"]),
        "MUTANTS": mutants_table(results["mutants"]),
        "WALKS": walks_table(results["walks"]),
        "HISTORY": history(results["mutants"]["design"]),
        "HARMLESS": harmless_table(results["mutants"]),
    }
    for name, part in parts.items():
        page = page.replace(f"{{{{{name}}}}}", part)
    return page


def actions_table() -> str:
    """Every action of the cluster with what it stands for, from the docstrings."""
    rows = []
    for module, who in ((servers, "server"), (master, "master"), (peers, "peers"), (cleaner, "cleaner")):
        functions = {**vars(module), **vars(getattr(module, "Cleaner", object))}
        for name, function in functions.items():
            if callable(function) and getattr(function, "__module__", "") == module.__name__ and name in text.TOLD:
                rows.append(f"| {who} | `{name}` | {first_line(function)} |")
    return "\n".join(["| who | action | what it is in HBase |", "|---|---|---|", *rows])


def first_line(function: Callable[..., object]) -> str:
    """The first line of a docstring."""
    return (function.__doc__ or "").partition("\n")[0].replace("|", "\\|")


def scopes_table(scopes: Mapping[str, Found]) -> str:
    """What was searched with nothing taken away."""
    rows = [
        f"| {name} | {len(SCOPES[name].servers)} | {found['states']:,} | {found['captures']:,} | "
        f"{'all' if found['finished'] else 'not all'} | {'**yes**' if found['loss'] else 'none'} |"
        for name, found in scopes.items()
        if name in SCOPES
    ]
    head = "| cluster | servers | states | captures with something to lose | searched | loss |"
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])


def mutants_table(found: Mapping[str, Found]) -> str:
    """Every mutant that is found out, with its counterexample in one cell."""
    rows = []
    for mutant in MUTANTS:
        entry = found[mutant.name]
        if entry["by"] is None:
            continue
        how = f"shortest, {entry['states']:,} states" if entry["by"] == "search" else "written, then shrunk"
        rows.append(f"| `{mutant.name}` | {mutant.what} | {len(entry['moves'])} | {how} | {steps(entry)} |")
    head = "| mutant | what it does instead | steps | found | counterexample: what happens between the reads |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


def harmless_table(found: Mapping[str, Found]) -> str:
    """Every mutant that nothing has found out."""
    rows = []
    for mutant in MUTANTS:
        entry = found[mutant.name]
        if entry["by"] is None:
            states = sum(one["states"] for one in entry["looked"].values())
            finished = sum(one["finished"] for one in entry["looked"].values())
            rows.append(
                f"| `{mutant.name}` | {mutant.what} | {states:,} states in {len(entry['looked'])} clusters, "
                f"{finished} of them to the end |"
            )
    return "\n".join(["| mutant | what it does instead | searched without a loss |", "|---|---|---|", *rows])


def steps(entry: Found) -> str:
    """A counterexample in one line: reads in a row are drawn together."""
    scope = {**SCOPES, **WRITTEN}[entry["scope"]]
    words: list[str] = []
    for name, arguments in entry["moves"]:
        told = text.told(scope, (name, tuple(arguments)))
        if told.startswith("capture: ") and words and words[-1].startswith("["):
            words[-1] = f"{words[-1].partition(' …')[0]} … {name}]".replace("] …", " …")
        elif told.startswith("capture: "):
            words.append(f"[{name}]")
        else:
            words.append(told)
    return "; ".join(words)


def history(entry: Found) -> str:
    """One counterexample, a step a line."""
    scope = WRITTEN[entry["scope"]]
    moves: list[Move] = [(name, tuple(arguments)) for name, arguments in entry["moves"]]
    game = Game(Plan(scope))
    loss = loss_of(game, moves)
    if loss is None:
        raise SystemExit("the recorded history of the design loses nothing any more: search again, rewrite the page")
    names = Names(scope)
    return "\n".join(["```", text.beginning(scope), text.story(scope, moves), text.ending(names.scope, loss), "```"])


def walks_table(walks: list[Found]) -> str:
    """What was played by seed."""
    rows = [
        f"| {entry['first_seed']:,} … {entry['first_seed'] + entry['seeds'] - 1:,} | {entry['contested']:,} | "
        f"{entry['moves']:,} | {entry['violations']:,} | `{entry['code_sha256'][:16]}` |"
        for entry in walks
    ]
    head = "| seeds | histories with something to lose | steps | violations | code |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


def main() -> None:
    """Search, play, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search", nargs="*", metavar="NAME")
    parser.add_argument("--walks", type=int, default=0, metavar="N")
    asked = parser.parse_args()
    results = load()
    if asked.search is not None:
        everything = [*SCOPES, DESIGN_ITSELF.name, *(one.name for one in MUTANTS)]
        unknown = sorted(set(asked.search) - set(everything))
        if unknown:
            parser.error(f"no mutant and no cluster {unknown[0]!r}; there are {', '.join(everything)}")
        search_mutants(results, asked.search or everything)
        search_design(results, asked.search or everything)
    if asked.walks:
        play(results, asked.walks)
    TARGET.write_text(render(results), encoding="utf-8")


if __name__ == "__main__":
    main()
