"""Formats histories with queues in ZooKeeper as text for people."""

from collections.abc import Callable, Sequence

from tests.models.capture.text import numbered, peers_there
from tests.models.capture.turns import Move
from tests.models.capture.zookeeper.scope import ZkScope

CLAIMS = ("lock, copy, clean-up", "one transaction", "one transaction and cversion")
"""The ways of claiming, as LOCK, MULTI and CVERSION number them."""
_Arguments = tuple[int, ...]
ZK_TOLD: dict[str, Callable[[ZkScope, _Arguments], str]] = {
    "start": lambda s, a: f"{_rs(s, a[0])} starts",
    "roll": lambda s, a: f"{_rs(s, a[0])} rolls its WAL",
    "archive": lambda s, a: f"{_rs(s, a[0])} archives its oldest WAL",
    "ship": lambda s, a: f"{_rs(s, a[0])} ships the next WAL of queue {_queue(s, a[1:])}",
    "crash": lambda s, a: f"{_rs(s, a[0])} crashes",
    "split": lambda s, a: f"the WALs of {_rs(s, a[0])} are split and archived",
    "claim": lambda s, a: f"{_rs(s, a[0])} claims queue {_queue(s, a[3:])} of {_rs(s, a[1])}, at once",
    "remove_replicator": lambda s, a: f"rs/{_rs(s, a[0])}, empty by now, is removed",
    "lock": lambda s, a: f"{_rs(s, a[0])} locks {_rs(s, a[1])}, and lists its queue {_queue(s, a[3:])}",
    "make_copy": lambda s, a: f"the queue for that of {_rs(s, a[0])} is made, empty",
    "copy_wal": lambda s, a: f"the next WAL of {_rs(s, a[0])}'s queue is copied",
    "clean_wal": lambda s, a: f"the next WAL is deleted from {_rs(s, a[0])}'s queue",
    "clean_queue": lambda s, a: f"the queue of {_rs(s, a[0])} is deleted",
    "unlock": lambda s, a: f"{_rs(s, a[0])} is unlocked",
    "add_peer": lambda s, a: f"{s.names.peer(a[0])} is added",
    "refresh_peer": lambda s, a: f"{_rs(s, a[0])} hears of {s.names.peer(a[1])}: a queue from its newest WAL on",
    "remove_peer": lambda s, a: f"{s.names.peer(a[0])} is removed",
    "delete_queue": lambda s, a: f"{_rs(s, a[0])} deletes queue {_queue(s, a[1:])} of the removed peer",
    "fall_behind": lambda _, a: f"{a[0]} ZooKeeper servers stop to follow the leader",
    "expire": lambda _, _a: "the capture's session expires, and the next one is with a server that is behind",
}
_READS: dict[str, Callable[[ZkScope, _Arguments], str]] = {
    "files": lambda _, _a: "files",
    "peers": lambda _, _a: "peers",
    "session": lambda _, a: f"queues-{a[0]}, its session",
    "session-again": lambda _, a: f"queues-{a[0]}, whether the session is the same",
    "sync": lambda _, a: f"queues-{a[0]}, sync",
    "open": lambda _, a: f"queues-{a[0]}, rs before",
    "again": lambda s, a: f"queues-{a[0]}, {_rs(s, a[1])} again",
    "close": lambda _, a: f"queues-{a[0]}, rs after",
    "list": lambda _, a: f"queues-{a[0]}, servers",
    "server": lambda s, a: f"queues-{a[0]}, {_rs(s, a[1])}",
    "queue": lambda s, a: f"queues-{a[0]}, {_rs(s, a[1])}/{_queue(s, a[2:])}",
}


def zk_told(scope: ZkScope, move: Move) -> str:
    """Describes one step; the text of a read of the capture begins with `capture:`."""
    name, arguments = move
    if name in _READS:
        return f"capture: {_READS[name](scope, arguments)}"
    return ZK_TOLD[name](scope, arguments)


def zk_story(scope: ZkScope, moves: Sequence[Move]) -> str:
    """Formats a history with a numbered line for each step."""
    return numbered(zk_told(scope, move) for move in moves)


def zk_beginning(scope: ZkScope) -> str:
    """Describes the cluster before the first step."""
    lines = []
    for number, plan in enumerate(scope.servers):
        if plan.waits:
            what = "has not started"
        elif plan.dead:
            what = f"is dead, {plan.wals} WALs archived, its queues not claimed yet"
        else:
            what = f"is online, {plan.wals} WALs, {plan.archived} archived, all in its queues"
        lines.append(f"      {_rs(scope, number)} {what}")
    return "\n".join([peers_there(scope.names, scope.peers), f"      claims: {CLAIMS[scope.claim]}", *lines])


def zk_in_one_line(scope: ZkScope, moves: Sequence[Move]) -> str:
    """Formats a history in one line: consecutive reads are drawn together, in brackets."""
    words: list[str] = []
    for move in moves:
        told = zk_told(scope, move)
        read = told.removeprefix("capture: ")
        if read == told:
            words.append(told)
        elif words and words[-1].startswith("["):
            words[-1] = f"{words[-1].strip('[]').partition(' … ')[0]} … {read}".join("[]")
        else:
            words.append(f"[{read}]")
    return "; ".join(words)


def _rs(scope: ZkScope, server: int) -> str:
    return f"rs{scope.servers[server].host}"


def _queue(scope: ZkScope, names: _Arguments) -> str:
    peer, *hops = names
    return "-".join((scope.names.peer(peer), *(_rs(scope, hop) for hop in hops)))
