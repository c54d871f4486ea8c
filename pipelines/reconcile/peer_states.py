"""The states of replication peers over the nights: rows of `peers`, and of `sync_peers` (`SyncReplicationState`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipelines.hbase.peers import Peer
from pipelines.reconcile.past import PastPeer

NONE, ACTIVE, DOWNGRADE_ACTIVE, STANDBY = "NONE", "ACTIVE", "DOWNGRADE_ACTIVE", "STANDBY"


@dataclass(frozen=True, slots=True)
class PeerRow:
    """A row of `peers`; `state_since` in ms since the epoch."""

    peer_id: str
    state: str
    state_since: int
    nights: int
    previous_state: str | None
    cluster_key: str | None
    endpoint: str | None
    serial: bool | None
    replicate_all: bool | None
    sync_state: str | None


def peer_rows(peers: Iterable[Peer], before: Mapping[str, PastPeer], files_started: int) -> tuple[PeerRow, ...]:
    """Returns each peer of a snapshot, and how long it has been in its state.

    Args:
        peers: of the snapshot.
        before: by peer id, of the night before; empty on a first night.
        files_started: start of step `files`, ms since the epoch.
    """
    rows = []
    for peer in peers:
        past = before.get(peer.peer_id)
        same = past is not None and past.state == peer.state
        rows.append(
            PeerRow(
                peer_id=peer.peer_id,
                state=peer.state,
                state_since=past.state_since if past and same else files_started,
                nights=past.nights + 1 if past and same else 1,
                previous_state=past.state if past else None,
                cluster_key=peer.cluster_key,
                endpoint=peer.endpoint,
                serial=peer.serial,
                replicate_all=peer.replicate_all,
                sync_state=peer.sync_replication_state,
            )
        )
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class SyncPeerRow:
    """A row of `sync_peers`.

    Attributes:
        state: ENABLED or DISABLED; the state of the asynchronous part.
        sync_state: as read; None = unknown (HBase 2's client).
        previous_sync_state: the newest one that the nights before know; None = none is known, or the peer was not
            synchronous on the night before.
        since: start of step `files` on the first of the consecutive nights with this state, ms since the epoch. A night
            that does not know the state is taken for one like those before it.
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
    """The state of one peer recorded on the night before, as in `SyncPeerRow`."""

    peer_id: str
    sync_state: str | None
    since: int
    nights: int
    previous_sync_state: str | None = None

    @property
    def known(self) -> str | None:
        """The newest known state; None = there is none."""
        return self.sync_state or self.previous_sync_state


def sync_peers(peers: Iterable[Peer], before: Mapping[str, PastSyncState], files_started: int) -> list[SyncPeerRow]:
    """Returns the synchronous peers, and how long each has been in its state.

    Args:
        peers: all peers of the snapshot.
        before: by peer id, of the night before; empty on a first night.
        files_started: start of step `files`, ms since the epoch.
    """
    rows = []
    for peer in peers:
        if not peer.remote_wal_dir and peer.sync_replication_state in (None, NONE):
            continue
        past = before.get(peer.peer_id)
        same = past is not None and peer.sync_replication_state in (None, past.known)
        rows.append(
            SyncPeerRow(
                peer_id=peer.peer_id,
                state=peer.state,
                sync_state=peer.sync_replication_state,
                remote_wal_dir=peer.remote_wal_dir,
                previous_sync_state=past.known if past else None,
                since=past.since if past and same else files_started,
                nights=past.nights + 1 if past and same else 1,
            )
        )
    return rows
