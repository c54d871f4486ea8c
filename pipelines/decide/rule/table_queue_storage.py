"""Queues in `hbase:replication` (HBase 3): rows with the offset of each WAL group."""

from collections.abc import Iterator, Sequence

from pipelines.common.conditions import Condition
from pipelines.decide.rule import decision_table, trust
from pipelines.decide.rule.cluster_view import ClusterView, MergedQueueRow, cluster_view
from pipelines.decide.rule.decision_table import DecisionTable, GroupAnswers
from pipelines.decide.rule.queue_storage import QueueNeed
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.table_rule import decide_by_offset
from pipelines.decide.rule.verdict import ArchivedFile, Decision, Reason
from pipelines.hbase.replication_queues import NEEDS_ALL, QueueCell, QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.capture_order import not_quiet_reason
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, Snapshot
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


class TableReplicationQueueStorage:
    """See `ReplicationQueueStorage`."""

    name = QUEUE_STORAGE_TABLE
    asks_peers = True
    new_peer_needs_archived = True
    frees_while_moving = True

    def elsewhere(self, snapshot: Snapshot) -> trust.Doubts:
        """See `ReplicationQueueStorage.elsewhere`."""
        yield Condition.MIGRATION_PENDING, trust.unfinished_migration_reason(snapshot)

    def doubts(self, opened: OpenedSnapshot, release: Release) -> trust.Doubts:
        """See `ReplicationQueueStorage.doubts`."""
        return trust.doubts(opened.known, opened.passes, release)

    def queue_ids(self, opened: OpenedSnapshot) -> frozenset[QueueId]:
        """See `ReplicationQueueStorage.queue_ids`."""
        return frozenset(cell.queue for cells in opened.passes for cell in cells)

    def restless(self, opened: OpenedSnapshot) -> str | None:
        """See `ReplicationQueueStorage.restless`."""
        ids = [frozenset(cell.queue for cell in cells) for cells in opened.passes] or [frozenset()]
        return not_quiet_reason(opened.known, ids[0], ids[-1])

    def view(self, opened: OpenedSnapshot, settings: ReconcileSettings, untrusted: str | None) -> ClusterView:
        """See `ReplicationQueueStorage.view`."""
        return table_view(opened.known, opened.passes, settings, untrusted, opened.malformed is not None)

    def decide(self, view: ClusterView, file: ArchivedFile) -> Decision:
        """See `ReplicationQueueStorage.decide`."""
        return decide_by_offset(view, file.name)

    def decision_table(self, view: ClusterView, first_bucket: int = 0) -> DecisionTable:
        """See `ReplicationQueueStorage.decision_table`."""
        return decision_table.decision_table(view, first_bucket)

    def needs(self, view: ClusterView, table: DecisionTable) -> Iterator[QueueNeed]:
        """See `ReplicationQueueStorage.needs`."""
        groups: dict[ServerName, list[GroupAnswers]] = {}
        for one in table.groups:
            groups.setdefault(one.server, []).append(one)
        without_row = {
            row.server: tuple(
                one.bucket
                for one in (row.plain, row.replication_table)
                # no queue of a server that is alive reads these
                if one.decision.reason is not Reason.REPLICATION_TABLE_WAL
            )
            for row in table.servers
        }
        for row in view.rows:
            source = row.queue.wals_of
            for group in sorted(row.offsets):
                yield _need_of_group(row, group, groups.get(source, ()))
            others = [one for one in groups.get(source, ()) if one.name not in row.offsets]
            buckets = [stretch.answer.bucket for one in others for stretch in one.stretches]
            yield QueueNeed(row, None, NEEDS_ALL, (*buckets, *without_row.get(source, ())))


TABLE = TableReplicationQueueStorage()


def table_view(
    snapshot: Snapshot,
    passes: Sequence[Sequence[QueueCell]],
    settings: ReconcileSettings,
    untrusted: str | None,
    unparsable: bool,
) -> ClusterView:
    """Builds the view of a cluster whose queues are in `hbase:replication`; see `cluster_view`."""
    return cluster_view(snapshot, passes, settings, untrusted, unparsable, TABLE)


def _need_of_group(row: MergedQueueRow, group: str, groups: Sequence[GroupAnswers]) -> QueueNeed:
    need = row.need(group)
    stretches = (stretch for one in groups if one.name == group for stretch in one.stretches)
    return QueueNeed(
        row,
        group,
        row.offsets[group].need,
        tuple(stretch.answer.bucket for stretch in stretches if stretch.from_timestamp >= need),
    )
