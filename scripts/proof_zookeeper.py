"""The searches and tables of docs/proof.md for queues in ZooKeeper; `generate_proof.py` runs and shows them."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from tests.models.capture.search import Outcome, explore_game
from tests.models.capture.turns import moves_of
from tests.models.capture.zookeeper import claims, peers, quorum, servers
from tests.models.capture.zookeeper.agreement import ZkAgreementGame
from tests.models.capture.zookeeper.game import ZkGame
from tests.models.capture.zookeeper.mutants import ZK_DESIGN, ZK_MUTANTS, ZkMutant, zk_mutant
from tests.models.capture.zookeeper.scenarios import ZK_GROUNDS, ZK_KEPT, ZK_SCOPES
from tests.models.capture.zookeeper.text import CLAIMS, ZK_TOLD, zk_in_one_line

Found = dict[str, Any]
Keep = Callable[[str, str, Found], None]
"""Keeps one result: `scopes` or `mutants`, its name, what was found."""
MOST_STATES = 1_500_000
"""The number of states after which a search gives up."""
ENOUGH_STATES = 20_000
"""The number of states after which a search for a mutant that loses nothing gives up."""


def search(names: Collection[str], keep: Keep) -> None:
    """Searches the clusters and mutants of these names, and keeps the results.

    Raises:
        SystemExit: a mutant is not found out, or a piece is not shown to be needed.
    """
    for mutant in (one for one in ZK_MUTANTS if one.name in names):
        keep("mutants", mutant.name, _kept(mutant) if mutant.name in ZK_KEPT else _caught(mutant))
    for scope in (scope for scope in ZK_SCOPES.values() if scope.name in names):
        outcome = explore_game(ZkGame(ZK_DESIGN.plan(scope)), MOST_STATES)
        moves = [list(move) for move in outcome.loss.moves] if outcome.loss else None
        counts = {"states": outcome.states, "finished": outcome.finished, "captures": outcome.captures}
        keep("scopes", scope.name, {**counts, "loss": moves})


def _caught(mutant: ZkMutant) -> Found:
    for name in ZK_GROUNDS.get(mutant.name, ("zk-crash",)):
        outcome = explore_game(ZkGame(mutant.plan(ZK_SCOPES[name])), MOST_STATES)
        if outcome.loss:
            return {"by": "search", **shortest(name, outcome)}
    raise SystemExit(f"nothing has found {mutant.name} out")


def _kept(mutant: ZkMutant) -> Found:
    looked: Found = {}
    for name, scope in ZK_SCOPES.items():
        outcome = explore_game(ZkGame(mutant.plan(scope)), ENOUGH_STATES)
        if outcome.loss:
            raise SystemExit(f"{mutant.name} loses a WAL in {name}: take it out of ZK_KEPT")
        looked[name] = {"states": outcome.states, "finished": outcome.finished}
    kept = ZK_KEPT[mutant.name]
    scope = ZK_SCOPES[kept.scope]
    if kept.behind is None or kept.both is None:
        design = explore_game(ZkAgreementGame(ZK_DESIGN.plan(scope)), MOST_STATES)
        shown = explore_game(ZkAgreementGame(mutant.plan(scope)), MOST_STATES)
        if design.loss or not design.finished or not shown.loss:
            raise SystemExit(f"{kept.scope} does not show that {mutant.name} breaks the agreement with HBase's cleaner")
        return {"by": None, "looked": looked, "shown": shortest(kept.scope, shown)}
    alone = explore_game(ZkGame(zk_mutant(kept.behind).plan(scope)), MOST_STATES)
    both = explore_game(ZkGame(zk_mutant(kept.both).plan(scope)), MOST_STATES)
    if alone.loss or not alone.finished or not both.loss:
        raise SystemExit(f"{kept.scope} does not show that {mutant.name} and {kept.behind} stand in for each other")
    return {"by": None, "looked": looked, "shown": {**shortest(kept.scope, both), "behind_states": alone.states}}


def shortest(name: str, outcome: Outcome[Any]) -> Found:
    """Returns the result of a search, of either model, as a record."""
    if outcome.loss is None:
        raise SystemExit(f"nothing is lost in {name}")
    moves = [list(move) for move in outcome.loss.moves]
    return {"scope": name, "reason": outcome.loss.reason, "states": outcome.states, "moves": moves}


# the tables


def parts(found: Found) -> Mapping[str, str]:
    """Returns the text for each mark of scripts/proof_head.md."""
    return {
        "ZK_ACTIONS": _actions(),
        "ZK_SCOPES": _scopes(found["scopes"]),
        "ZK_MUTANTS": _mutants(found["mutants"]),
        "ZK_KEPT": _kept_table(found["mutants"]),
        "ZK_WALKS": walks_table(found["walks"]),
    }


def _actions() -> str:
    rows = []
    for module, who in ((servers, "server"), (claims, "claim"), (peers, "peers"), (quorum, "ensemble")):
        for name, function in vars(module).items():
            if callable(function) and getattr(function, "__module__", "") == module.__name__ and name in ZK_TOLD:
                rows.append(f"| {who} | `{name}` | {(function.__doc__ or '').partition(chr(10))[0]} |")
    return "\n".join(["| who | action | what it is in HBase |", "|---|---|---|", *rows])


def _scopes(scopes: Mapping[str, Found]) -> str:
    rows = [
        f"| {name} | {len(scope.servers)} | {CLAIMS[scope.claim]} | {found['states']:,} | {found['captures']:,} | "
        f"{'all' if found['finished'] else 'not all'} | {'**yes**' if found['loss'] else 'none'} |"
        for name, scope in ZK_SCOPES.items()
        for found in (scopes[name],)
    ]
    head = "| cluster | servers | claims by | states | captures with something to lose | searched | loss |"
    return "\n".join([head, "|---|---|---|---|---|---|---|", *rows])


def _mutants(found: Mapping[str, Found]) -> str:
    rows = []
    for mutant in ZK_MUTANTS:
        entry = found[mutant.name]
        if entry["by"] is not None:
            rows.append(
                f"| `{mutant.name}` | {mutant.what} | {entry['scope']} | {len(entry['moves'])} | {entry['states']:,} | "
                f"{_steps(entry)} |"
            )
    head = "| mutant | what it does instead | cluster | steps | states | shortest counterexample |"
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])


def _kept_table(found: Mapping[str, Found]) -> str:
    rows = []
    for mutant in ZK_MUTANTS:
        entry = found[mutant.name]
        if entry["by"] is None:
            looked, kept, shown = entry["looked"].values(), ZK_KEPT[mutant.name], entry["shown"]
            searched = (
                f"{sum(one['states'] for one in looked):,} states in {len(looked)} clusters, "
                f"{sum(one['finished'] for one in looked)} of them to the end"
            )
            if kept.both is None:
                need = f"HBase's own cleaner keeps a WAL ({shown['reason']}) that it lets go"
            else:
                need = (
                    f"`{kept.behind}` alone loses nothing there either ({shown['behind_states']:,} states, all), both "
                    f"together (`{kept.both}`) lose a WAL"
                )
            steps = f"{kept.scope}, {shown['states']:,} states: {_steps(shown)}"
            rows.append(f"| `{mutant.name}` | {mutant.what} | {searched} | {need}; {steps} |")
    head = "| mutant | what it does instead | searched without a loss | kept for |"
    return "\n".join([head, "|---|---|---|---|", *rows])


def _steps(entry: Found) -> str:
    return zk_in_one_line(ZK_SCOPES[entry["scope"]], moves_of(entry))


def walks_table(walks: list[Found]) -> str:
    """Returns a table of the histories that were played by seed, of either model."""
    rows = [
        f"| {one['first_seed']:,} … {one['first_seed'] + one['seeds'] - 1:,} | {one['contested']:,} | "
        f"{one['moves']:,} | {one['violations']:,} | `{one['code_sha256'][:16]}` |"
        for one in walks
    ]
    head = "| seeds | histories with something to lose | steps | violations | code |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])
