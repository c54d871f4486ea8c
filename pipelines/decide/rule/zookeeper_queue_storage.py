"""Queues in ZooKeeper (HBase 1.x and 2.x): znodes that list the WALs of each queue by name."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from pipelines.common.conditions import Condition
from pipelines.decide.rule.cluster_view import ClusterView, MergedQueueRow, cluster_view
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.name_table import name_table
from pipelines.decide.rule.queue_storage import QueueNeed
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.trust import Doubts
from pipelines.decide.rule.verdict import ArchivedFile, Decision
from pipelines.decide.rule.zookeeper_rule import decide_by_name
from pipelines.decide.rule.zookeeper_trust import other_storage, zookeeper_doubts
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.zookeeper.queued_wals import first_wals, number_of, queue_key, queued_wals, unsettled_reason
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.snapshot.model import QUEUE_STORAGE_ZOOKEEPER, Snapshot
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


class ZKReplicationQueueStorage:
    """See `ReplicationQueueStorage`."""

    name = QUEUE_STORAGE_ZOOKEEPER
    asks_peers = False
    new_peer_needs_archived = False
    frees_while_moving = False

    def elsewhere(self, snapshot: Snapshot) -> Doubts:
        """See `ReplicationQueueStorage.elsewhere`."""
        yield Condition.QUEUES_IN_TABLE, other_storage(snapshot)

    def doubts(self, opened: OpenedSnapshot, release: Release) -> Doubts:
        """See `ReplicationQueueStorage.doubts`."""
        return zookeeper_doubts(opened.known, opened.trees, release)

    def queue_ids(self, opened: OpenedSnapshot) -> frozenset[QueueId]:
        """See `ReplicationQueueStorage.queue_ids`."""
        return frozenset(queue_key(queue) for tree in opened.trees for queue in tree.queues)

    def restless(self, opened: OpenedSnapshot) -> str | None:
        """See `ReplicationQueueStorage.restless`."""
        return unsettled_reason(opened.trees)

    def view(self, opened: OpenedSnapshot, settings: ReconcileSettings, untrusted: str | None) -> ClusterView:
        """See `ReplicationQueueStorage.view`."""
        return zookeeper_view(opened.known, opened.trees, settings, untrusted, opened.malformed is not None)

    def decide(self, view: ClusterView, file: ArchivedFile) -> Decision:
        """See `ReplicationQueueStorage.decide`."""
        return decide_by_name(view, file.name, file.modification_time)

    def decision_table(self, view: ClusterView, first_bucket: int = 0) -> DecisionTable:
        """See `ReplicationQueueStorage.decision_table`."""
        return name_table(view, first_bucket)

    def needs(self, view: ClusterView, table: DecisionTable) -> Iterator[QueueNeed]:
        """See `ReplicationQueueStorage.needs`: the WALs listed in a queue are what it has to read."""
        buckets: dict[tuple[Hashable, ...], list[int]] = {}
        for answer in table.by_name:
            for holder in answer.decision.blocking:
                key = (holder.peer_id, holder.owner, holder.source, answer.group)
                buckets.setdefault(key, []).append(answer.bucket)
        for row in view.rows:
            queue = row.queue
            for group in sorted(row.offsets) or (None,):
                need = None if group is None else number_of(row.offsets[group].wal)
                own = buckets.get((queue.peer_id, queue.owner, queue.wals_of, group), ())
                yield QueueNeed(row, group, need, tuple(own))


ZOOKEEPER = ZKReplicationQueueStorage()


def zookeeper_view(
    snapshot: Snapshot,
    trees: Sequence[ReplicationTree],
    settings: ReconcileSettings,
    untrusted: str | None,
    unparsable: bool,
) -> ClusterView:
    """Builds the view of a cluster whose queues are in ZooKeeper.

    Args:
        snapshot: storage `zookeeper`.
        trees: both readings of the queues; empty when they cannot be read.
        settings: as for `cluster_view`.
        untrusted: result of `pipelines.decide.rule.zookeeper_trust`.
        unparsable: whether HBase throws on one of the znodes.
    """
    step = snapshot.step("queues-1")
    whole = cluster_view(snapshot, (), settings, untrusted, unparsable, ZOOKEEPER)
    return replace(
        whole,
        rows=tuple(
            sorted((MergedQueueRow(*item) for item in first_wals(trees).items()), key=lambda row: str(row.queue))
        ),
        restless=unsettled_reason(trees),
        queue_table_absent=False,
        # AddPeer and the migration block only the cleaner of HBase 3
        hbase_keeps_all=unparsable,
        queued=queued_wals(trees, step.started_at if step else snapshot.files_step.started_at),
    )
