"""Converts one snapshot to the input of an audit, whichever storage its queues are in."""

from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.queues.audit.observed_cluster import ListedEvidence, ObservedCluster, ObservedServers
from pipelines.queues.audit.queue_storage import StoredQueues
from pipelines.snapshot.model import Snapshot


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
        storage=stored.storage,
        hbase_version=snapshot.hbase_version,
        peers={peer.peer_id: peer.state for peer in snapshot.peers},
        servers=_servers(snapshot, view, listed),
        queues=tuple(sorted(stored.queues, key=lambda queue: queue.name)),
        locks=stored.locks,
        empty_replicators=stored.empty_replicators,
        archived=listed.archived,
    )


def _servers(snapshot: Snapshot, view: ClusterView, listed: ListedEvidence) -> ObservedServers:
    membership = snapshot.membership
    listed_there = {server: listed.directories.get(server, 0) for server in view.wal_directories}
    return ObservedServers(
        at=view.files_started,
        online=None if membership is None else view.online,
        crashing=None if membership is None or snapshot.step("crashing") is None else view.crashing,
        directories={**listed.directories, **listed_there},
        splitting=listed.splitting,
        archived_last=listed.archived_last,
    )
