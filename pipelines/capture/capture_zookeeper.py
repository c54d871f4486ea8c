"""Takes a snapshot of a cluster whose replication queues are in ZooKeeper (HBase 1.x and 2.x).

The listing comes first, then the queues, twice. A WAL is in a queue from its creation until every peer has it. So if a
WAL was archived before the queues were read and is in no queue, no peer needs it. Which servers are alive does not
affect the decision on any file; this is read for audit-queues, and to check that files and queues come from one
cluster.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from pipelines.capture.capture import CaptureResult, CaptureTarget, known_peers, snapshot_of
from pipelines.capture.capture_offline import refuse_running
from pipelines.capture.neighbours import Neighbours, read_neighbours, with_neighbours, with_space
from pipelines.capture.ports import (
    ClusterSettings,
    FileSource,
    PeerSource,
    SnapshotSink,
    WalDirectorySource,
    ZnodeSource,
)
from pipelines.capture.sources.offline_state import OfflineCluster
from pipelines.capture.timeline import RetryPolicy, Timeline, with_retries
from pipelines.common.clock import Clock
from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, RefusedError, UsageError
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queued_wals import queue_key, unsettled_reason
from pipelines.hbase.zookeeper.tree import ReplicationTree, Znode, parse_tree
from pipelines.snapshot.capture_order import ZOOKEEPER_CAPTURE_ORDER, mixed_clusters_reason
from pipelines.snapshot.extras import extra_file
from pipelines.snapshot.model import QUEUE_STORAGE_ZOOKEEPER, Membership, Snapshot, WalDirectory
from pipelines.snapshot.syncup_facts import EXTRA, SyncUpFacts, fact_documents

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ZooKeeperSources:
    """The source of each part of a snapshot of a cluster with queues in ZooKeeper.

    Attributes:
        down: set if the cluster is down: the snapshot is for ReplicationSyncUp alone, and has the extra `syncup`.
    """

    files: FileSource
    directories: WalDirectorySource
    znodes: ZnodeSource
    state: PeerSource
    space: Callable[[], int | None] | None = None
    down: OfflineCluster | None = None

    def capture(
        self, subject: CaptureTarget, sink: SnapshotSink, *, clock: Clock, patience: RetryPolicy
    ) -> CaptureResult:
        """See `capture_zookeeper`."""
        return capture_zookeeper(subject, self, sink, clock=clock, patience=patience)


def capture_zookeeper(
    subject: CaptureTarget, sources: ZooKeeperSources, sink: SnapshotSink, *, clock: Clock, patience: RetryPolicy
) -> CaptureResult:
    """Captures one cluster into a snapshot, in the order of `ZOOKEEPER_CAPTURE_ORDER`.

    While queues move, and if the clock was set back meanwhile or files and queues seem to be of two clusters, servers,
    peers and queues are read again, at most `patience.quiet_attempts` times. The listing is not read again, so it stays
    the first thing read. Saved queues are read once. The last attempt counts, quiet or not; an attempt that was not
    quiet only makes reconcile hold more files.

    Raises:
        RefusedError: the steps are out of order (a clock that was set back), files and queues come from two clusters,
            or a cluster that should be down runs.
        UnavailableError: a source or the sink did not answer.
        UsageError: a source is not what the configuration says.
    """
    timeline = Timeline(clock, patience, subject.clock_host)
    if sources.down is not None:
        refuse_running(sources.down, patience)
    settings = with_retries("Settings", sources.state.settings, patience)
    _same_cluster(settings, with_retries("Cluster id", sources.znodes.cluster_id, patience))
    files = timeline.take("files", sources.files, lambda: sink.files(sources.files.files()))
    listing = list(timeline.stamps)
    for attempt in count(1):
        timeline.stamps = list(listing)
        online, directories = timeline.take("online", sources.znodes, partial(_servers, sources))
        peers, neighbours = timeline.take("peers", sources.state, lambda: _peers(sources.state, settings))
        readings = [
            timeline.take(step, sources.znodes, partial(_reading, sources.znodes, sink, step))
            for step in ("queues-1", "queues-2")
        ]
        online_2 = timeline.take("online-2", sources.znodes, lambda: sources.znodes.online("online-2"))
        restless = _restless(readings)
        fault = _fault(online, directories, peers, readings, saved=timeline.stamps[0].saved)
        # a fault may pass: servers that have just started are online before they have a directory below WALs/
        again = restless or fault or timeline.clock_was_set_back()
        if again is None or sources.znodes.stamp("queues-2") or attempt >= patience.quiet_attempts:
            break
        logger.warning("Not quiet, attempt %d of %d: %s", attempt, patience.quiet_attempts, again)
        patience.sleep_ms(patience.pause_ms)
    timeline.refuse_disorder(ZOOKEEPER_CAPTURE_ORDER)
    if fault is not None:
        raise fault
    peers = _marked(peers, with_retries("Peers again", sources.state.peers, patience))
    snapshot = snapshot_of(
        subject,
        settings,
        timeline,
        QUEUE_STORAGE_ZOOKEEPER,
        peers,
        membership=_membership(online),
        membership_2=_membership(online_2),
    )
    if sources.down is not None:
        snapshot = _with_syncup(snapshot, sources.down, sink, patience)
    else:
        snapshot = with_space(with_neighbours(snapshot, neighbours, sink), sources.space, sink)
    return CaptureResult(sink.finish(snapshot), snapshot, files, len(readings[-1]), restless)


def _with_syncup(snapshot: Snapshot, down: OfflineCluster, sink: SnapshotSink, patience: RetryPolicy) -> Snapshot:
    """Returns the snapshot with the extra `syncup`; no neighbours, no space: reconcile does not trust it anyway."""
    facts = with_retries(
        "Extra syncup", lambda: SyncUpFacts(down.root(), tuple(down.directories()), tuple(down.flags())), patience
    )
    sink.documents(extra_file(EXTRA), fact_documents(facts))
    refuse_running(down, patience)
    return replace(snapshot, extras=(EXTRA,))


def _same_cluster(settings: ClusterSettings, znodes: str | None) -> None:
    """Refuses the queues of another cluster.

    With them, files that the peers of this cluster still need would look free.

    Raises:
        UsageError: the queues belong to another cluster.
    """
    if settings.cluster_id is not None and znodes is not None and settings.cluster_id != znodes:
        raise UsageError(
            f"the queues belong to cluster {znodes}, settings and peers to cluster {settings.cluster_id}: "
            "check capture.queues.quorum and capture.queues.parent (zookeeper.znode.parent)"
        )


def _servers(sources: ZooKeeperSources) -> tuple[frozenset[ServerName] | None, tuple[WalDirectory, ...]]:
    return sources.znodes.online("online"), sources.directories.wal_directories()


def _fault(
    online: frozenset[ServerName] | None,
    directories: tuple[WalDirectory, ...],
    peers: Sequence[Peer],
    readings: Sequence[Sequence[Znode]],
    *,
    saved: bool,
) -> RefusedError | None:
    """Returns the error for files and queues of two clusters, because then all files would be in no queue.

    None = they are of one cluster. See `capture_order.mixed_clusters_reason`.

    Live servers and queues are in the same ZooKeeper. So if a server is online, it is enough to compare the online
    servers with the directories below `WALs/`, and the queues are not compared: after an upgrade to HBase 3 the
    remaining queues belong to no live server, and reconcile refuses them with the true reason. A saved listing may have
    lost its files below `WALs/`: if there are peers, but neither an online server nor such a directory, it is not
    trusted.
    """
    queues: set[QueueId] = set()
    for reading in () if online else readings:
        with suppress(MalformedError):  # reconcile reports it
            queues |= {queue_key(queue) for queue in parse_tree(reading).queues}
    strange = mixed_clusters_reason(
        Membership(None, online or frozenset(), frozenset(), directories), peers, frozenset(queues)
    )
    if strange is None and saved and peers and not directories:
        strange = (
            "no server is online, and the saved listing has no file below WALs/ (cut off?): nothing shows whose files "
            "these are"
        )
    if strange is None:
        return None
    return RefusedError(
        Condition.MIXED_CLUSTERS,
        f"{strange}. Check wal_root, and quorum and parent of capture.queues; a saved listing (ls, fsimage) must "
        "have WALs/ too, and be younger than the servers that run now",
    )


def _peers(state: PeerSource, settings: ClusterSettings) -> tuple[tuple[Peer, ...], Neighbours]:
    peers = known_peers(state)
    return peers, read_neighbours(state, settings, peers)


def _marked(peers: Sequence[Peer], later: Sequence[Peer]) -> tuple[Peer, ...]:
    """Returns the peers with the mark of an HBase 3 that has taken them over since, and may have taken queues away."""
    states = {peer.peer_id: peer.sync_replication_state for peer in later}
    return tuple(
        replace(peer, sync_replication_state=peer.sync_replication_state or states.get(peer.peer_id)) for peer in peers
    )


def _reading(source: ZnodeSource, sink: SnapshotSink, step: str) -> Sequence[Znode]:
    """Takes one reading, writes it, and returns it, because only a whole reading shows whether it was quiet."""
    znodes = source.znodes(step)
    sink.znodes(f"{step}.jsonl", znodes)
    return znodes


def _membership(online: frozenset[ServerName] | None) -> Membership | None:
    """Returns the membership that ZooKeeper shows: it knows the online servers.

    ZooKeeper does not know crash procedures, so the capture has no step for them.
    """
    return None if online is None else Membership(None, online, frozenset())


def _restless(readings: Sequence[Sequence[Znode]]) -> str | None:
    trees: list[ReplicationTree] = []
    try:
        trees = [parse_tree(reading) for reading in readings]
    except MalformedError as error:
        return f"{error}, so it is unknown whether that queue moved"  # reconcile reports it too, and refuses
    return unsettled_reason(trees)
