"""Findings of `plan-syncup`: what prevents ReplicationSyncUp from ending, or loses edits when HBase starts again."""

from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

from pipelines.common.human import human_bytes, human_count, human_instant
from pipelines.lake.findings import ERROR, INFO, WARNING, finding
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.syncup.plan import SyncUpPlan
from pipelines.queues.syncup.rows import SyncUpAction
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.syncup_facts import INFO_FLAG, SyncUpFacts


def syncup_findings(plan: SyncUpPlan, snapshot: Snapshot, facts: SyncUpFacts) -> tuple[FindingRow, ...]:
    """Returns all findings of one plan."""
    return (
        *_two_file_systems(snapshot, facts),
        *_leftovers(facts),
        *_disabled_peers(plan, facts),
        *_empty_queues(plan, snapshot),
        *_missing_wals(plan),
        *_stale(plan, facts),
        *removed_peers(plan),
        *_flags_that_stay(plan, snapshot),
    )


def _two_file_systems(snapshot: Snapshot, facts: SyncUpFacts) -> Iterator[FindingRow]:
    """The tool opens files of the root directory with the file system of the WALs."""
    root, wals = urlsplit(facts.root), urlsplit(snapshot.wal_root)
    if (root.scheme, root.netloc) != (wals.scheme, wals.netloc):
        yield finding(
            "SYNCUP_TWO_FILE_SYSTEMS",
            ERROR,
            "",
            f"hbase.rootdir is {facts.root} and the WALs are below {snapshot.wal_root}. ReplicationSyncUp writes its "
            "flag files through the file system of the WALs, and ends at once with 'Wrong FS'.",
            "Start the source cluster instead and let it ship.",
            root=facts.root,
            wal_root=snapshot.wal_root,
        )


def _leftovers(facts: SyncUpFacts) -> Iterator[FindingRow]:
    """The tool creates its flag files before it ships anything, so a run that died leaves them too."""
    if not facts.flags:
        return
    servers = [flag.name for flag in facts.flags if flag.name != INFO_FLAG]
    started = next((flag.modification_time for flag in facts.flags if flag.name == INFO_FLAG), None)
    when = "" if started is None else f" of a run begun {human_instant(started)}"
    yield finding(
        "SYNCUP_LEFTOVER",
        ERROR,
        "",
        f"{human_count(len(facts.flags), 'flag file')}{when} stand below {facts.root}/ReplicationSyncUp. When HBase "
        f"starts, the queues of {human_count(len(servers), 'server')} are dropped, whether that run had shipped them "
        "or not.",
        "If it is not known to have ended well, run ReplicationSyncUp -f to its end before HBase starts (it ships all "
        "again from the flushed offsets); or remove the flag files, and HBase ships by itself.",
        files=len(facts.flags),
        servers=servers[:10],
    )


def _disabled_peers(plan: SyncUpPlan, facts: SyncUpFacts) -> Iterator[FindingRow]:
    """A source of a disabled peer sleeps until the peer is enabled, so the tool has to be stopped.

    It leaves its flag files then. `AssignReplicationQueuesProcedure.removeQueues` of the next master drops all queues
    of their servers, whatever the peer.
    """
    queues = [
        one for one in plan.queues if one.action is SyncUpAction.WAITS and one.peer and one.peer.state != "ENABLED"
    ]
    for peer_id in sorted({one.row.queue.peer_id for one in queues}):
        own = [one for one in queues if one.row.queue.peer_id == peer_id]
        size = sum(wal.waiting for one in own for wal in one.wals)
        yield finding(
            "SYNCUP_DISABLED_PEER",
            ERROR,
            peer_id,
            f"Peer {peer_id} is DISABLED: ReplicationSyncUp claims {human_count(len(own), 'queue')} of it with "
            f"{human_bytes(size)}, ships nothing, and never ends. If you stop it, its flag files stay, and because of "
            "them HBase drops these queues unshipped when it starts.",
            "Enable the peer before you run it, or do not run it: start HBase. Without a master only ZooKeeper can "
            f"enable the peer: set {peer_state_znode(peer_id)} to the bytes 50 42 55 46 08 00 "
            f"(docs/syncup.md#a-disabled-peer). If you have stopped it: remove the files below {facts.root}"
            "/ReplicationSyncUp before HBase starts.",
            peer_id=peer_id,
            files=sum(len(one.wals) for one in own),
            size=size,
            queues=len(own),
        )


def peer_state_znode(peer_id: str) -> str:
    """Returns the znode with the state of a peer, below `zookeeper.znode.parent`."""
    return f"replication/peers/{peer_id}/peer-state"


