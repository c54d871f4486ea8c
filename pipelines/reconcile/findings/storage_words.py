"""What findings say differently of queues in `hbase:replication` and of queues in ZooKeeper."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.table_queue_storage import TABLE
from pipelines.decide.rule.zookeeper_queue_storage import ZOOKEEPER


@dataclass(frozen=True, slots=True)
class StorageWords:
    """Words of one storage.

    Attributes:
        restored: that the queues were restored or edited.
        held_while_moving: the files that are held if the cluster moved during the capture.
        rescue: how a queue of a dead server is claimed; `{}` is the server.
        fix_peers: what removes the queues of removed peers.
        removable: when one of several queues for the same WALs may be removed without losing an edit.
        forget_wal: what makes a queue forget a WAL that is gone, before its owner restarts; empty if nothing has to.
        dead_writers: whether a server that was taken for dead may still write a row of its own queue.
    """

    restored: str
    held_while_moving: str
    rescue: str
    fix_peers: str
    removable: str
    forget_wal: str
    dead_writers: bool


STORAGE_WORDS: Mapping[str, StorageWords] = {
    TABLE.name: StorageWords(
        restored="hbase:replication was restored or edited",
        held_while_moving="of dead servers",
        rescue="HBCK2 'scheduleRecoveries {}' lets a live server claim it; audit-queues --plan says how, and what it "
        "costs.",
        fix_peers="HBCK2 'replication --fix'",
        removable="it has come at least as far as another in every WAL group",
        forget_wal="",
        dead_writers=True,
    ),
    ZOOKEEPER.name: StorageWords(
        restored="The queues in ZooKeeper were restored or edited",
        held_while_moving="that no queue has",
        rescue="Restart a region server, which claims the queues of dead ones at its start; from HBase 2.5 on HBCK2 "
        "'scheduleRecoveries {}' does.",
        fix_peers="HBCK2 'replication --fix' (in HBase 1: hbase hbck -fixReplication)",
        removable="another names every WAL that it names",
        forget_wal="delete its znode in the queue, ",
        dead_writers=False,
    ),
}
"""By the name of the storage in snapshot.json."""


def storage_words(view: ClusterView) -> StorageWords:
    """Returns the words for the storage of the cluster's queues."""
    return STORAGE_WORDS[view.storage.name]
