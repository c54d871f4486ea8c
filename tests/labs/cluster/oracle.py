"""Asks HBase's own ReplicationLogCleaner in a running cluster."""

import base64
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.labs.cluster.hbase import Cell, HBaseCluster, WalFile, wait_until
from tests.labs.cluster.jvm import JavaObject

Verdict = Literal["DELETE", "KEEP", "THROWS"]
_VERDICTS: dict[str, Verdict] = {"DELETE": "DELETE", "KEEP": "KEEP", "THROWS": "THROWS"}


@dataclass(frozen=True)
class Timing:
    """One timed run of ``getDeletableFiles`` over all names at once, on one thread.

    Attributes:
        files: Names asked.
        deletable: Names that it would delete.
        prepare_seconds: ``preClean``, which reads the queues.
        decide_seconds: ``getDeletableFiles``.
        heap_bytes: Heap that the list of files takes.
    """

    files: int
    deletable: int
    prepare_seconds: float
    decide_seconds: float
    heap_bytes: int

    @property
    def files_per_second(self) -> float:
        """Returns the speed of the decision alone."""
        return self.files / self.decide_seconds


class Oracle:
    """Asks the cleaner of one cluster, and fabricates states for it to judge."""

    def __init__(self, cluster: HBaseCluster) -> None:
        self._cluster = cluster
        self._java: JavaObject = cluster.jvm.view.walsafe.cluster.Oracle(cluster.harness)

    def verdicts(self, files: Sequence[WalFile | str], live: Iterable[str] | None = None) -> list[Verdict]:
        """Asks about each file alone, after one reading of the queues.

        Args:
            files: the files, or only their paths.
            live: the servers that count as not fully dead; by default those that the master itself reports.

        Returns:
            A verdict for each file, in their order.
        """
        java_live = _java_list(live)
        return _asked(self._cluster, files, lambda names, answers: self._java.verdicts(names, answers, java_live))

    def time(self, names: Path, live: Iterable[str] | None = None) -> Timing:
        """Times the cleaner on a text file of names (see `write_names`)."""
        files, deletable, prepare, decide, heap = self._java.time(str(names), _java_list(live))
        return Timing(files, deletable, prepare / 1e9, decide / 1e9, heap)

    # fabricated state: for clusters without real peers, whose region servers would write rows of their own

    def create_queue_table(self) -> None:
        """Creates ``hbase:replication`` as the first AddPeer would."""
        self._java.createQueueTable()

    def set_queues(self, cells: Iterable[Cell]) -> None:
        """Replaces the whole content of ``hbase:replication``."""
        self._cluster.harness.clearQueueTable()
        encoded = ["\t".join(base64.b64encode(part).decode("ascii") for part in cell) for cell in cells]
        if encoded:
            self._cluster.harness.putQueueCells(encoded)

    def set_peers(self, peer_ids: Iterable[str]) -> None:
        """Replaces the peers in the master's memory: seen by the cleaner and by clients, but nothing is replicated."""
        self._java.setPeers(list(peer_ids))

    def set_barrier(self, taken: bool) -> None:
        """Takes or gives back the barrier that AddPeer and the migration hold."""
        self._java.setBarrier(taken)


def wait_shipped(cluster: HBaseCluster, table: str, files: int = 1) -> None:
    """Waits until no peer needs so many archived WALs of servers any more; an idle source delays its last WAL."""
    judge, rounds = Oracle(cluster), 0

    def shipped() -> bool:
        nonlocal rounds
        rounds += 1
        if rounds % 20 == 0:
            cluster.archive_wals(table)
        wals = [file for file in cluster.old_wals() if not file.path.endswith((".meta", "$"))]
        return judge.verdicts(wals).count("DELETE") >= files

    wait_until(shipped, f"{files} WALs are shipped")


def queue_cell(queue: str, group: str, wal: str, offset: int) -> Cell:
    """Returns a cell as HBase writes it; the queue is ``peer-server`` or ``peer-server/source``."""
    return Cell(queue.encode(), b"queue", group.encode(), f"{wal}:{offset}".encode())


def write_names(target: Path, files: Iterable[WalFile | str]) -> None:
    """Writes the input of `Oracle.time`: a line of path, length and modification time for each file."""
    with target.open("w", encoding="utf-8", newline="\n") as out:
        for file in files:
            line = file if isinstance(file, str) else f"{file.path}\t{file.length}\t{file.modification_time}"
            if "\n" in line or "\r" in line:
                raise ValueError(f"a line of its own for each name: {line!r}")
            out.write(line + "\n")


def _asked(cluster: HBaseCluster, files: Sequence[WalFile | str], ask: Callable[[str, str], object]) -> list[Verdict]:
    """Returns the answers to a text file of names, in their order."""
    with tempfile.TemporaryDirectory(dir=cluster.jvm.work) as directory:
        names, answers = Path(directory, "names"), Path(directory, "answers")
        write_names(names, files)
        ask(str(names), str(answers))
        lines = answers.read_text(encoding="utf-8").splitlines()
    if len(lines) != len(files):
        raise AssertionError(f"{len(files)} files asked, {len(lines)} answers")
    return [_VERDICTS[line.split(" ")[0]] for line in lines]


def _java_list(values: Iterable[str] | None) -> list[str] | None:
    return None if values is None else list(values)


@dataclass(frozen=True)
class BackupSession:
    """A fabricated backup of HBase; `rolled` has a line of table, ``host:port`` and ms for each roll."""

    backup_id: str
    root: str
    kind: str
    state: str
    started: int
    rolled: tuple[tuple[str, str, int], ...]


class BackupOracle:
    """Uses HBase backup's own system table and log cleaner in a cluster of HBase 2."""

    def __init__(self, cluster: HBaseCluster) -> None:
        self._cluster = cluster
        self._java: JavaObject = cluster.jvm.view.walsafe.cluster.Backups(cluster.harness)

    def put(self, session: BackupSession) -> None:
        """Writes or replaces a session."""
        rolled = ["\t".join(map(str, one)) for one in session.rolled]
        self._java.put(session.backup_id, session.root, session.kind, session.state, session.started, rolled)

    def delete(self, backup_id: str) -> None:
        """Removes a session."""
        self._java.delete(backup_id)

    def verdicts(self, files: Sequence[WalFile | str]) -> list[Verdict]:
        """Asks the backup's log cleaner about each file alone."""
        return _asked(self._cluster, files, self._java.verdicts)
