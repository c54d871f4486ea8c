"""The fast form of the rule by name: one answer for all WALs of one group that the same queues contain.

A file is looked up by its exact name, which gives the number of its answer. The parts that differ from file to file
(name and positions) are put into the holders afterwards, so totals stay as small as with the table's rule.
"""

from dataclasses import dataclass

from pipelines.decide.rule.cleaner_rule import HBaseVerdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import UNKNOWN_SERVER, DecisionTable, NamedAnswers, QueuedName, TableAnswer
from pipelines.decide.rule.verdict import Decision, Reason, deletable, held
from pipelines.decide.rule.zookeeper_rule import queued_holder
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.hbase.zookeeper.queued_wals import QueuedWals, group_of


@dataclass(frozen=True, slots=True)
class _Kind:
    """The properties that WALs with one answer share."""

    group: str
    server: ServerName
    queues: tuple[QueueId, ...]
    in_first_reading: bool


def name_table(view: ClusterView, first_bucket: int = 0) -> DecisionTable:
    """Builds the table: one answer for each kind of WAL, equal to that of `zookeeper_rule.decide_by_name`.

    Args:
        view: the cluster; its queues are in ZooKeeper.
        first_bucket: number of the first answer, so that numbers are unique across a fleet.
    """
    queued = view.queued
    kinds: dict[_Kind, int] = {}
    wals: dict[str, QueuedName] = {}
    for wal, queues in queued.queues_of.items():
        kind = _kind(wal, tuple(queue for queue, _ in queues), queued)
        bucket = kinds.setdefault(kind, first_bucket + len(kinds))
        wals[wal] = QueuedName(bucket, tuple(position for _, position in queues))
    pending = tuple(
        TableAnswer(
            bucket,
            kind.server,
            kind.group,
            0,
            held(Reason.PENDING, tuple(queued_holder(queue, None, None) for queue in kind.queues)),
            HBaseVerdict.KEEP if kind.in_first_reading or view.hbase_keeps_all else HBaseVerdict.DELETE,
        )
        for kind, bucket in kinds.items()
    )
    last = first_bucket + len(kinds)
    moved = None if view.restless is None else held(Reason.CLUSTER_MOVED)
    delete = HBaseVerdict.KEEP if view.hbase_keeps_all else HBaseVerdict.DELETE
    not_queued = _any_other(last, moved or deletable(Reason.NOT_QUEUED), delete)
    too_late = _any_other(last + 1, moved or held(Reason.QUEUE_READ_TOO_OLD), HBaseVerdict.KEEP)
    return DecisionTable(
        cluster=view.cluster,
        groups=(),
        servers=(),
        unknown=not_queued,
        no_server=too_late,
        named=NamedAnswers(wals, pending, queued.read_from),
    )


def _kind(wal: str, queues: tuple[QueueId, ...], queued: QueuedWals) -> _Kind:
    name = parse_wal_name(wal)
    # short names, as in old documents, contain no server; the queue's id does
    server = name.server if name is not None and name.server is not None else queues[0].wals_of
    return _Kind(group_of(wal), server, queues, wal in queued.first_reading)


def _any_other(bucket: int, decision: Decision, hbase: HBaseVerdict) -> TableAnswer:
    return TableAnswer(bucket, UNKNOWN_SERVER, "", 0, decision, hbase)
