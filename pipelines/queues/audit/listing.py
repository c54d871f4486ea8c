"""Reads the listing of a snapshot for its queues (pending, pinned and missing WALs) and for their servers."""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.common.spark.columns import in_turn
from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.spark import summary
from pipelines.decide.spark.decision_frames import decision_frames
from pipelines.decide.spark.verdicts import looked_up
from pipelines.decide.spark.wal_names import ARCHIVE, WAL_NAME_REGEX, ascii_lower, is_meta_wal, name, own_server
from pipelines.hbase.server_names import ServerName
from pipelines.queues.audit.observed_cluster import ListedEvidence
from pipelines.queues.audit.queue_storage import AuditedListing, AuditedQueues
from pipelines.reconcile.cluster_cases import ClusterCase
from pipelines.reconcile.holdings import pinned_rows, queue_offsets
from pipelines.snapshot.reader import SnapshotDirectories

_SERVERS = StructType([StructField("own_server", StringType())])


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
    return ListedEvidence(
        offsets=offsets,
        pinned=pinned_rows(view, table, totals, states),
        missing=queues.missing(AuditedListing(files, view, table, totals, offsets)),
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
    rows = _archived_of(files, [str(server) for server in owners]).collect()
    return {ServerName.parse(row["own_server"]): (row["files"], row["bytes"] or 0, row["last"]) for row in rows}


def _archived_of(files: DataFrame, servers: Collection[str]) -> DataFrame:
    """Counts the WALs below oldWALs of the given servers, without those of `hbase:meta` and `hbase:replication`.

    Args:
        files: of one listing.
        servers: `host,port,startcode`, host in lower case.

    Returns:
        `own_server`, `files`, `bytes`, `last` (newest modification time, ms since the epoch).
    """
    # encoded as in the file name, in lower case (`is_replication_table_group`): a host has no other character to encode
    own_groups = ascii_lower(F.regexp_replace(F.regexp_replace("own_server", ",", "%2c"), ":", "%3a"))
    group = ascii_lower(F.col("wal_group"))
    of_table = (group == F.concat(own_groups, F.lit(".rep"))) | group.startswith(
        F.concat_ws(".", own_groups, own_groups, F.lit("rep."))
    )
    wals = (
        files.filter(F.col("path").startswith(ARCHIVE) & ~is_meta_wal())
        .withColumn("wal_group", F.nullif(F.regexp_extract(name(), WAL_NAME_REGEX, 1), F.lit("")))
        .filter(F.col("wal_group").isNotNull())
    )
    wanted = local_frame(files.sparkSession, [(server,) for server in sorted(servers)], _SERVERS)
    return (
        wals.select("*", *in_turn(own_server(F.lit(True))))
        .join(F.broadcast(wanted), "own_server", "left_semi")
        .filter(~of_table)
        .groupBy("own_server")
        .agg(
            F.count(F.lit(1)).alias("files"),
            F.sum("length").alias("bytes"),
            F.max(F.unix_millis("modification_time")).alias("last"),
        )
    )
