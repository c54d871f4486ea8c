"""Takes a snapshot of a live cluster.

The order of reading IS the safety argument (docs/safety.md).
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from pipelines.capture.neighbours import Neighbours, read_neighbours, with_neighbours, with_space
from pipelines.capture.ports import (
    ClusterSettings,
    FileSource,
    PeerSource,
    QueueSource,
    SnapshotSink,
    StateSource,
    WalDirectorySource,
)
from pipelines.capture.secrets import without_secrets
from pipelines.capture.sources.offline_state import OfflineCluster
from pipelines.capture.timeline import RetryPolicy, Timeline, with_retries
from pipelines.common.clock import Clock
from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, RefusedError
from pipelines.common.progress import Progress
from pipelines.hbase.peers import Peer, ambiguous_peer
from pipelines.hbase.replication_queues import QUEUE_FAMILY, Cell, read_passes, readable_queues
from pipelines.snapshot.capture_order import CAPTURE_ORDER, mixed_clusters_reason, not_quiet_reason
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, MasterFlags, Membership, Snapshot

logger = logging.getLogger(__name__)

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class CaptureTarget:
    """The cluster to capture.

    Attributes:
        cluster: the cluster's name in tables and lists.
        wal_root: the full URI of `hbase.wal.dir`, without a slash at the end.
        clock_host: the host whose clock stamps the steps.
    """

    cluster: str
    wal_root: str
    clock_host: str


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """The result of a capture.

    Attributes:
        uri: the URI of the snapshot.
        snapshot: its snapshot.json, with `contents` left empty.
        files: the number of listed files.
        cells: the number of cells of the second queue pass; with queues in ZooKeeper, the number of its znodes.
        restless: why the capture was not quiet; None = it was quiet.
    """

    uri: str
    snapshot: Snapshot
    files: int
    cells: int
    restless: str | None


@dataclass(frozen=True, slots=True)
class CaptureSources:
    """The source of each part of a snapshot; each source may use a different technology."""

    files: FileSource
    directories: WalDirectorySource
    queues: QueueSource
    state: StateSource
    space: Callable[[], int | None] | None = None

    def capture(
        self, subject: CaptureTarget, sink: SnapshotSink, *, clock: Clock, patience: RetryPolicy
    ) -> CaptureResult:
        """See `pipelines.capture.capture.capture`."""
        return capture(subject, self, sink, clock=clock, patience=patience)


@dataclass(frozen=True, slots=True)
class CaptureReadings:
    """Everything that is read after the listing."""

    membership: Membership
    membership_2: Membership
    peers: tuple[Peer, ...]
    flags: MasterFlags
    flags_2: MasterFlags
    neighbours: Neighbours
    queues_1: frozenset[bytes]
    queues_2: frozenset[bytes]
    cells: int


def read_files(sources: CaptureSources, sink: SnapshotSink, timeline: Timeline) -> int:
    """Runs the first step and returns the number of files. Only files archived by then can ever be deletable."""
    return timeline.take("files", sources.files, lambda: sink.files(sources.files.files()))


def read_the_rest(
    sources: CaptureSources, sink: SnapshotSink, timeline: Timeline, settings: ClusterSettings
) -> CaptureReadings:
    """Runs the other eight steps in the order of `CAPTURE_ORDER`, because any other order can lose data.

    The directories are read before the online servers and the crash procedures: a server that has left the online list
    and has no procedure yet still has its directory. The master proves that it is initialized before the first and
    after the last look at its procedures, because a master that is still loading answers that it has no procedures. A
    server that came or died in between counts as crashing in the second look (`KnownServers.moved_since`): rows may
    have moved through it and escaped both passes.
    """
    state, take = sources.state, timeline.take
    directories = take("wal_directories", sources.directories, sources.directories.wal_directories)
    servers = take("online", state, lambda: state.servers("online"))
    master, crashing = take("crashing", state, lambda: (state.active_master("crashing"), state.crashing("crashing")))
    peers, flags, neighbours = take("peers", state, lambda: _peers(state, settings))
    _, rows_1 = take("queues-1", sources.queues, lambda: _queues(sources.queues, sink, "queues-1"))
    cells, rows_2 = take("queues-2", sources.queues, lambda: _queues(sources.queues, sink, "queues-2"))
    servers_2 = take("online-2", state, lambda: state.servers("online-2"))
    crashing_2, flags_2, master_2 = take(
        "crashing-2",
        state,
        lambda: (
            state.crashing("crashing-2"),
            state.flags("crashing-2"),
            state.active_master("crashing-2"),
        ),
    )
    # a server that was crashing at the first look and no longer crashes must show as a difference, so it is not added
    crashing_2 |= servers_2.moved_since(servers) - crashing
    return CaptureReadings(
        membership=Membership(master, servers.online, crashing, directories),
        membership_2=Membership(master_2, servers_2.online, crashing_2),
        peers=peers,
        flags=flags,
        flags_2=flags_2,
        neighbours=neighbours,
        queues_1=rows_1,
        queues_2=rows_2,
        cells=cells,
    )


def capture(
    subject: CaptureTarget, sources: CaptureSources, sink: SnapshotSink, *, clock: Clock, patience: RetryPolicy
) -> CaptureResult:
    """Captures one cluster into a snapshot.

    While servers, queues or masters move, and if the clock was set back meanwhile, everything after the listing is read
    again, at most `patience.quiet_attempts` times. The listing is not read again, so it stays the first thing read.
    Saved inputs are read once. The last attempt counts, quiet or not; an attempt that was not quiet only makes
    reconcile hold more files.

    Raises:
        RefusedError: the steps are out of order (the clock was set back) or stamped by several clocks (exported
            inputs), or the parts come from different clusters, or the active master changed.
        UnavailableError: a source or the sink did not answer.
        UsageError: a source is not what the configuration says.
    """
    timeline = Timeline(clock, patience, subject.clock_host)
    # the settings are not a step; they are read first, so that no time is lost on a listing if HBase does not answer
    settings = with_retries("Settings", sources.state.settings, patience)
    files = read_files(sources, sink, timeline)
    listing = list(timeline.stamps)
    for attempt in count(1):
        timeline.stamps = list(listing)
        readings = read_the_rest(sources, sink, timeline, settings)
        snapshot = snapshot_of(
            subject,
            settings,
            timeline,
            QUEUE_STORAGE_TABLE,
            readings.peers,
            membership=readings.membership,
            membership_2=readings.membership_2,
            flags=readings.flags,
            flags_2=readings.flags_2,
        )
        restless, fault = _restless(snapshot, readings), _fault(readings)
        # a fault may pass too: servers that have just started are online before they have a directory below WALs/
        again = restless or fault or timeline.clock_was_set_back()
        if again is None or sources.state.stamp("crashing-2") or attempt >= patience.quiet_attempts:
            break
        logger.warning("Not quiet, attempt %d of %d: %s", attempt, patience.quiet_attempts, again)
        patience.sleep_ms(patience.pause_ms)
    timeline.refuse_disorder(CAPTURE_ORDER)
    if fault is not None:
        raise fault
    snapshot = with_space(with_neighbours(snapshot, readings.neighbours, sink), sources.space, sink)
    return CaptureResult(sink.finish(snapshot), snapshot, files, readings.cells, restless)


def _fault(readings: CaptureReadings) -> RefusedError | None:
    """Returns the error that says why these answers cannot form a snapshot; None = they can."""
    first, second = readings.membership, readings.membership_2
    rows = readable_queues(readings.queues_1 | readings.queues_2)
    strange = mixed_clusters_reason(first, readings.peers, rows, second.online | second.crashing)
    if strange is not None:
        return RefusedError(
            Condition.MIXED_CLUSTERS, f"{strange}. Check wal_root, capture.hbase.site and the queues' source"
        )
    if first.active_master != second.active_master:
        return RefusedError(
            Condition.MASTER_CHANGED,
            f"the active master changed from {first.active_master} to {second.active_master} meanwhile; capture again",
        )
    return None


def _peers(state: StateSource, settings: ClusterSettings) -> tuple[tuple[Peer, ...], MasterFlags, Neighbours]:
    peers = known_peers(state)
    return peers, state.flags("peers"), read_neighbours(state, settings, peers)


def known_peers(state: PeerSource | OfflineCluster) -> tuple[Peer, ...]:
    """Returns all replication peers.

    Raises:
        RefusedError: two peer ids are so alike that one peer's queues would be read as another's.
    """
    peers = state.peers()
    ambiguous = ambiguous_peer(peers)
    if ambiguous is not None:
        raise RefusedError(Condition.PEER_ID_AMBIGUOUS, ambiguous)
    return peers


def snapshot_of(
    subject: CaptureTarget,
    settings: ClusterSettings,
    timeline: Timeline,
    storage: str,
    peers: Iterable[Peer],
    *,
    membership: Membership | None,
    membership_2: Membership | None,
    flags: MasterFlags | None = None,
    flags_2: MasterFlags | None = None,
    extras: tuple[str, ...] = (),
) -> Snapshot:
    """Returns what a capture read as a snapshot, without the secrets of its peers; `contents` is left empty."""
    return Snapshot(
        cluster=subject.cluster,
        cluster_id=settings.cluster_id,
        hbase_version=settings.hbase_version,
        queue_storage=storage,
        wal_root=subject.wal_root,
        clock_host=timeline.clock_host,
        steps=timeline.steps,
        contents={},
        peers=tuple(map(without_secrets, peers)),
        membership=membership,
        membership_2=membership_2,
        flags=flags,
        flags_2=flags_2,
        retention=settings.retention,
        log_cleaner_plugins=settings.log_cleaner_plugins,
        backup=settings.backup,
        extras=extras,
    )


def _queues(source: QueueSource, sink: SnapshotSink, step: str) -> tuple[int, frozenset[bytes]]:
    """Writes one pass while reading it.

    Returns the number of its cells, and its row keys to compare with the other pass.
    """
    rows: set[bytes] = set()

    def watched() -> Iterator[Cell]:
        for cell in Progress("reading the queues", unit="cells").over(source.cells(step)):
            if cell.family == QUEUE_FAMILY:
                rows.add(cell.row)
            yield cell

    cells = sink.cells(f"{step}.jsonl", watched())
    return cells, frozenset(rows)


def _restless(snapshot: Snapshot, readings: CaptureReadings) -> str | None:
    try:
        pass_1, pass_2 = read_passes((readings.queues_1, readings.queues_2))
    except MalformedError as error:
        return f"{error}, so it is unknown whether that queue moved"  # reconcile reports the row too, and refuses
    return not_quiet_reason(snapshot, pass_1, pass_2)
