"""The fast form of the rule by name: one answer for all WALs of one group that the same queues contain.

A file is looked up by its exact name, which gives the number of its answer. The parts that differ from file to file
(name and positions) are put into the holders afterwards, so totals stay as small as with the table's rule.
"""

from dataclasses import dataclass, replace

from pipelines.decide.rule.cleaner_rule import hbase_2_verdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import UNKNOWN_SERVER, DecisionTable, NamedAnswers, QueuedName, TableAnswer
from pipelines.decide.rule.zookeeper_rule import decide_by_name
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.hbase.zookeeper.queued_wals import QueuedWals, group_of

_IN_NO_QUEUE = ""
"""Represents every name that is in no queue."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """The properties that WALs with one answer share."""

    group: str
    server: ServerName
    queues: tuple[QueueId, ...]
    in_first_reading: bool


def name_table(view: ClusterView, first_bucket: int = 0) -> DecisionTable:
    """Builds the table: asks `decide_by_name` and `hbase_2_verdict` once for each kind of WAL.

    HBase's rule knows a name from the first reading, ours from the merged readings. The table has the names of both, so
    a WAL that one of them has lost gets two different answers, and the gate refuses the cluster.

    Args:
        view: the cluster; its queues are in ZooKeeper.
        first_bucket: number of the first answer, so that numbers are unique across a fleet.
    """
    queued = view.queued
    before = queued.read_from - 1
    answers: dict[_Kind, TableAnswer] = {}
    wals: dict[str, QueuedName] = {}
    for wal in (*queued.queues_of, *queued.first_reading.difference(queued.queues_of)):
        queues = queued.queues_of.get(wal, ())
        kind = _kind(wal, tuple(queue for queue, _ in queues), queued)
        if kind not in answers:
            answers[kind] = _answer(view, kind, first_bucket + len(answers), wal, before)
        wals[wal] = QueuedName(answers[kind].bucket, tuple(position for _, position in queues))
    last, other = first_bucket + len(answers), _Kind("", UNKNOWN_SERVER, (), in_first_reading=False)
    return DecisionTable(
        cluster=view.cluster,
        groups=(),
        servers=(),
        unknown=_answer(view, other, last, _IN_NO_QUEUE, before),
        no_server=_answer(view, other, last + 1, _IN_NO_QUEUE, queued.read_from),
        named=NamedAnswers(wals, tuple(answers.values()), queued.read_from),
    )


def _kind(wal: str, queues: tuple[QueueId, ...], queued: QueuedWals) -> _Kind:
    name = parse_wal_name(wal)
    # short names, as in old documents, contain no server; the queue's id does
    of_queue = queues[0].wals_of if queues else UNKNOWN_SERVER
    server = name.server if name is not None and name.server is not None else of_queue
    return _Kind(group_of(wal), server, queues, wal in queued.first_reading)


def _answer(view: ClusterView, kind: _Kind, bucket: int, wal: str, modification_time: int) -> TableAnswer:
    """Asks both rules about one WAL of a kind; the holders get no name and no position."""
    decision = decide_by_name(view, wal, modification_time)
    blocking = tuple(holder._replace(wal=None, offset=None) for holder in decision.blocking)
    return TableAnswer(
        bucket,
        kind.server,
        kind.group,
        0,
        replace(decision, blocking=blocking),
        hbase_2_verdict(wal, modification_time, view),
    )
