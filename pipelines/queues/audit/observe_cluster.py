"""Converts one snapshot to the input of an audit, whichever storage its queues are in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.common.errors import MalformedError
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queued_wals import number_of, queue_key
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.lake.run_summary import PinnedRow, QueueOffsetRow
from pipelines.queues.audit.observed_cluster import Backlog, ObservedCluster, ObservedQueue, ObservedServers
from pipelines.reconcile.findings.queues import CREATION_MARGIN_MS
from pipelines.snapshot.model import QUEUE_STORAGE_ZOOKEEPER, Snapshot

Key = tuple[str, str, str]
"""Peer id, owner and source of a queue, as the tables spell them."""


@dataclass(frozen=True)
class ListedEvidence:
    """Evidence from the listing; empty where the listing is not read, as for every snapshot but the last of a timeline.

    Attributes:
        offsets: rows of `queue_offsets`.
        pinned: rows of `pinned_bytes`.
        missing: by queue, names of WALs that it must read and the listing does not have.
        directories: number of files below `WALs/` by server, including servers in `splitting`.
        splitting: servers with files in a `-splitting` directory.
        archived_last: newest modification time below oldWALs by server, ms since the epoch.
        archived: files and bytes below oldWALs by server.
    """

    offsets: Sequence[QueueOffsetRow] = ()
    pinned: Sequence[PinnedRow] = ()
    missing: Mapping[Key, frozenset[str]] = field(default_factory=dict)
    directories: Mapping[ServerName, int] = field(default_factory=dict)
    splitting: frozenset[ServerName] = frozenset()
    archived_last: Mapping[ServerName, int] = field(default_factory=dict)
    archived: Mapping[ServerName, tuple[int, int]] = field(default_factory=dict)


def observe_cluster(
    snapshot: Snapshot,
    view: ClusterView,
    last_pass: frozenset[QueueId],
    trees: Sequence[ReplicationTree],
    listed: ListedEvidence,
) -> ObservedCluster:
    """Combines a snapshot and its listing into the input of an audit.

    Args:
        snapshot: one that passed the checks of reconcile.
        view: the cluster view of the snapshot.
        last_pass: the queues of the second pass; a queue of the first pass alone has moved or ended.
        trees: both readings of ZooKeeper; empty for queues in `hbase:replication`.
        listed: the evidence from the listing.
    """
    queues = _znode_queues(trees[-1], listed) if trees else _row_queues(view, last_pass, listed)
    tree = trees[-1] if trees else None
    with_queues = {queue.key.owner for queue in queues}
    return ObservedCluster(
        cluster=snapshot.cluster,
        in_zookeeper=snapshot.queue_storage == QUEUE_STORAGE_ZOOKEEPER,
        hbase_version=snapshot.hbase_version,
        peers={peer.peer_id: peer.state for peer in snapshot.peers},
        servers=_servers(snapshot, view, listed),
        queues=tuple(sorted(queues, key=lambda queue: queue.name)),
        locks={server: _locker(path) for server, path in tree.locks.items()} if tree else {},
        empty_replicators=tuple(sorted(set(tree.cversions) - with_queues - set(tree.locks))) if tree else (),
        archived=listed.archived,
    )


def expected_wals(view: ClusterView, offsets: Iterable[QueueOffsetRow]) -> dict[str, set[Key]]:
    """Returns the WALs named by offsets that must exist, with the queues that must read them.

    A WAL that may have been created after the listing is not expected, nor one that is finished or of a removed peer.
    """
    found: dict[str, set[Key]] = {}
    latest = view.files_started - CREATION_MARGIN_MS
    for row in offsets:
        to_read = row.peer_exists and row.wal and row.offset is not None and row.offset >= 0
        if to_read and row.wal and row.need_timestamp is not None and 0 <= row.need_timestamp < latest:
            found.setdefault(row.wal, set()).add((row.peer_id, row.owner, row.source))
    return found


def missing_candidates(view: ClusterView, buckets: Mapping[str, int], files: Mapping[int, int]) -> list[str]:
    """Returns WALs of queues in ZooKeeper that may be missing: those of buckets with fewer files than names.

    Args:
        view: its `files_started` excludes WALs that may have been created after the listing.
        buckets: bucket number by WAL name.
        files: number of listed files by bucket number.
    """
    names: dict[int, int] = {}
    for bucket in buckets.values():
        names[bucket] = names.get(bucket, 0) + 1
    short = {bucket for bucket, number in names.items() if files.get(bucket, 0) < number}
    latest = view.files_started - CREATION_MARGIN_MS
    return sorted(wal for wal, bucket in buckets.items() if bucket in short and (number_of(wal) or 0) < latest)


def key_of(queue: QueueId) -> Key:
    """Returns the queue as the tables spell it."""
    return (queue.peer_id, str(queue.owner), str(queue.wals_of))


def _row_queues(view: ClusterView, last_pass: frozenset[QueueId], listed: ListedEvidence) -> list[ObservedQueue]:
    backlogs, missing = _backlogs(listed), _Missing(listed)
    return [
        ObservedQueue(
            name=str(row.queue),
            key=row.queue,
            hops=() if row.queue.source is None else (row.queue.source,),
            backlog=backlogs.get(key_of(row.queue), Backlog()),
            # a placeholder that no file follows has nothing to ship either
            finished=all(not offset.wal or offset.offset < 0 for offset in row.offsets.values()),
            missing=missing.wals(row.queue),
            later=missing.later(row.queue),
        )
        for row in view.rows
        if row.queue in last_pass
    ]


def _znode_queues(tree: ReplicationTree, listed: ListedEvidence) -> list[ObservedQueue]:
    backlogs, missing = _backlogs(listed), _Missing(listed)
    found = []
    for queue in tree.queues:
        key = queue_key(queue)
        found.append(
            ObservedQueue(
                name=f"{queue.owner}/{queue.queue.text}",
                key=key,
                hops=queue.queue.dead_servers,
                backlog=backlogs.get(key_of(key), Backlog()),
                finished=not queue.wals,
                missing=tuple(wal for wal in missing.wals(key) if wal in queue.wals),
                later=missing.later(key),
            )
        )
    return found


def _backlogs(listed: ListedEvidence) -> dict[Key, Backlog]:
    """Returns the sums over the WAL groups of each queue."""
    alone = {
        (row.peer_id, row.owner, row.source): (row.exclusive_files, row.exclusive_bytes)
        for row in listed.pinned
        if row.level == "queue"
    }
    found: dict[Key, Backlog] = {}
    for row in listed.offsets:
        key = (row.peer_id, row.owner, row.source)
        so_far = found.get(key, Backlog(0, 0, 0, 0, *alone.get(key, (0, 0))))
        oldest = [value for value in (so_far.oldest, row.oldest_pending_timestamp) if value is not None]
        found[key] = Backlog(
            so_far.files + row.pending_files,
            so_far.bytes + row.pending_bytes,
            so_far.live_files + row.live_pending_files,
            so_far.live_bytes + row.live_pending_bytes,
            so_far.alone_files,
            so_far.alone_bytes,
            min(oldest, default=None),
        )
    return found


class _Missing:
    """The missing WALs of a queue, and whether later files exist."""

    def __init__(self, listed: ListedEvidence) -> None:
        self._listed = listed
        self._bare: dict[Key, list[QueueOffsetRow]] = {}
        for row in listed.offsets:
            self._bare.setdefault((row.peer_id, row.owner, row.source), []).append(row)

    def wals(self, queue: QueueId) -> tuple[str, ...]:
        return tuple(sorted(self._listed.missing.get(key_of(queue), ())))

    def later(self, queue: QueueId) -> bool:
        """Tell whether every group with a missing WAL still has files to read."""
        lacking = self._listed.missing.get(key_of(queue), frozenset())
        groups = [row for row in self._bare.get(key_of(queue), ()) if row.wal in lacking]
        return bool(lacking) and all(row.pending_files + row.live_pending_files for row in groups)


def _servers(snapshot: Snapshot, view: ClusterView, listed: ListedEvidence) -> ObservedServers:
    membership = snapshot.membership
    listed_there = {server: listed.directories.get(server, 0) for server in view.wal_directories}
    return ObservedServers(
        at=view.files_started,
        online=None if membership is None else view.online,
        crashing=None if membership is None or snapshot.step("crashing") is None else view.crashing,
        directories={**listed.directories, **listed_there},
        splitting=listed.splitting,
        archived_last=listed.archived_last,
    )


def _locker(path: str | None) -> ServerName | None:
    """Returns the server whose znode a lock names (`ReplicationQueuesZKImpl.lockOtherRS`)."""
    try:
        return None if path is None else ServerName.parse(path.rpartition("/")[2])
    except MalformedError:
        return None