def _empty_queues(plan: SyncUpPlan, snapshot: Snapshot) -> Iterator[FindingRow]:
    """A source without a WAL starts no worker, and so never finishes."""
    directories = snapshot.membership.wal_directories if snapshot.membership else ()
    empty = {one.server for one in directories} - {one.server for one in directories if one.entries}
    for one in plan.queues:
        if one.action is not SyncUpAction.WAITS or one.peer is None or one.peer.state != "ENABLED":
            continue
        queue = one.row.queue
        kind = "the placeholder of" if one.is_placeholder else "queue"
        # without it there is no placeholder; a directory with the WAL of hbase:meta must stay
        removable = one.is_placeholder and queue.owner in empty
        way = (
            "Before you run ReplicationSyncUp, remove the server's empty directory below WALs. Or stop"
            if removable
            else "Stop"
        )
        yield finding(
            "SYNCUP_EMPTY_QUEUE",
            ERROR,
            str(queue),
            f"There is no WAL to read for {kind} {queue}: ReplicationSyncUp waits for it forever, after it has "
            "shipped all others.",
            f"{way} ReplicationSyncUp when every other queue has a line 'Finished recovering queue' and its log has "
            "been silent for some minutes; but if a peer is disabled (SYNCUP_DISABLED_PEER), follow the remedy for "
            "that peer first.",
            peer_id=queue.peer_id,
            server=str(queue.owner),
        )


def _missing_wals(plan: SyncUpPlan) -> Iterator[FindingRow]:
    for one in plan.queues:
        if one.peer is None:
            continue
        queue = one.row.queue
        for group, wal in one.missing:
            yield finding(
                "MISSING_WAL",
                ERROR,
                f"{queue}/{group}",
                f"Queue {queue} stands inside of {wal}, which is nowhere; ReplicationSyncUp passes over it and begins "
                "with the next.",
                "Look for it in corrupt/ and in backups of HDFS; compare the tables with VerifyReplication afterwards.",
                peer_id=queue.peer_id,
                server=str(queue.owner),
                wal=wal,
            )


def _stale(plan: SyncUpPlan, facts: SyncUpFacts) -> Iterator[FindingRow]:
    """Yields a finding if ReplicationSyncUp may not see the newest state of `hbase:replication`.

    If nobody knows what was not flushed, edits may be lost: a warning. If it is known, edits are shipped again, which
    harms only tables of counters: info.
    """
    table = facts.table
    if table is None or table.unknown is not None:
        why = "the queues were exported before" if table is None else (table.unknown or "")
        yield finding(
            "SYNCUP_STALENESS_UNKNOWN",
            WARNING,
            "",
            f"Nobody knows what hbase:replication held beyond its store files: {why}. A queue that was claimed since "
            "may be unknown to ReplicationSyncUp, and its edits would not be shipped.",
            "Compare the tables with VerifyReplication afterwards."
            if table is not None
            else "Capture with queues.source hfiles, which reads what ReplicationSyncUp reads.",
        )
        return
    resent = sum(one.resent_bytes or 0 for one in plan.queues)
    if not table.unflushed or table.last_written is None:
        return
    flushed = "never" if table.flushed_at is None else human_instant(table.flushed_at)
    yield finding(
        "SYNCUP_STALE_OFFSETS",
        INFO,
        "",
        f"Not flushed: {human_count(len(table.unflushed), 'column')} of hbase:replication, written until "
        f"{human_instant(table.last_written)}; last flush: {flushed}. {resent_words(resent)}.",
        "Nothing: cells shipped twice are the same cells.",
        size=resent,
        columns=len(table.unflushed),
    )


def resent_words(size: int) -> str:
    """Says how many bytes are sent again, and why: `resent_bytes` has both reasons in one number."""
    return f"{human_bytes(size)} are sent again (older offsets, or two queues of a peer that read the same WALs)"


def removed_peers(plan: SyncUpPlan) -> Iterator[FindingRow]:
    """Yields a finding for each peer that does not exist and has queues."""
    counts = Counter(one.row.queue.peer_id for one in plan.queues if one.action is SyncUpAction.REMOVED_PEER)
    for peer_id, queues in sorted(counts.items()):
        yield finding(
            "SYNCUP_REMOVED_PEER",
            INFO,
            peer_id,
            f"{human_count(queues, 'queue')} of peer {peer_id}, which does not exist: ReplicationSyncUp leaves them.",
            "Nothing; HBCK2 'replication --fix' removes them when HBase runs.",
            peer_id=peer_id,
        )


def _flags_that_stay(plan: SyncUpPlan, snapshot: Snapshot) -> Iterator[FindingRow]:
    """A flag file is only removed by its server's crash procedure, which only a server with a directory gets."""
    directories = snapshot.membership.wal_directories if snapshot.membership else ()
    known = {directory.server for directory in directories}
    staying = [server for server in plan.servers if server not in known]
    if staying:
        names = [str(server) for server in staying]
        yield finding(
            "SYNCUP_FLAG_STAYS",
            WARNING,
            "",
            f"{human_count(len(staying), 'server')} such as {names[0]} own queues and have no directory below WALs: "
            "after the start no crash procedure removes their rows and flag files.",
            "When HBase runs: HBCK2 scheduleRecoveries with these servers removes both.",
            servers=names[:10],
        )
