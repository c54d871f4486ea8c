"""Reads the listing of a snapshot for its queues (pending, pinned and missing WALs) and for their servers."""

from dataclasses import replace

from pyspark.sql import DataFrame

from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.spark import summary
from pipelines.decide.spark.decision_frames import decision_frames
from pipelines.decide.spark.verdicts import looked_up
from pipelines.hbase.server_names import ServerName
from pipelines.queues.audit.listed_rows import archived_of
from pipelines.queues.audit.observed_cluster import ListedEvidence
from pipelines.queues.audit.queue_storage import AuditedListing, AuditedQueues
from pipelines.reconcile.cluster_cases import ClusterCase
from pipelines.reconcile.holdings import pinned_rows, queue_offsets
from pipelines.snapshot.reader import SnapshotDirectories


def listed_evidence(
    snapshots: SnapshotDirectories, case: ClusterCase, settings: ReconcileSettings, queues: AuditedQueues
) -> ListedEvidence:
    """Reads the listing in a handful of passes; the driver receives only sums.

    Args:
        snapshots: reads the listing.
        case: a snapshot that passed the checks of reconcile.
        settings: from the configuration.
        queues: of the snapshot's storage.
    """
    view, table = case.believed
    files = snapshots.files([case.opened])
    totals = _totals(files, view, table, settings)
    offsets = queue_offsets(view, table, totals)
    states = {peer.peer_id: peer.state for peer in case.snapshot.peers}
    archived = _archived(files, view)
    return replace(
        queues.evidence(AuditedListing(files, view, table, totals, offsets)),
        offsets=offsets,
        pinned=pinned_rows(view, table, totals, states),
        archived_last={server: last for server, (_, _, last) in archived.items()},
        archived={server: (number, size) for server, (number, size, _) in archived.items()},
    )


def _totals(
    files: DataFrame, view: ClusterView, table: DecisionTable, settings: ReconcileSettings
) -> list[BucketTotal]:
    frames = decision_frames(files.sparkSession, [(view, table)])
    sums = summary.decision_totals(looked_up(files, frames), frames, settings.cleaner_interval_ms)
    return [total for total, _ in summary.collected(sums)]


def _archived(files: DataFrame, view: ClusterView) -> dict[ServerName, tuple[int, int, int]]:
    """Returns files, bytes and newest modification time (ms) below oldWALs, per queue owner that is not online."""
    owners = {row.queue.owner for row in view.rows} - view.online
    if not owners:
        return {}
    rows = archived_of(files, [str(server) for server in owners]).collect()
    return {ServerName.parse(row["own_server"]): (row["files"], row["bytes"] or 0, row["last"]) for row in rows}
