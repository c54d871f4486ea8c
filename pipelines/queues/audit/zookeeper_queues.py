"""The queues in ZooKeeper for an audit."""

from collections.abc import Collection, Iterable, Mapping

from pipelines.common.errors import MalformedError
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.hbase.server_names import SPLITTING, ServerName, server_of_directory
from pipelines.hbase.zookeeper.queued_wals import group_of, number_of, queue_key
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.queues.audit.observed_cluster import Backlog, Key, ListedEvidence, ObservedQueue
from pipelines.queues.audit.queue_files import MissingWals, backlogs, by_queue, listed_names
from pipelines.queues.audit.queue_storage import AuditedListing, AuditedQueues, StoredQueues
from pipelines.snapshot.model import complete_before
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


def _stored(opened: OpenedSnapshot, _view: ClusterView, listed: ListedEvidence) -> StoredQueues:
    tree = opened.trees[-1]
    queues = znode_queues(tree, listed)
    with_queues = {queue.key.owner for queue in queues}
    splitting = (name for name in opened.listing.live_directories if name.endswith(SPLITTING))
    return StoredQueues(
        queues,
        locks={server: _locker(path) for server, path in tree.locks.items()},
        empty_replicators=tuple(sorted(set(tree.cversions) - with_queues - set(tree.locks))),
        directories=opened.listing.live_servers,
        splitting=frozenset(filter(None, map(server_of_directory, splitting))),
    )


def _missing(listing: AuditedListing) -> Mapping[Key, frozenset[str]]:
    """Returns the WALs that queues list and the listing does not have."""
    counted: dict[int, int] = {}
    for total in listing.totals:
        if total.bucket is not None:
            counted[total.bucket] = counted.get(total.bucket, 0) + total.files
    candidates = missing_candidates(listing.view, listing.table.buckets_by_name, counted)
    gone = set(candidates) - listed_names(listing, candidates)
    return by_queue({wal: {queue.key for queue, _ in listing.view.queued.queues_of[wal]} for wal in gone})


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
    latest = complete_before(view.files_started)
    return sorted(wal for wal, bucket in buckets.items() if bucket in short and (number_of(wal) or 0) < latest)


def znode_queues(tree: ReplicationTree, listed: ListedEvidence) -> list[ObservedQueue]:
    """Returns the queues of one reading, with what the listing says of their WALs."""
    files, missing = backlogs(listed), MissingWals(listed)
    found = []
    for queue in tree.queues:
        queue_id = queue_key(queue)
        gone = tuple(wal for wal in missing.wals(queue_id) if wal in queue.wals)
        found.append(
            ObservedQueue(
                name=f"{queue.owner}/{queue.queue.text}",
                key=queue_id,
                hops=queue.queue.dead_servers,
                backlog=files.get(queue_id.key, Backlog()),
                finished=not queue.wals,
                missing=gone,
                later=_later(queue.wals, frozenset(gone)),
            )
        )
    return found


def _later(wals: Iterable[str], missing: Collection[str]) -> bool:
    """Tell whether every group with missing WALs has another one after the first of them.

    A queue in ZooKeeper names every WAL that it reads, so a missing one may be in the middle of its group.
    """
    gone, there = _numbers(missing), _numbers(wal for wal in wals if wal not in missing)
    return bool(gone) and all(max(there.get(group, ()), default=-1) > min(gone[group]) for group in gone)


def _numbers(wals: Iterable[str]) -> dict[str, list[int]]:
    """Returns the timestamps of WALs by WAL group."""
    found: dict[str, list[int]] = {}
    for wal in wals:
        found.setdefault(group_of(wal), []).append(number_of(wal) or 0)
    return found


def _locker(path: str | None) -> ServerName | None:
    """Returns the server whose znode a lock names (`ReplicationQueuesZKImpl.lockOtherRS`)."""
    try:
        return None if path is None else ServerName.parse(path.rpartition("/")[2])
    except MalformedError:
        return None


ZOOKEEPER_QUEUES = AuditedQueues(_stored, _missing)
