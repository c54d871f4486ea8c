"""The queues in `hbase:replication` for an audit."""

from collections.abc import Iterable, Mapping

from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.lake.run_summary import QueueOffsetRow
from pipelines.queues.audit.observed_cluster import Backlog, Key, ListedEvidence, ObservedQueue
from pipelines.queues.audit.queue_files import MissingWals, backlogs, by_queue, listed_names
from pipelines.queues.audit.queue_storage import AuditedListing, AuditedQueues, StoredQueues
from pipelines.snapshot.model import complete_before
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


def _stored(opened: OpenedSnapshot, view: ClusterView, listed: ListedEvidence) -> StoredQueues:
    """Returns the queues of the last pass: one of the first pass alone has moved or ended."""
    last_pass = frozenset(cell.queue for cell in opened.passes[-1]) if opened.passes else frozenset()
    files, missing = backlogs(listed), MissingWals(listed)
    queues = [
        ObservedQueue(
            name=str(row.queue),
            key=row.queue,
            hops=() if row.queue.source is None else (row.queue.source,),
            backlog=files.get(row.queue.key, Backlog()),
            # a placeholder that no file follows has nothing to ship either
            finished=all(not offset.wal or offset.offset < 0 for offset in row.offsets.values()),
            missing=missing.wals(row.queue),
            later=missing.later(row.queue),
        )
        for row in view.rows
        if row.queue in last_pass
    ]
    return StoredQueues(queues)


def _missing(listing: AuditedListing) -> Mapping[Key, frozenset[str]]:
    """Returns the WALs that offsets name and the listing does not have."""
    expected = expected_wals(listing.view, listing.offsets)
    gone = set(expected) - listed_names(listing, sorted(expected))
    return by_queue({wal: expected[wal] for wal in gone})


def expected_wals(view: ClusterView, offsets: Iterable[QueueOffsetRow]) -> dict[str, set[Key]]:
    """Returns the WALs named by offsets that must exist, with the queues that must read them.

    A WAL that may have been created after the listing is not expected, nor one that is finished or of a removed peer.
    """
    found: dict[str, set[Key]] = {}
    latest = complete_before(view.files_started)
    for row in offsets:
        to_read = row.peer_exists and row.wal and row.offset is not None and row.offset >= 0
        if to_read and row.wal and row.need_timestamp is not None and 0 <= row.need_timestamp < latest:
            found.setdefault(row.wal, set()).add((row.peer_id, row.owner, row.source))
    return found


TABLE_QUEUES = AuditedQueues(_stored, _missing)
