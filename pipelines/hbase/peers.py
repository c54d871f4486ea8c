"""Replication peers (HBase `ReplicationPeerDescription`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.hbase.peer_rules import PeerRule

PEER_STATES = ("ENABLED", "DISABLED")
INTER_CLUSTER_ENDPOINT = "org.apache.hadoop.hbase.replication.regionserver.HBaseInterClusterReplicationEndpoint"
"""HBase's endpoint of a peer that names none; it sends edits of families with scope 1, by the peer's tables."""

SYNC_REPLICATION_STATES = ("NONE", "ACTIVE", "DOWNGRADE_ACTIVE", "STANDBY")


@dataclass(frozen=True, slots=True)
class Peer:
    """One replication peer (`ReplicationPeerDescription`); None = unknown."""

    peer_id: str
    state: str
    cluster_key: str | None = None
    endpoint: str | None = None
    serial: bool | None = None
    replicate_all: bool | None = None
    sync_replication_state: str | None = None
    remote_wal_dir: str | None = None
    config: Mapping[str, str] | None = None
    rule: PeerRule | None = None

    @property
    def has_own_endpoint(self) -> bool:
        """Whether a class other than HBase's usual one decides which edits are sent; it need not look at scopes.

        Such a class is HBase's own for region replicas (`RegionReplicaReplicationEndpoint`), up to HBase 2.
        """
        return self.endpoint not in {None, "", INTER_CLUSTER_ENDPOINT}


def ambiguous_peer(peers: Sequence[Peer]) -> str | None:
    """Returns a message about a peer whose queues would count as another peer's; None = there is no such peer.

    A queue's name is `<peer>-<server>`. `ReplicationPeerManager.preAddPeer` rejects a peer id that contains `-`; HBase
    1.x and 2.x also reject it when they add a peer.

    Args:
        peers: all peers.
    """
    ids = sorted(peer.peer_id for peer in peers if "-" in peer.peer_id)
    if not ids:
        return None
    return (
        f"peer id {ids[0]!r} has a '-', which HBase forbids: queues are called <peer>-<server>, so those of this peer "
        f"would count as queues of peer {ids[0].partition('-')[0]!r}. Whoever wrote the peers must write their ids as "
        "list_peers shows them"
    )
