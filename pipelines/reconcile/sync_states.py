"""The states of synchronous peers over the nights (`SyncReplicationState`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipelines.hbase.peers import Peer

NONE, ACTIVE, DOWNGRADE_ACTIVE, STANDBY = "NONE", "ACTIVE", "DOWNGRADE_ACTIVE", "STANDBY"


@dataclass(frozen=True, slots=True)
class SyncPeerRow:
    """A row of `sync_peers`.

    Attributes:
        state: ENABLED or DISABLED; the state of the asynchronous part.
        sync_state: as read; None = unknown (HBase 2's client).
        previous_sync_state: of the night before; None = there is no such night, or the peer was not synchronous then.
        since: start of step `files` on the first of the consecutive nights with this state, ms since the epoch.
        nights: number of these nights, this one included.
    """

    peer_id: str
    state: str
    sync_state: str | None
    remote_wal_dir: str | None
    previous_sync_state: str | None
    since: int
    nights: int


@dataclass(frozen=True, slots=True)
class PastSyncState:
    """The state of one peer recorded on the night before; `since` in ms since the epoch."""

    sync_state: str | None
    since: int
    nights: int


def sync_peers(peers: Iterable[Peer], before: Mapping[str, PastSyncState], files_started: int) -> list[SyncPeerRow]:
    """Returns the synchronous peers, and how long each has been in its state.

    Args:
        peers: all peers of the snapshot.
        before: by peer id, of the night before; empty on a first night.
        files_started: start of step `files`, ms since the epoch.
    """
    rows = []
    for peer in peers:
        if peer.remote_wal_dir is None and peer.sync_replication_state in (None, NONE):
            continue
        past = before.get(peer.peer_id)
        same = past is not None and past.sync_state == peer.sync_replication_state
        rows.append(
            SyncPeerRow(
                peer_id=peer.peer_id,
                state=peer.state,
                sync_state=peer.sync_replication_state,
                remote_wal_dir=peer.remote_wal_dir,
                previous_sync_state=past.sync_state if past else None,
                since=past.since if past and same else files_started,
                nights=past.nights + 1 if past and same else 1,
            )
        )
    return rows
