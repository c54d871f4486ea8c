"""Builds the text of docs/proof.md from scripts/proof_head.md, the model's source, and the results of the searches.

`generate_proof.py` writes the page; a test checks that the page is up to date.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.models.capture import cleaner, disk, master, peers, servers, text
from tests.models.capture.batch import code_sha256
from tests.models.capture.game import Game, Plan
from tests.models.capture.histories import WRITTEN
from tests.models.capture.mutants import MUTANTS, Mutant
from tests.models.capture.names import Names
from tests.models.capture.scenarios import KEPT, SCOPES, Kept
from tests.models.capture.shrink import loss_of
from tests.models.capture.turns import moves_of
from tests.models.capture.walk import mutant as mutant_of
from tests.models.capture.zookeeper import claims, quorum
from tests.models.capture.zookeeper import peers as zk_peers
from tests.models.capture.zookeeper import servers as zk_servers
from tests.models.capture.zookeeper.mutants import ZK_MUTANTS, ZkMutant
from tests.models.capture.zookeeper.scenarios import ZK_KEPT, ZK_SCOPES
from tests.models.capture.zookeeper.text import CLAIMS, ZK_TOLD, zk_in_one_line

PROJECT = Path(__file__).resolve().parent.parent
Found = dict[str, Any]
_MODULES = {"server": servers, "master": master, "peers": peers, "cleaner": cleaner, "disk": disk}
_ZK_MODULES = {"server": zk_servers, "claim": claims, "peers": zk_peers, "ensemble": quorum}
TOLD_WHOLE = "dead-unread"
"""The mutant whose history the page shows step by step: the capture of an earlier walsafe lost this WAL."""


def render(results: Found) -> str:
    """Returns the text of the whole page."""
    queues = results["zookeeper"]
    page = (PROJECT / "scripts" / "proof_head.md").read_text(encoding="utf-8")
    parts = {
        "ACTIONS": actions_table(_MODULES, text.TOLD),
        "SCOPES": scopes_table(results["scopes"]),
        "MUTANTS": mutants_table(results["mutants"]),
        "CODE": states_of_code(results),
        "WALKS": walks_table(results["walks"]),
        "HISTORY": history(TOLD_WHOLE, results["mutants"][TOLD_WHOLE]),
        "KEPT": kept_table(MUTANTS, results["mutants"]),
        "ZK_ACTIONS": actions_table(_ZK_MODULES, ZK_TOLD),
        "ZK_SCOPES": zk_scopes_table(queues["scopes"]),
        "ZK_MUTANTS": zk_mutants_table(queues["mutants"]),
        "ZK_KEPT": kept_table(ZK_MUTANTS, queues["mutants"]),
        "ZK_WALKS": walks_table(queues["walks"]),
    }
    for name, part in parts.items():
        page = page.replace(f"{{{{{name}}}}}", part)
    return page


def actions_table(modules: Mapping[str, ModuleType], told: Collection[str]) -> str:
    """Returns a table of the actions of a model, each with its meaning in HBase, from the docstrings."""
    rows = []
    for who, module in modules.items():
        functions = {**vars(module), **vars(getattr(module, "Cleaner", object))}
        for name, function in functions.items():
            if callable(function) and getattr(function, "__module__", "") == module.__name__ and name in told:
                meaning = (function.__doc__ or "").partition("\n")[0].replace("|", "\\|")
                rows.append(f"| {who} | `{name}` | {meaning} |")
    return "\n".join(["| who | action | what it is in HBase |", "|---|---|---|", *rows])


def scopes_table(scopes: Mapping[str, Found]) -> str:
    """Returns a table of the searches of the unchanged design."""
    rows = [
        f"| {name} | {len(SCOPES[name].servers)} | {found['states']:,} | {found['captures']:,} | "
        f"{'all' if found['finished'] else 'not all'} | {'**yes**' if found['loss'] else 'none'} |"
        for name, found in scopes.items()
        if name in SCOPES
    ]
    head = "| cluster | servers | states | captures with something to lose | searched | loss |"
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])


def mutants_table(found: Mapping[str, Found]) -> str:
    """Returns a table of the mutants that lose a WAL, each with its counterexample in one cell."""
    rows = []
    for mutant in MUTANTS:
        entry = found[mutant.name]
        if entry["by"] is None:
            continue
        how = f"shortest, {entry['states']:,} states" if entry["by"] == "search" else "written, then shrunk"
        rows.append(
            f"| `{mutant.name}` | {mutant.what} | {entry['scope']} | {len(entry['moves'])} | {how} | {steps(entry)} |"
        )
    head = (
        "| mutant | what it does instead | cluster | steps | found | counterexample: what happens between the reads |"
    )
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])


def zk_scopes_table(scopes: Mapping[str, Found]) -> str:
    """Returns a table of the searches of the unchanged design for queues in ZooKeeper."""
    rows = [
        f"| {name} | {len(scope.servers)} | {CLAIMS[scope.claim]} | {found['states']:,} | {found['captures']:,} | "
        f"{'all' if found['finished'] else 'not all'} | {'**yes**' if found['loss'] else 'none'} |"
        for name, scope in ZK_SCOPES.items()
        for found in (scopes[name],)
    ]
    head = "| cluster | servers | claims by | states | captures with something to lose | searched | loss |"
    return "\n".join([head, "|---|---|---|---|---|---|---|", *rows])


def zk_mutants_table(found: Mapping[str, Found]) -> str:
    """Returns a table of the mutants that lose a WAL whose queue is in ZooKeeper."""
    rows = []
    for mutant in ZK_MUTANTS:
        entry = found[mutant.name]
        if entry["by"] is not None:
            rows.append(
                f"| `{mutant.name}` | {mutant.what} | {entry['scope']} | {len(entry['moves'])} | {entry['states']:,} | "
                f"{steps(entry)} |"
            )
    head = "| mutant | what it does instead | cluster | steps | states | shortest counterexample |"
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])


def kept_table(mutants: Sequence[Mutant | ZkMutant], found: Mapping[str, Found]) -> str:
    """Returns a table of the mutants that lose nothing, each with the reason why its piece is kept."""
    rows = []
    for mutant in mutants:
        entry = found[mutant.name]
        if entry["by"] is not None:
            continue
        states = sum(one["states"] for one in entry["looked"].values())
        finished = sum(one["finished"] for one in entry["looked"].values())
        searched = f"{states:,} states in {len(entry['looked'])} clusters, {finished} of them to the end"
        need = _need({**KEPT, **ZK_KEPT}[mutant.name], entry["shown"])
        rows.append(f"| `{mutant.name}` | {mutant.what} | {searched} | {need} |")
    return "\n".join(
        ["| mutant | what it does instead | searched without a loss | kept for |", "|---|---|---|---|", *rows]
    )


def _need(kept: Kept, shown: Found) -> str:
    """Returns in words why a piece is needed, as a search has shown."""
    if kept.both is None:
        said = f"HBase's own cleaner keeps a WAL ({shown['reason']}) that it lets go"
    else:
        said = (
            f"`{kept.behind}` alone loses nothing there either ({shown['behind_states']:,} states, all), both together "
            f"(`{kept.both}`) lose a WAL"
        )
    return f"{said}; {kept.scope}, {shown['states']:,} states: {steps(shown)}"


def steps(entry: Found) -> str:
    """Returns a counterexample in one line: consecutive reads of the table are drawn together."""
    if entry["scope"] in ZK_SCOPES:
        return zk_in_one_line(ZK_SCOPES[entry["scope"]], moves_of(entry))
    scope = {**SCOPES, **WRITTEN}[entry["scope"]]
    words: list[str] = []
    for name, arguments in moves_of(entry):
        told = text.told(scope, (name, arguments))
        if told.startswith("capture: ") and words and words[-1].startswith("["):
            words[-1] = f"{words[-1].partition(' …')[0]} … {name}]".replace("] …", " …")
        elif told.startswith("capture: "):
            words.append(f"[{name}]")
        else:
            words.append(told)
    return "; ".join(words)


def walks_table(walks: list[Found]) -> str:
    """Returns a table of the histories that were played by seed, of either storage."""
    rows = [
        f"| {one['first_seed']:,} … {one['first_seed'] + one['seeds'] - 1:,} | {one['contested']:,} | "
        f"{one['moves']:,} | {one['violations']:,} | `{one['code_sha256'][:16]}` |"
        for one in walks
    ]
    head = "| seeds | histories with something to lose | steps | violations | code |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


def history(name: str, entry: Found) -> str:
    """Returns one counterexample with a line for each step."""
    scope, weakened = WRITTEN[entry["scope"]], mutant_of(name)
    moves = moves_of(entry)
    loss = loss_of(Game(Plan(scope, weakened.order, weakened.weakening)), moves)
    if loss is None:
        raise SystemExit(f"the recorded history of {name} loses nothing any more: search again")
    names = Names(scope)
    return "\n".join(["```", text.beginning(scope), text.story(scope, moves), text.ending(names, loss), "```"])


def states_of_code(results: Found) -> str:
    """Returns a sentence that says whether one state of the code has found all results, and whether it is this one."""
    found = {
        entry.get("code_sha256", "")
        for storage in (results, results["zookeeper"])
        for entries in (storage["scopes"].values(), storage["mutants"].values(), storage["walks"])
        for entry in entries
    }
    is_known = code_sha256() in found
    if len(found) == 1:
        state = "this" if is_known else "an earlier"
        return f"All tables were found by {state} state of rule and model, `{found.pop()[:16]}`."
    which = "this one among them" if is_known else "all of them earlier ones"
    states = f"{len(found)} states of rule and model, {which}"
    return f"The tables were found by {states}; `--search --walks N` makes them one."
