"""Formats histories as text for people."""

from collections.abc import Callable, Iterable, Sequence

from tests.models.capture.names import Names
from tests.models.capture.scope import Scope
from tests.models.capture.turns import Loss, Move, StateT

_Arguments = tuple[int, ...]
TOLD: dict[str, Callable[[Names, _Arguments], str]] = {
    "start": lambda n, a: f"{_rs(n, a[0])} starts",
    "roll": lambda n, a: f"{_rs(n, a[0])} rolls its WAL{_group(n, a[1])}",
    "archive": lambda n, a: f"{_rs(n, a[0])} archives its oldest WAL{_group(n, a[1])}",
    "ship": lambda n, a: f"{_rs(n, a[0])} writes its next offset for {n.peer(a[1])}{_group(n, a[2])}",
    "crash": lambda n, a: f"{_rs(n, a[0])} crashes: off the online list, no crash procedure yet",
    "crash_without_gap": lambda n, a: f"{_rs(n, a[0])} crashes, its crash procedure is submitted at once",
    "zombie_ships": lambda n, a: f"{_rs(n, a[0])}, taken for dead, writes one more offset for {n.peer(a[1])}",
    "recovered_ships": lambda n, a: f"{_rs(n, a[1])} ships its recovered queue of {_rs(n, a[2])} for {n.peer(a[0])}",
    "submit": lambda n, a: f"{'HBCK' if a[1] else ''}ServerCrashProcedure of {_rs(n, a[0])} is submitted",
    "rename_directory": lambda n, a: f"WALs/{_rs(n, a[0])} is renamed to -splitting",
    "split_logs": lambda n, a: f"the WALs of {_rs(n, a[0])} are split and archived",
    "remove_directory": lambda n, a: f"WALs/{_rs(n, a[0])} {'stays behind, empty' if a[1] else 'is removed'}",
    "assign_queues": lambda n, a: f"{_rs(n, a[0])}: its crash procedure turns to the replication queues",
    "add_missing_queue": lambda n, a: f"{_rs(n, a[0])}: the missing queue of {n.peer(a[1])} is added",
    "claim": lambda n, a: (
        f"{_rs(n, a[3])} claims the queue of {_rs(n, _source(a))} for {n.peer(a[0])} from {_rs(n, a[1])}"
    ),
    "remove_queues": lambda n, a: f"{_rs(n, a[0])}: ReplicationSyncUp has shipped its queues, rows are removed",
    "finish": lambda n, a: f"the crash procedure of {_rs(n, a[0])} ends",
    "fail_over": lambda _, _a: "another master takes over, and loads",
    "sync_up": lambda _, _a: "ReplicationSyncUp ships every queue, and leaves a flag file for each server",
    "load": lambda _, _a: "the master is initialized",
    "submit_migration": lambda _, _a: "the migration of the queues is submitted",
    "copy_row": lambda _, _a: "the migration copies a queue into the table",
    "remove_znodes": lambda _, _a: "the migration removes the znodes",
    "end_migration": lambda _, _a: "the migration ends",
    "submit_add_peer": lambda n, a: f"AddPeer of {n.peer(a[0])} is submitted",
    "store_peer": lambda n, a: f"AddPeer stores {n.peer(a[0])}",
    "refresh_add": lambda n, a: f"AddPeer refreshes {_rs(n, a[1])}: offset 0 of its newest WAL for {n.peer(a[0])}",
    "end_procedure": lambda n, a: f"the procedure of {n.peer(a[0])} ends",
    "remove_peer": lambda n, a: f"RemovePeer removes {n.peer(a[0])}",
    "remove_peer_queues": lambda n, a: f"RemovePeer deletes the rows of {n.peer(a[0])}",
    "toggle_peer": lambda n, a: f"{n.peer(a[0])} is disabled or enabled",
    "to_standby": lambda n, a: f"{n.peer(a[0])} goes to STANDBY, its rows are deleted",
    "drain_sources": lambda n, a: f"{_rs(n, a[1])} drains its source of {n.peer(a[0])}",
    "from_standby": lambda n, a: f"{n.peer(a[0])} goes to DOWNGRADE_ACTIVE",
    "start_cleaner": lambda _, _a: "HMaster's cleaner starts",
    "cleaner_reads": lambda _, _a: "HMaster's cleaner reads on",
    "cleaner_deletes": lambda _, _a: "HMaster's cleaner deletes",
    "fill_up": lambda _, a: f"the disk is full: of a saved scan the first {a[0]} rows stay",
    "master": lambda _, _a: "the master says its name",
    "proof": lambda _, _a: "the master proves that it is initialized",
    "proof-2": lambda _, _a: "the master proves it again",
}


def told(scope: Scope, move: Move) -> str:
    """Describes one step; the text of a read of the capture begins with `capture:`."""
    name, arguments = move
    names = Names(scope)
    if name in TOLD:
        words = TOLD[name](names, arguments)
        return f"capture: {words}" if name.startswith(("master", "proof")) else words
    rows = f", rows of {_rs(names, arguments[0])}" if arguments else ""
    return f"capture: {name}{rows}"


def story(scope: Scope, moves: Sequence[Move]) -> str:
    """Formats a history with a numbered line for each step."""
    return numbered(told(scope, move) for move in moves)


def numbered(lines: Iterable[str]) -> str:
    """Numbers the lines of a story and joins them."""
    return "\n".join(f"{number:>4}  {line}" for number, line in enumerate(lines, start=1))


def ending(names: Names, loss: Loss[StateT]) -> str:
    """Returns the line that says what was lost."""
    return f"      lost: {names.wal(*loss.wal)} is DELETABLE ({loss.reason}), and a peer still needs it"


def beginning(scope: Scope) -> str:
    """Describes the cluster before the first step."""
    names, lines = Names(scope), []
    for number, plan in enumerate(scope.servers):
        if plan.waits:
            what = "has not started"
        elif plan.dead:
            owner = "" if plan.owner is None else f", claimed by {_rs(names, plan.owner)}"
            queue = "shipped" if plan.row is None else f"queue at {plan.row}{owner}"
            what = f"is dead, {plan.wals} WALs archived, {queue}"
        else:
            queue = "no offset written" if plan.row is None else f"queue at {plan.row}"
            what = f"is online, {plan.wals} WALs, {plan.archived} archived, {queue}"
        lines.append(f"      {_rs(names, number)} {what}")
    return "\n".join([peers_there(names, scope.peers), *lines])


def peers_there(names: Names, peers: Sequence[bool]) -> str:
    """Returns the first line of a beginning, which names the peers."""
    there = ", ".join(names.peer(number) for number, is_there in enumerate(peers) if is_there) or "none"
    return f"      peers: {there}"


def _rs(names: Names, server: int) -> str:
    plan = names.scope.servers[server]
    return f"rs{plan.host}" + ("" if plan.startcode == 1 else f" (start code {plan.startcode})")


def _source(arguments: _Arguments) -> int:
    return arguments[1] if arguments[2] < 0 else arguments[2]


def _group(names: Names, group: int) -> str:
    return "" if names.scope.groups == 1 else f", group {group}"
