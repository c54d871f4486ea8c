"""The rule for queues in ZooKeeper: a file is held if a queue lists its name.

`verdict.decide` asks it after every reason that does not depend on the queues.
"""

from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.verdict import Decision, Holder, Reason, deletable, held
from pipelines.hbase.replication_queues import QueueId


def decide_by_name(view: ClusterView, name: str, modification_time: int) -> Decision:
    """Decides a file by the queues in ZooKeeper, where every WAL of a queue is a separate znode.

    The cleaner of HBase 1.x and 2.x also compares exact names and ignores the peer. So a queue of a removed peer holds
    its files too, and a name that the table's rule cannot parse is compared like any other.
    """
    queues = view.queued.queues_of.get(name)
    if queues:
        return held(Reason.PENDING, tuple(queued_holder(queue, name, position) for queue, position in queues))
    if view.restless is not None:
        return held(Reason.CLUSTER_MOVED)
    if modification_time < view.queued.read_from:
        return deletable(Reason.NOT_QUEUED)
    return held(Reason.QUEUE_READ_TOO_OLD)


def queued_holder(queue: QueueId, wal: str | None, position: int | None) -> Holder:
    """Returns a queue in ZooKeeper as a holder."""
    return Holder(queue.peer_id, queue.owner, queue.wals_of, wal, position)
