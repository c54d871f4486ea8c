"""The real ReplicationLogCleaner, asked about many fabricated states a second."""

import base64
from collections.abc import Iterator

from tests.cluster.hbase import HBaseCluster
from tests.cluster.jvm import JavaObject
from tests.judge.comparison import Answer
from tests.judge.states import JudgedState

_ANSWERS: dict[str, Answer] = {"DELETE": "DELETE", "KEEP": "KEEP", "THROWS": "THROWS", "BLOCKED": "BLOCKED"}
_COMPACT_EVERY = 1_000
"""States; deleted rows of the table slow down every scan until they are compacted away."""


class Judge:
    """Writes states into one cluster's ``hbase:replication`` and asks its cleaner.

    Args:
        cluster: with a queue table, without real peers.
    """

    def __init__(self, cluster: HBaseCluster) -> None:
        view = cluster.jvm.view.walsafe.cluster
        self._java: JavaObject = view.Judge(cluster.harness, view.Oracle(cluster.harness))
        self._asked = 0

    def answers(self, state: JudgedState) -> list[Answer]:
        """An answer for each file of the state, in their order."""
        self._asked += 1
        if self._asked % _COMPACT_EVERY == 0:
            self._java.compact()
        lines = self._java.answers("\n".join(_question(state))).splitlines()
        if lines == ["BLOCKED"]:
            return ["BLOCKED"] * len(state.files)
        if len(lines) != len(state.files):
            raise AssertionError(f"{len(state.files)} files asked, {len(lines)} answers")
        return [_ANSWERS[line] for line in lines]

    def clear(self) -> None:
        """Leaves no peer and no row."""
        self._java.clear()


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
