"""The fast form of the rule by name: one answer for all WALs of one group that the same queues hold.

A file is looked up by its exact name, which gives the number of its answer; what differs from file to file (the name
and the positions) is put into the holders afterwards. So totals stay as small as for the table's rule.
"""

from dataclasses import dataclass

from pipelines.decide.rule.cleaner_rule import HBaseVerdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import UNKNOWN_SERVER, Answer, DecisionTable, NamedAnswers, QueuedName
from pipelines.decide.rule.verdict import Decision, Reason, deletable, held, queued_holder
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.hbase.zookeeper.queued import QueuedWals, group_of


@dataclass(frozen=True, slots=True)
class _Kind:
    """What WALs with one answer have in common."""

    group: str
    server: ServerName
    queues: tuple[QueueId, ...]
    in_first_reading: bool


def name_table(view: ClusterView, queued: QueuedWals, first_bucket: int = 0) -> DecisionTable:
    """Ask the specification once for each kind of WAL.

    Args:
        view: the cluster; its `queued` is the next.
        queued: the WALs in queues.
        first_bucket: answers are numbered from here, so that they are unique across a fleet.
    """
    kinds: dict[_Kind, int] = {}
    wals: dict[str, QueuedName] = {}
    for wal, queues in queued.queues_of.items():
        kind = _kind(wal, tuple(queue for queue, _ in queues), queued)
        bucket = kinds.setdefault(kind, first_bucket + len(kinds))
        wals[wal] = QueuedName(bucket, tuple(position for _, position in queues))
    pending = tuple(
        Answer(
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
    # short names, as old documents have them, tell no server; the queue does
    server = name.server if name is not None and name.server is not None else queues[0].wals_of
    return _Kind(group_of(wal), server, queues, wal in queued.first_reading)


def _any_other(bucket: int, decision: Decision, hbase: HBaseVerdict) -> Answer:
    return Answer(bucket, UNKNOWN_SERVER, "", 0, decision, hbase)
