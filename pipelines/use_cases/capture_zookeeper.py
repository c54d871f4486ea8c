"""Takes a snapshot of a cluster whose replication queues are in ZooKeeper (HBase 1.x and 2.x).

The listing comes first, then the queues, twice: a WAL stands in a queue from its creation until every peer has it, so
one that was archived before and is in no queue is needed by nobody. Who is alive does not matter here.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pipelines.domain.capture_order import ZOOKEEPER_CAPTURE_ORDER, order_fault
from pipelines.domain.errors import MalformedError, RefusedError
from pipelines.domain.snapshot import QUEUE_STORAGE_ZOOKEEPER, Peer, Snapshot, Step
from pipelines.domain.zookeeper.queued import unsettled
from pipelines.domain.zookeeper.tree import ReplicationTree, Znode, parse_tree
from pipelines.ports import Clock, ClusterSettings, FileSource, PeerSource, SnapshotSink, ZnodeSource
from pipelines.use_cases.capture import Captured, Patience, Sources, Subject, Timeline, capture, patiently
from pipelines.use_cases.capture_secrets import without_secrets

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ZooKeeperSources:
    """Where each part of such a snapshot is read."""

    files: FileSource
    znodes: ZnodeSource
    state: PeerSource


def capture_either(
    subject: Subject, sources: Sources | ZooKeeperSources, sink: SnapshotSink, *, clock: Clock, patience: Patience
) -> Captured:
    """Capture one cluster, wherever its queues are.

    Raises:
        WalsafeError: as `capture` and `capture_zookeeper`.
    """
    if isinstance(sources, ZooKeeperSources):
        return capture_zookeeper(subject, sources, sink, clock=clock, patience=patience)
    return capture(subject, sources, sink, clock=clock, patience=patience)


def capture_zookeeper(
    subject: Subject, sources: ZooKeeperSources, sink: SnapshotSink, *, clock: Clock, patience: Patience
) -> Captured:
    """Capture one cluster into a snapshot, in the order of `ZOOKEEPER_CAPTURE_ORDER`.

    While queues move, peers and queues are read again, `patience.quiet_attempts` times at most; the listing stays the
    first thing read. The last attempt counts, quiet or not; a restless one only holds more.

    Raises:
        RefusedError: the steps are out of order (a clock that was set back).
        UnavailableError: a source or the sink did not answer.
        UsageError: a source is not what the configuration says.
    """
    timeline = Timeline(clock, patience)
    settings = patiently("Settings", sources.state.settings, patience)
    files = timeline.take("files", sources.files, lambda: sink.files(sources.files.files()))
    listing = list(timeline.steps)
    for attempt in range(1, patience.quiet_attempts + 1):
        timeline.steps = list(listing)
        peers = timeline.take("peers", sources.state, sources.state.peers)
        readings = [
            timeline.take(step, sources.znodes, partial(_reading, sources.znodes, sink, step))
            for step in ("queues-1", "queues-2")
        ]
        restless = _restless(readings)
        if restless is None or attempt == patience.quiet_attempts:
            break
        logger.warning("Not quiet, attempt %d of %d: %s", attempt, patience.quiet_attempts, restless)
        patience.sleep_ms(patience.pause_ms)
    fault = order_fault(timeline.steps, ZOOKEEPER_CAPTURE_ORDER)
    if fault is not None:
        raise RefusedError(f"not the capture order: {fault}. Was the clock set back? Capture again")
    snapshot = _snapshot(
        subject, sources.state.clock_host(), settings, tuple(map(without_secrets, peers)), tuple(timeline.steps)
    )
    return Captured(sink.finish(snapshot), snapshot, files, len(readings[-1]), restless)


def _reading(source: ZnodeSource, sink: SnapshotSink, step: str) -> Sequence[Znode]:
    """One reading, kept: it must be whole before it is known whether it was quiet."""
    znodes = source.znodes(step)
    sink.znodes(f"{step}.jsonl", znodes)
    return znodes


def _restless(readings: Sequence[Sequence[Znode]]) -> str | None:
    trees: list[ReplicationTree] = []
    try:
        trees = [parse_tree(reading) for reading in readings]
    except MalformedError:
        return None  # no second look makes such a znode readable; reconcile names it
    return unsettled(trees)


def _snapshot(
    subject: Subject,
    clock_host: str | None,
    settings: ClusterSettings,
    peers: tuple[Peer, ...],
    steps: tuple[Step, ...],
) -> Snapshot:
    return Snapshot(
        cluster=subject.cluster,
        cluster_id=settings.cluster_id,
        hbase_version=settings.hbase_version,
        queue_storage=QUEUE_STORAGE_ZOOKEEPER,
        wal_root=subject.wal_root,
        clock_host=clock_host or subject.clock_host,
        steps=steps,
        contents={},
        peers=peers,
        membership=None,
        membership_2=None,
        flags=None,
        flags_2=None,
        retention=settings.retention,
        log_cleaner_plugins=settings.log_cleaner_plugins,
        backup=settings.backup,
        extras=(),
    )
