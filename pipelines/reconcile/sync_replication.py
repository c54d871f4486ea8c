"""Reads the data of synchronous replication; a cluster without it costs nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.common.instants import utc_day
from pipelines.hbase.wal_root import REMOTE_WALS
from pipelines.lake.run_summary import RunKey
from pipelines.reconcile.lake_history import LakeHistory
from pipelines.reconcile.past import PastNight
from pipelines.reconcile.peer_states import NONE, PastSyncState
from pipelines.reconcile.remote_wals import UNFINISHED_SUFFIX, RemoteDirectory
from pipelines.snapshot.model import Snapshot


def remote_by_cluster(files: DataFrame, clusters: Collection[str]) -> dict[str, list[RemoteDirectory]]:
    """Returns the directories below `remoteWALs/`, by cluster; runs a query only if `clusters` is not empty."""
    found: dict[str, list[RemoteDirectory]] = {}
    if clusters:
        listed = _directories(files.filter(files["cluster"].isin(sorted(clusters))))
        for row in listed.sort("cluster", "name").collect():
            values = row.asDict()
            found.setdefault(values.pop("cluster"), []).append(RemoteDirectory(**values))
    return found


def _directories(files: DataFrame) -> DataFrame:
    """Returns `cluster` and the columns of `RemoteDirectory`, one row for each directory; times in ms since the epoch.

    Args:
        files: listings; Parquet's statistics let Spark skip the row groups of `oldWALs/`.
    """
    below = files.filter(F.col("path").startswith(f"{REMOTE_WALS}/"))
    parts = F.split("path", "/")
    empty = F.col("length") == 0
    modified = F.unix_millis("modification_time")
    return below.groupBy("cluster", F.when(F.size(parts) > 2, parts[1]).otherwise(F.lit("")).alias("name")).agg(
        F.count(F.lit(1)).alias("files"),
        F.sum("length").alias("bytes"),
        F.count_if(empty).alias("empty_files"),
        F.count_if(F.col("path").endswith(UNFINISHED_SUFFIX)).alias("unfinished_files"),
        F.min(F.when(~empty, modified)).alias("oldest_modification"),
        F.max(modified).alias("newest_modification"),
    )


def states_before(
    snapshots: Sequence[Snapshot], past: Mapping[str, Sequence[PastNight]], lake: LakeHistory
) -> Mapping[str, Mapping[str, PastSyncState]]:
    """Returns the states of the night before, by cluster and peer; reads only clusters with a synchronous peer."""
    nights = {
        one.cluster: past[one.cluster][0]
        for one in snapshots
        if past.get(one.cluster)
        and any(peer.remote_wal_dir or peer.sync_replication_state not in (None, NONE) for peer in one.peers)
    }
    keys = [RunKey.of(cluster, night.run_id, night.files_started) for cluster, night in nights.items()]
    today = {one.cluster: utc_day(one.files_step.started_at) for one in snapshots}
    again = {key.cluster: key.run_date == today[key.cluster] for key in keys}  # a date is one night
    return {
        cluster: {peer: replace(row, nights=row.nights - again[cluster]) for peer, row in rows.items()}
        for cluster, rows in (lake.sync_states(keys) if keys else {}).items()
    }
