"""Findings of `plan-syncup` for queues in ZooKeeper (HBase 2): what the tool leaves behind, or never ends with."""

from collections.abc import Iterator, Sequence

from pipelines.common.human import human_bytes, human_count
from pipelines.hbase.wal_root import OLD_WALS
from pipelines.lake.findings import ERROR, finding
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.syncup.findings import peer_state_znode, removed_peers
from pipelines.queues.syncup.plan import SyncUpPlan
from pipelines.queues.syncup.rows import SyncUpAction, SyncUpContent
from pipelines.queues.syncup.wals import human_waiting
from pipelines.queues.syncup.zookeeper_plan import ZooKeeperQueuePlan

_SHOWN = 10


def zookeeper_findings(plan: SyncUpPlan, queues: Sequence[ZooKeeperQueuePlan]) -> tuple[FindingRow, ...]:
    """Returns all findings of one plan; `queues` are those of the plan."""
    return (
        *_disabled_peers(queues),
        *_missing_wals(queues),
        *_unfound_wals(queues),
        *removed_peers(plan),
    )


def _disabled_peers(queues: Sequence[ZooKeeperQueuePlan]) -> Iterator[FindingRow]:
    """`ReplicationSourceManager.claimQueue` claims the queue, and only then looks at the state of the peer."""
    moved = [one for one in queues if one.action is SyncUpAction.MOVES]
    for peer_id in sorted({one.row.queue.peer_id for one in moved}):
        own = [one for one in moved if one.row.queue.peer_id == peer_id]
        size = sum(wal.waiting for one in own for wal in one.wals)
        yield finding(
            "SYNCUP_DISABLED_PEER",
            ERROR,
            peer_id,
            f"Peer {peer_id} is DISABLED: ReplicationSyncUp moves {human_count(len(own), 'queue')} of it with "
            f"{human_bytes(size)} to a server name of its own, and ships nothing. When HBase runs, no server claims "
            "them from there.",
            f"Before you run it, enable the peer in ZooKeeper: set {peer_state_znode(peer_id)} to the bytes 50 42 55 "
            "46 08 00 (docs/syncup.md#a-disabled-peer). If the queues have been moved already: enable the peer, and "
            "run ReplicationSyncUp again.",
            peer_id=peer_id,
            files=sum(len(one.wals) for one in own),
            size=size,
            queues=len(own),
        )


def _missing_wals(queues: Sequence[ZooKeeperQueuePlan]) -> Iterator[FindingRow]:
    for one in queues:
        outcome = "tries to open it forever, and ships no later WAL of this group"
        if one.action is SyncUpAction.MOVES:
            outcome = "ships nothing of a disabled peer. Once the peer is enabled, a run tries to open this WAL forever"
        for group, wal in one.missing:
            yield finding(
                "MISSING_WAL",
                ERROR,
                f"{one.name}/{group}",
                f"Queue {one.name} names {wal}, which is nowhere; ReplicationSyncUp {outcome}.",
                "Look for it in corrupt/ and in backups of HDFS, and put it into oldWALs. If it is lost, delete its "
                "znode, and compare the tables with VerifyReplication afterwards.",
                peer_id=one.row.queue.peer_id,
                server=str(one.row.queue.owner),
                wal=wal,
            )


def _unfound_wals(queues: Sequence[ZooKeeperQueuePlan]) -> Iterator[FindingRow]:
    """Yields one finding for all WALs that are there and that the tool does not find.

    A WAL directly in oldWALs may be unread only because it follows such a WAL. It is the original, which the operator
    must not copy, nor remove after the run, so it is not in the list.
    """
    stuck = [
        one
        for one in queues
        if one.action is SyncUpAction.WAITS and {wal for _, wal in one.stuck} - {wal for _, wal in one.missing}
    ]
    if not stuck:
        return
    unread = [wal for one in stuck for wal in one.wals if wal.content is SyncUpContent.NOT_READ]
    files = {one.file for one in unread}
    count, sizes = len(files), [one.waiting for one in unread]
    to_copy = sorted(file.path for file in files if file.directory != OLD_WALS)
    yield finding(
        "SYNCUP_WAL_UNFOUND",
        ERROR,
        "",
        f"ReplicationSyncUp finds a WAL only in oldWALs itself, or as the first file of a directory below WALs. For "
        f"{human_count(len(stuck), 'queue')} it would try forever, and not ship {human_count(count, 'WAL')}, "
        f"{human_waiting(sizes)}.",
        "Start HBase and let it ship; or copy the WALs that are not in oldWALs yet into it for the time of the run "
        "(docs/syncup.md#wals-that-the-tool-of-hbase-2-does-not-find).",
        files=count,
        size=sum(sizes),
        queues=len(stuck),
        wals=to_copy[:_SHOWN],
    )
