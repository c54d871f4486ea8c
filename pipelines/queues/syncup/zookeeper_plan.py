"""Plans every queue that ReplicationSyncUp of HBase 2 claims: its queues are in ZooKeeper.

Follows HBase 2.6.4. `ReplicationSyncUp.claimReplicationQueues` calls `ReplicationSourceManager.claimQueue` for every
queue of every server that is not alive, and `RecoveredReplicationSource.locateRecoveredPaths` looks for its WALs. There
are no placeholders and no flag files: a WAL that a peer needs is in a queue, and a queue that ends is deleted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.hbase.peers import Peer
from pipelines.hbase.wal_root import OLD_WALS, WALS
from pipelines.hbase.zookeeper.queued_wals import group_of, number_of, queue_key
from pipelines.hbase.zookeeper.tree import ZkQueue
from pipelines.queues.syncup.plan import QueuePlan, SyncUpPlan
from pipelines.queues.syncup.rows import SyncUpAction, SyncUpContent
from pipelines.queues.syncup.wals import ListedWal, PlannedWal


@dataclass(frozen=True, slots=True)
class ZooKeeperQueuePlan(QueuePlan):
    """One queue that the tool claims.

    Attributes:
        queue: as it is in ZooKeeper.
        stuck: (group, WAL) at which the worker of a group stops: the tool does not find the WAL, and tries forever.
    """

    queue: ZkQueue
    stuck: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """How the tables name the queue: server and znode."""
        return f"{self.queue.owner}/{self.queue.queue.text}"

    @property
    def action(self) -> SyncUpAction:
        """What the tool does with the queue."""
        if self.peer is None:
            return SyncUpAction.REMOVED_PEER
        if not self.queue.wals:
            return SyncUpAction.EMPTY
        if self.peer.state != "ENABLED":
            return SyncUpAction.MOVES
        return SyncUpAction.SHIP if self.waits_for is None else SyncUpAction.WAITS

    @property
    def waits_for(self) -> str | None:
        """Why the tool would never end, or None.

        `WALEntryStream.prepareReader` tries to open a WAL that is not there again and again.
        """
        if not self.stuck or self.peer is None or self.peer.state != "ENABLED":
            return None
        wal = self.stuck[0][1]
        return f"the tool does not find {wal}"


class FilesByName:
    """The listed files by name, and which of them the tool finds."""

    def __init__(self, files: Iterable[ListedWal]) -> None:
        self._by_name: dict[str, list[ListedWal]] = {}
        self._first: dict[str, str] = {}
        for file in files:
            name = file.path.rpartition("/")[2]
            self._by_name.setdefault(name, []).append(file)
            if file.path.startswith(f"{WALS}/"):
                first = self._first.get(file.directory)
                self._first[file.directory] = name if first is None else min(first, name)

    def found(self, wal: str) -> ListedWal | None:
        """Returns the file that the tool opens for a WAL; None = it finds none.

        `RecoveredReplicationSource.locateRecoveredPaths` tries `oldWALs/<wal>`, not `oldWALs/<server>/<wal>`. Then
        `getReplSyncUpPath` walks through the directories below `WALs/`, `-splitting` included, sorted by name. It
        appends each file's name to the path of the file before, so that only the first file of a directory has a path
        that exists.
        """
        below = []
        for file in sorted(self._by_name.get(wal, ()), key=lambda one: one.directory):
            if file.directory == OLD_WALS:
                return file
            if file.path.startswith(f"{WALS}/"):
                below.append(file)
        return below[0] if below and self._first[below[0].directory] == wal else None

    def anywhere(self, wal: str) -> ListedWal | None:
        """Returns the first file of this name in any directory."""
        return min(self._by_name.get(wal, ()), key=lambda one: one.path, default=None)


@dataclass(frozen=True, slots=True)
class ZooKeeperInput:
    """The input of the plan.

    Attributes:
        peers: existing peers.
        queues: of all servers; none of them is alive.
        files: the listing: all files below `WALs/`, and below `oldWALs/` those that a queue names.
    """

    peers: Sequence[Peer]
    queues: Sequence[ZkQueue]
    files: FilesByName


def plan_zookeeper_syncup(cluster: ZooKeeperInput) -> SyncUpPlan:
    """Plans what ReplicationSyncUp of HBase 2 would do."""
    peers = {peer.peer_id: peer for peer in cluster.peers}
    plans = [_queue_plan(queue, peers.get(queue.queue.peer_id), cluster.files) for queue in cluster.queues]
    poison = {wal for plan in plans if plan.peer for wal in plan.queue.wals if number_of(wal) is None}
    servers = tuple(sorted({queue.owner for queue in cluster.queues}))
    return SyncUpPlan(servers, tuple(sorted(plans, key=lambda plan: plan.name)), (), tuple(sorted(poison)))


def _queue_plan(queue: ZkQueue, peer: Peer | None, files: FilesByName) -> ZooKeeperQueuePlan:
    groups: dict[str, list[str]] = {}
    for wal in sorted(queue.wals, key=_order):
        groups.setdefault(group_of(wal), []).append(wal)
    wals: list[PlannedWal] = []
    missing: list[tuple[str, str]] = []
    stuck: list[tuple[str, str]] = []
    ships = peer is not None and peer.state == "ENABLED"
    for group, names in sorted(groups.items()):
        reads = ships
        for wal, start in _starts(names, queue.wals):
            file = files.found(wal)
            if file is None and reads:
                stuck.append((group, wal))
                reads = False
            file = file or files.anywhere(wal)
            if file is None:
                missing.append((group, wal))
                continue
            wals.append(PlannedWal(file, group, SyncUpContent.EDITS if reads else SyncUpContent.NOT_READ, start))
    return ZooKeeperQueuePlan(
        row=MergedQueueRow(queue_key(queue), {}),
        peer=peer,
        is_placeholder=False,
        wals=tuple(wals),
        missing=tuple(missing) if peer else (),
        is_stale=False,
        resent_bytes=None,
        queue=queue,
        stuck=tuple(stuck),
    )


def _starts(names: Sequence[str], positions: Mapping[str, int | None]) -> Iterator[tuple[str, int]]:
    """Yields each WAL of a group with its start: only the first one is read from its position.

    See `RecoveredReplicationSourceShipper.getRecoveredQueueStartPos`. A position that HBase cannot read is 0.
    """
    for index, wal in enumerate(names):
        yield wal, max(positions[wal] or 0, 0) if index == 0 else 0


def _order(wal: str) -> tuple[int, str]:
    """Returns the key of the tool's order, `AbstractFSWALProvider.WALStartTimeComparator`."""
    number = number_of(wal)
    return (-1 if number is None else number, wal)
