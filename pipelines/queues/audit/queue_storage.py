"""What an audit asks of a storage: its queues, and what the listing says of them; and the input made of both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.totals import BucketTotal
from pipelines.hbase.server_names import ServerName
from pipelines.lake.run_summary import QueueOffsetRow
from pipelines.queues.audit.observed_cluster import (
    Key,
    ListedEvidence,
    ObservedCluster,
    ObservedQueue,
    ObservedServers,
)
from pipelines.queues.audit.storages import AUDITED_STORAGES
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.opened_snapshot import OpenedSnapshot


@dataclass(frozen=True)
class StoredQueues:
    """The last reading of a storage.

    Attributes:
        locks: in ZooKeeper, servers whose queues are locked, and the server that has the lock if the znode names it.
        empty_replicators: in ZooKeeper, servers with a znode and neither queue nor lock below it.
        directories: in ZooKeeper, servers with listed files below `WALs/`; with the table, the snapshot has them.
        splitting: those of them whose directory is a `-splitting` one.
    """

    queues: Sequence[ObservedQueue]
    locks: Mapping[ServerName, ServerName | None] = field(default_factory=dict)
    empty_replicators: tuple[ServerName, ...] = ()
    directories: frozenset[ServerName] = frozenset()
    splitting: frozenset[ServerName] = frozenset()


@dataclass(frozen=True)
class AuditedListing:
    """The listing of one snapshot, and what its sums say.

    Attributes:
        files: the listing.
        totals: of each answer of `table`.
        offsets: rows of `queue_offsets`.
    """

    files: DataFrame
    view: ClusterView
    table: DecisionTable
    totals: Sequence[BucketTotal]
    offsets: Sequence[QueueOffsetRow]


@dataclass(frozen=True, slots=True)
class AuditedQueues:
    """The queues of one storage: `table_queues` and `zookeeper_queues` have them.

    Attributes:
        stored: returns the queues of the last reading, with their files.
        missing: returns, by queue, the names of WALs that it must read and the listing does not have.
    """

    stored: Callable[[OpenedSnapshot, ClusterView, ListedEvidence], StoredQueues]
    missing: Callable[[AuditedListing], Mapping[Key, frozenset[str]]]


def observe_cluster(
    snapshot: Snapshot, view: ClusterView, stored: StoredQueues, listed: ListedEvidence
) -> ObservedCluster:
    """Combines a snapshot and its listing into the input of an audit.

    Args:
        snapshot: one that passed the checks of reconcile.
        view: the cluster view of the snapshot.
        stored: the queues of the last reading.
        listed: the evidence from the listing.
    """
    return ObservedCluster(
        cluster=snapshot.cluster,
        storage=AUDITED_STORAGES[snapshot.queue_storage],
        hbase_version=snapshot.hbase_version,
        peers={peer.peer_id: peer.state for peer in snapshot.peers},
        servers=_servers(snapshot, view, stored, listed),
        queues=tuple(sorted(stored.queues, key=lambda queue: queue.name)),
        locks=stored.locks,
        empty_replicators=stored.empty_replicators,
        archived=listed.archived,
        restless=view.restless,
    )


def _servers(snapshot: Snapshot, view: ClusterView, stored: StoredQueues, listed: ListedEvidence) -> ObservedServers:
    membership = snapshot.membership
    return ObservedServers(
        at=view.files_started,
        online=None if membership is None else view.online,
        crashing=None if membership is None or snapshot.step("crashing") is None else view.crashing,
        directories=stored.directories | view.wal_directories,
        splitting=stored.splitting,
        archived_last=listed.archived_last,
    )
