"""Reads the listing of a snapshot for its queues (pending, pinned and missing WALs) and for their servers."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from pipelines.common.errors import MalformedError
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.spark import summary, tables
from pipelines.decide.spark.decision_frames import decision_frames
from pipelines.decide.spark.verdicts import looked_up
from pipelines.hbase.server_names import ServerName
from pipelines.lake.run_summary import QueueOffsetRow
from pipelines.queues.audit.listed_rows import archived_of, live_directories
from pipelines.queues.audit.observe_cluster import Key, ListedEvidence, expected_wals, key_of, missing_candidates
from pipelines.reconcile.cluster_cases import ClusterCase
from pipelines.reconcile.holdings import pinned_rows, queue_offsets
from pipelines.snapshot.reader import SnapshotDirectories

_SPLITTING = "-splitting"


def listed_evidence(snapshots: SnapshotDirectories, case: ClusterCase, settings: ReconcileSettings) -> ListedEvidence:
    """Reads the listing in a handful of passes; the driver receives only sums.

    Args:
        snapshots: reads the listing.
        case: a snapshot that passed the checks of reconcile.
        settings: from the configuration.
    """
    view, table = case.believed
    files = snapshots.files([case.opened])
    totals = _totals(files, view, table, settings)
    offsets = queue_offsets(view, table, totals)
    states = {peer.peer_id: peer.state for peer in case.snapshot.peers}
    directories, splitting = _directories(files) if table.named is not None else ({}, frozenset())
    archived = _archived(files, view)
    return ListedEvidence(
        offsets=offsets,
        pinned=pinned_rows(view, table, totals, states),
        missing=_missing_in_zookeeper(files, view, table, totals)
        if table.named is not None
        else _missing(files, view, offsets),
        directories=directories,
        splitting=splitting,
        archived_last={server: last for server, (_, _, last) in archived.items()},
        archived={server: (number, size) for server, (number, size, _) in archived.items()},
    )


def _totals(
    files: DataFrame, view: ClusterView, table: DecisionTable, settings: ReconcileSettings
) -> list[BucketTotal]:
    frames = decision_frames(files.sparkSession, [(view, table)])
    sums = summary.decision_totals(looked_up(files, frames), frames, settings.cleaner_interval_ms)
    return [summary.as_bucket_total(row) for row in sums.toLocalIterator()]


def _there(files: DataFrame, cluster: str, names: Sequence[str]) -> set[str]:
    """Returns those of the WALs that the listing has in any directory."""
    if not names:
        return set()
    found = tables.offset_wals(files.sparkSession, files, [(cluster, name) for name in names])
    return {row["name"] for row in found.select("name").distinct().collect()}


def _missing(files: DataFrame, view: ClusterView, offsets: Sequence[QueueOffsetRow]) -> Mapping[Key, frozenset[str]]:
    expected = expected_wals(view, offsets)
    gone = set(expected) - _there(files, view.cluster, sorted(expected))
    return _by_queue({wal: expected[wal] for wal in gone})


def _missing_in_zookeeper(
    files: DataFrame, view: ClusterView, table: DecisionTable, totals: Sequence[BucketTotal]
) -> Mapping[Key, frozenset[str]]:
    if table.named is None:
        return {}
    counted: dict[int, int] = {}
    for total in totals:
        if total.bucket is not None:
            counted[total.bucket] = counted.get(total.bucket, 0) + total.files
    candidates = missing_candidates(view, {wal: name.bucket for wal, name in table.named.wals.items()}, counted)
    gone = set(candidates) - _there(files, view.cluster, candidates)
    return _by_queue({wal: {key_of(queue) for queue, _ in view.queued.queues_of[wal]} for wal in gone})


def _by_queue(queues_of: Mapping[str, set[Key]]) -> dict[Key, frozenset[str]]:
    found: dict[Key, set[str]] = {}
    for wal, queues in queues_of.items():
        for queue in queues:
            found.setdefault(queue, set()).add(wal)
    return {queue: frozenset(wals) for queue, wals in found.items()}


def _directories(files: DataFrame) -> tuple[dict[ServerName, int], frozenset[ServerName]]:
    """Returns the number of files per server below `WALs/`, and the servers whose WALs are being split."""
    found: dict[ServerName, int] = {}
    splitting = set()
    for row in live_directories(files).collect():
        try:
            server = ServerName.parse(row["directory"].removesuffix(_SPLITTING))
        except MalformedError:
            continue
        found[server] = found.get(server, 0) + row["files"]
        if row["directory"].endswith(_SPLITTING):
            splitting.add(server)
    return found, frozenset(splitting)


def _archived(files: DataFrame, view: ClusterView) -> dict[ServerName, tuple[int, int, int]]:
    """Returns files, bytes and newest modification time (ms) below oldWALs, per queue owner that is not online."""
    owners = {row.queue.owner for row in view.rows} - view.online
    if not owners:
        return {}
    rows = archived_of(files, [str(server) for server in owners]).collect()
    return {ServerName.parse(row["own_server"]): (row["files"], row["bytes"] or 0, row["last"]) for row in rows}
