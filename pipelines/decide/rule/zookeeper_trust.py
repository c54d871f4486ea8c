"""Decides whether a snapshot of queues in ZooKeeper can be trusted at all (reason SNAPSHOT_UNTRUSTED)."""

from collections.abc import Sequence

from pipelines.common.conditions import Condition
from pipelines.decide.rule.settings import Release
from pipelines.decide.rule.trust import Doubts, extra_condition, unknown_extra, wrong_order
from pipelines.hbase.peers import ambiguous_peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.snapshot.capture_order import ZOOKEEPER_CAPTURE_ORDER
from pipelines.snapshot.model import Snapshot

_FIRST_WITH_TABLE = 3


def zookeeper_doubts(snapshot: Snapshot, trees: Sequence[ReplicationTree], release: Release) -> Doubts:
    """Yields why nothing in this snapshot can be trusted, and what to do about it.

    Args:
        snapshot: its form is checked; storage `zookeeper`. Its servers and master are evidence only.
        trees: both readings of the queues.
        release: opt-ins of the configuration.
    """
    yield extra_condition(snapshot), unknown_extra(snapshot)
    yield Condition.SNAPSHOT_OUT_OF_ORDER, wrong_order(snapshot, ZOOKEEPER_CAPTURE_ORDER)
    yield Condition.PEER_ID_AMBIGUOUS, ambiguous_peer(snapshot.peers)
    yield Condition.QUEUES_IN_TABLE, other_storage(snapshot)
    yield Condition.MASTER_CHANGED, _changed_master(snapshot)
    yield Condition.SNAPSHOT_UNTRUSTED, _queues(snapshot, trees, release)
    yield Condition.MIXED_CLUSTERS, _mixed_clusters_reason(snapshot, trees)


def other_storage(snapshot: Snapshot) -> str | None:
    """Returns why the queues are, or may be, in hbase:replication; None = they are in ZooKeeper.

    HBase 3 keeps its queues in the table: anything that ZooKeeper still has is a leftover, and proves nothing.
    """
    flags = [flags for flags in (snapshot.flags, snapshot.flags_2) if flags is not None]
    if any(flag.queue_table_exists for flag in flags):
        return "hbase:replication exists, so the queues are not in ZooKeeper. Capture with queues from that table"
    if any(flag.migration_pending for flag in flags):
        return "a migration of the replication queues from ZooKeeper is pending. Wait until it has finished"
    taken_over = sorted(peer.peer_id for peer in snapshot.peers if peer.sync_replication_state is not None)
    if taken_over:
        # ZKReplicationPeerStorage.getSyncReplicationState of HBase 3 creates the znode for peers that have none. The
        # version was read before the listing; another master, of another version, may have become active since
        return (
            f"peer {taken_over[0]!r} has a state of synchronous replication: HBase 3 has taken it over, and migrates "
            "the queues to hbase:replication or has done so. Capture with queues from that table"
        )
    major = (snapshot.hbase_version or "").partition(".")[0]
    if major.isascii() and major.isdigit() and len(major) < 4 and int(major) >= _FIRST_WITH_TABLE:
        return (
            f"HBase {snapshot.hbase_version} keeps its queues in hbase:replication, not in ZooKeeper. Capture with "
            "queues from that table"
        )
    return None


def _changed_master(snapshot: Snapshot) -> str | None:
    masters = {one.active_master for one in (snapshot.membership, snapshot.membership_2) if one and one.active_master}
    if len(masters) > 1:
        return f"the active master changed during the capture ({', '.join(sorted(masters))}). Capture again"
    return None


def _queues(snapshot: Snapshot, trees: Sequence[ReplicationTree], release: Release) -> str | None:
    queues = [queue for tree in trees for queue in tree.queues]
    peers = {peer.peer_id for peer in snapshot.peers}
    # every region server has a queue for every peer, which contains at least the WAL that it writes; a stopped server
    # keeps its queue. That no server is online proves nothing: it may be read from the same wrong znode
    if peers and not any(queue.queue.peer_id in peers for queue in queues):
        return (
            f"{len(peers)} peers, but no queue of any of these in ZooKeeper: the queues were read from the wrong "
            "znode, or this HBase keeps them elsewhere. Check zookeeper.znode.parent"
        )
    if queues and not peers and not release.orphan_queues:
        return (
            f"{len(queues)} queues but no peer: peers may have been read from the wrong place. If a RemovePeer "
            "is running, wait until it has ended and capture again. If none is and the peers really were removed, "
            "say so with release.orphan_queues: true"
        )
    return None


def _mixed_clusters_reason(snapshot: Snapshot, trees: Sequence[ReplicationTree]) -> str | None:
    """Returns why the servers and the queues are of two clusters, or None.

    Compares the queues' owners with the online servers, and with the directories below `WALs/` where the snapshot has
    them: every region server has a queue for every peer. A snapshot without online servers is checked by
    `foreign_listing_reason` with the listing instead.
    """
    known = set[ServerName]()
    for membership in (snapshot.membership, snapshot.membership_2):
        if membership is not None:
            known |= membership.online | {directory.server for directory in membership.wal_directories}
    owners = {queue.owner for tree in trees for queue in tree.queues}
    if not snapshot.peers or not owners or not known or owners & known:
        return None
    return (
        f"no queue (such as that of {min(owners)}) belongs to a server that is online or has a directory below WALs/ "
        f"({min(known)} …): queues are read from another cluster. Capture again, everything from one cluster"
    )
