"""Findings about synchronous replication: directories below `remoteWALs/`, and states of peers.

No remedy here ever proposes to delete anything of a peer that exists.
"""

from collections.abc import Iterator

from pipelines.common.human import human_amount, human_bytes, human_count, human_duration
from pipelines.common.instants import DAY_MS, format_instant
from pipelines.hbase.peers import Peer
from pipelines.lake.findings import ERROR, INFO, WARNING, finding
from pipelines.lake.look_back import LOOK_BACK
from pipelines.lake.run_summary import FindingRow
from pipelines.reconcile.findings.evidence import Evidence
from pipelines.reconcile.peer_states import ACTIVE, DOWNGRADE_ACTIVE, NONE, STANDBY
from pipelines.reconcile.remote_wals import RemoteDirectory, RemoteKind

SETTLED_MS = DAY_MS
"""The ACTIVE cluster removes a copy once it has shipped it and rolls a WAL every hour; older copies are stuck."""


def remote_wals(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields ORPHAN_REMOTE_WALS, REMOTE_WALS_UNEXPECTED, REMOTE_WALS_PILE_UP and REMOTE_WALS_NOT_REPLAYED."""
    peers = {peer.peer_id: peer for peer in evidence.snapshot.peers}
    for directory in evidence.remote:
        peer = peers.get(directory.peer_id)
        if peer is None:
            yield _orphan(evidence, directory)
        elif peer.sync_replication_state == NONE:
            yield _of_peer(
                "REMOTE_WALS_UNEXPECTED",
                WARNING,
                directory,
                f"{directory.path} stands, but peer {peer.peer_id} does not replicate synchronously: it was removed "
                "and made again, or somebody else writes here.",
                "Look at peer and directory on both clusters (get_peer_config); walsafe never lists these files.",
                peer.sync_replication_state,
            )
        elif directory.kind is RemoteKind.REPLAY:
            yield from _replay(directory, peer)
        elif directory.kind is RemoteKind.REMOTE:
            yield from _copies(evidence, directory, peer)


def sync_states(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields SYNC_STATE_CHANGED and SYNC_DOWNGRADED."""
    for row in evidence.sync_peers:
        before, now = row.previous_sync_state, row.sync_state
        if before is not None and now is not None and before != now:
            yield finding(
                "SYNC_STATE_CHANGED",
                INFO,
                f"{row.peer_id}/{before}-{now}",
                f"Synchronous peer {row.peer_id} went from {before} to {now} since its state was last known.",
                _MEANS.get(now, "Nothing, if it was meant."),
                peer_id=row.peer_id,
                before=before,
                now=now,
            )
        if now == DOWNGRADE_ACTIVE and row.nights > evidence.settings.stalled_nights:
            yield finding(
                "SYNC_DOWNGRADED",
                WARNING,
                row.peer_id,
                f"Synchronous peer {row.peer_id} has been DOWNGRADE_ACTIVE for {row.nights} nights: it replicates "
                "asynchronously only, so what is not shipped yet would be lost with this cluster.",
                f"transit_peer_sync_replication_state '{row.peer_id}', 'ACTIVE' once the other cluster is STANDBY.",
                peer_id=row.peer_id,
                nights=row.nights,
            )


_MEANS = {
    ACTIVE: "Writes go to both clusters from here on. Nothing, if it was meant.",
    DOWNGRADE_ACTIVE: "Writes go to this cluster alone from here on. Nothing, if it was meant.",
    STANDBY: "Clients are refused from here on, and queues of the peer were dropped. Nothing, if it was meant.",
}


def _orphan(evidence: Evidence, directory: RemoteDirectory) -> FindingRow:
    removed = any(directory.peer_id in night.peers_seen for night in evidence.past)
    who = (
        f"peer {directory.peer_id}, which was there on an earlier night and is removed"
        if removed
        else f"peer {directory.peer_id}, which no night of the last {LOOK_BACK.days} days knows"
        if directory.name
        else "no peer at all"
    )
    return _of_peer(
        "ORPHAN_REMOTE_WALS",
        WARNING,
        directory,
        f"{directory.path} belongs to {who}: {_size(directory)}.",
        "RemovePeer deletes the directories of its peer. Make sure that no cluster still replicates here by that id, "
        "then remove it by hand: walsafe never does.",
        "removed peer" if removed else "unknown peer",
    )


def _replay(directory: RemoteDirectory, peer: Peer) -> Iterator[FindingRow]:
    waiting = directory.files - directory.empty_files
    if not waiting:
        return
    standby = peer.sync_replication_state in (STANDBY, None)
    yield _of_peer(
        "REMOTE_WALS_NOT_REPLAYED",
        WARNING if standby else ERROR,
        directory,
        f"Not replayed yet: {human_count(waiting, 'file')} of {directory.path}, {human_bytes(directory.bytes)}, and "
        f"peer {peer.peer_id} is {peer.sync_replication_state or 'in a state that is not known'}.",
        "A transition is under way or stuck: list_procedures, TransitPeerSyncReplicationState."
        if standby
        else "Edits that the other cluster had acknowledged may be missing here: keep the directory, and compare the "
        "tables with VerifyReplication.",
        peer.sync_replication_state,
    )


def _copies(evidence: Evidence, directory: RemoteDirectory, peer: Peer) -> Iterator[FindingRow]:
    state, oldest = peer.sync_replication_state, directory.oldest_modification
    age = 0 if oldest is None else evidence.view.files_started - oldest
    if state in (ACTIVE, DOWNGRADE_ACTIVE):
        yield _of_peer(
            "REMOTE_WALS_UNEXPECTED",
            WARNING,
            directory,
            f"{directory.path} holds {_size(directory)}, but peer {peer.peer_id} is {state} here: copies arrive only "
            "while this cluster is STANDBY, so the other one may be ACTIVE as well.",
            "Ask both clusters for the state of the peer (list_peers); at most one may be ACTIVE.",
            state,
        )
    elif age > SETTLED_MS:
        yield _of_peer(
            "REMOTE_WALS_PILE_UP",
            WARNING,
            directory,
            f"{directory.path} holds {_size(directory)}, the oldest for {human_duration(age)}: the ACTIVE cluster "
            "removes a copy once it has shipped it.",
            f"On the ACTIVE cluster: is peer {peer.peer_id} enabled, and does it catch up (status 'replication')?",
            state,
        )


def _of_peer(
    code: str, severity: str, directory: RemoteDirectory, message: str, remedy: str, state: str | None = None
) -> FindingRow:
    return finding(
        code,
        severity,
        directory.path,
        message,
        remedy,
        peer_id=directory.peer_id or None,
        files=directory.files,
        size=directory.bytes,
        kind=directory.kind.value,
        empty_files=directory.empty_files,
        unfinished_files=directory.unfinished_files,
        oldest_modification=None
        if directory.oldest_modification is None
        else format_instant(directory.oldest_modification),
        state=state,
    )


def _size(directory: RemoteDirectory) -> str:
    return human_amount(directory.files, directory.bytes)
