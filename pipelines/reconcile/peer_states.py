"""The states of all replication peers over the nights: rows of `peers`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipelines.hbase.peers import Peer
from pipelines.reconcile.past import PastPeer


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
