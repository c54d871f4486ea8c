"""Asks the real ReplicationLogCleaner about many fabricated states per second."""

import base64
from collections.abc import Iterator

from tests.judge.comparison import Answer
from tests.judge.states import JudgedState
from tests.judge.zookeeper_states import RS, ZkJudgedState
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.jvm import JavaObject

_ANSWERS: dict[str, Answer] = {"DELETE": "DELETE", "KEEP": "KEEP", "THROWS": "THROWS", "BLOCKED": "BLOCKED"}
_COMPACT_EVERY = 1_000
"""States; deleted rows of the table slow down every scan until they are compacted away."""


class Judge:
    """Writes states into one cluster's ``hbase:replication`` and asks its cleaner.

    Args:
        cluster: a cluster with a queue table, without real peers.
    """

    def __init__(self, cluster: HBaseCluster) -> None:
        view = cluster.jvm.view.walsafe.cluster
        self._java: JavaObject = view.Judge(cluster.harness, view.Oracle(cluster.harness))
        self._asked = 0

    def answers(self, state: JudgedState) -> list[Answer]:
        """Returns an answer for each file of the state, in their order."""
        self._asked += 1
        if self._asked % _COMPACT_EVERY == 0:
            self._java.compact()
        return _answers(self._java.answers("\n".join(_question(state))), len(state.files))

    def clear(self) -> None:
        """Removes all peers and rows."""
        self._java.clear()


class ZooKeeperJudge:
    """Writes queues into the ZooKeeper of an HBase 2, below a znode of their own, and asks its cleaner.

    Args:
        cluster: an HBase 2; its own queues and peers stay as they are.
    """

    def __init__(self, cluster: HBaseCluster) -> None:
        self._java: JavaObject = cluster.jvm.view.walsafe.cluster.Judge(cluster.harness)

    def answers(self, state: ZkJudgedState) -> list[Answer]:
        """Returns an answer for each file of the state, in their order."""
        return _answers(self._java.answers("\n".join(_zookeeper_question(state))), len(state.files))

    def clear(self) -> None:
        """Removes all queues."""
        self._java.clear()


def _answers(text: str, files: int) -> list[Answer]:
    lines = text.splitlines()
    if lines == ["BLOCKED"]:
        return ["BLOCKED"] * files
    if len(lines) != files:
        raise AssertionError(f"{files} files asked, {len(lines)} answers")
    return [_ANSWERS[line] for line in lines]


def _zookeeper_question(state: ZkJudgedState) -> Iterator[str]:
    yield f"time\t{state.read_from}"
    for znode in state.znodes:
        yield _line("znode", znode.path.removeprefix(f"{RS}/").encode(), znode.data)
    for file in state.files:
        yield f"{_line('name', file.name.encode())}\t{file.modification_time}"


def _question(state: JudgedState) -> Iterator[str]:
    for peer in state.peer_ids:
        yield _line("peer", peer.encode())
    for server in state.live:
        yield _line("live", server.encode())
    if state.barrier:
        yield "barrier"
    for cell in state.cells:
        yield _line("cell", cell.row, cell.family, cell.qualifier, cell.value)
    for file in state.files:
        yield _line("name", file.name.encode())


def _line(word: str, *parts: bytes) -> str:
    return "\t".join((word, *(base64.b64encode(part).decode("ascii") for part in parts)))
