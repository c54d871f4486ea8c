"""The files of a queue, from the evidence of the listing: what it still has to read, and what is missing."""

from collections.abc import Mapping, Sequence

from pipelines.decide.spark import tables
from pipelines.hbase.replication_queues import QueueId
from pipelines.lake.run_summary import QueueOffsetRow
from pipelines.queues.audit.observed_cluster import Backlog, Key, ListedEvidence
from pipelines.queues.audit.queue_storage import AuditedListing


def backlogs(listed: ListedEvidence) -> dict[Key, Backlog]:
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


class MissingWals:
    """The missing WALs of a queue, and whether later files exist."""

    def __init__(self, listed: ListedEvidence) -> None:
        self._listed = listed
        self._bare: dict[Key, list[QueueOffsetRow]] = {}
        for row in listed.offsets:
            self._bare.setdefault((row.peer_id, row.owner, row.source), []).append(row)

    def wals(self, queue: QueueId) -> tuple[str, ...]:
        """Returns their names, sorted."""
        return tuple(sorted(self._listed.missing.get(queue.key, ())))

    def later(self, queue: QueueId) -> bool:
        """Tell whether every group whose offset names a missing WAL still has files to read."""
        lacking = self._listed.missing.get(queue.key, frozenset())
        groups = [row for row in self._bare.get(queue.key, ()) if row.wal in lacking]
        return bool(groups) and all(row.pending_files + row.live_pending_files for row in groups)


def listed_names(listing: AuditedListing, names: Sequence[str]) -> set[str]:
    """Returns those of the WALs that the listing has in any directory."""
    if not names:
        return set()
    files, cluster = listing.files, listing.view.cluster
    found = tables.offset_wals(files.sparkSession, files, [(cluster, name) for name in names])
    return {row["name"] for row in found.select("name").collect()}


def by_queue(queues_of: Mapping[str, set[Key]]) -> dict[Key, frozenset[str]]:
    """Returns the WALs by queue, from the queues by WAL."""
    found: dict[Key, set[str]] = {}
    for wal, queues in queues_of.items():
        for queue in queues:
            found.setdefault(queue, set()).add(wal)
    return {queue: frozenset(wals) for queue, wals in found.items()}
