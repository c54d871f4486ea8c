"""Reads earlier nights and earlier attempts from the lake, and this run's rows of `wal_verdicts`.

Queries filter on the partition column `run_date`, so cost does not grow with history; only `attempts` with a given
run_id reads all dates of `runs`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import date
from typing import NamedTuple, TypeVar

from delta import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType, TimestampType

from pipelines.common.instants import utc_day
from pipelines.common.spark.few_rows import for_few_rows
from pipelines.common.spark.local_frames import local_frame
from pipelines.lake.look_back import LOOK_BACK
from pipelines.lake.run_summary import DONE, FindingRow, PinnedRow, RunKey, VerdictTotal
from pipelines.reconcile.findings.history import REWOUND
from pipelines.reconcile.past import PastFinding, PastNight, PastOffset
from pipelines.reconcile.ports import RecordedRows, RunRow
from pipelines.reconcile.sync_states import PastSyncState
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.sync_peers import SYNC_PEERS
from schemas.table import Table
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS

_CLUSTER, _RUN_ID = StructField("cluster", StringType()), StructField("run_id", StringType())
_RUN = StructType([_CLUSTER, _RUN_ID])
_RANKED_RUN = StructType([_CLUSTER, _RUN_ID, StructField("rank", IntegerType())])
_NIGHT = StructType([_CLUSTER, StructField("this_night", LongType())])
_Value = TypeVar("_Value", VerdictTotal, PinnedRow, FindingRow)


class _DoneRun(NamedTuple):
    """A DONE run of an earlier night; the newest has rank 0."""

    started: int
    rank: int
    peer_ids: frozenset[str]


class LakeHistory:
    """What the Delta tables of one lake say of earlier runs."""

    def __init__(self, spark: SparkSession, lake_uri: str) -> None:
        self._spark, self._many_rows = for_few_rows(spark), spark
        self._lake = lake_uri.rstrip("/")

    def attempts(self, keys: Collection[RunKey], *, given: bool) -> Mapping[tuple[str, str], Sequence[RunRow]]:
        """Returns the earlier rows of `runs` of each (cluster, run_id), oldest first.

        Args:
            keys: the runs.
            given: a person chose the run_id, so it may have been used on any date; the default run_id contains its
                date.
        """
        days = sorted({key.run_date for key in keys})
        if not keys:
            return {}
        pairs = [(key.cluster, key.run_id) for key in keys]
        wanted, runs = local_frame(self._spark, pairs, _RUN), self._table(RUNS)
        rows = (
            (runs if given else runs.filter(F.col("run_date").isin(days)))
            .join(F.broadcast(wanted), ["cluster", "run_id"])
            .select("cluster", "run_id", "status", "snapshot_sha256", "exit_code", "at")
            .orderBy("at")
            .collect()
        )
        found: dict[tuple[str, str], list[RunRow]] = {}
        for row in rows:
            attempt = RunRow(row["status"], row["snapshot_sha256"], row["exit_code"])
            found.setdefault((row["cluster"], row["run_id"]), []).append(attempt)
        return found

    def before(self, started: Mapping[str, int], nights: int) -> Mapping[str, Sequence[PastNight]]:
        """Returns the last DONE runs of each cluster before an instant, newest first.

        Args:
            started: start of step `files` of this night by cluster, ms since the epoch.
            nights: how many nights to look back.
        """
        if not started:
            return {}
        runs = self._done_runs(started, nights)
        if not runs:
            return {}
        wanted = local_frame(
            self._spark, [(cluster, run_id, one.rank) for (cluster, run_id), one in runs.items()], _RANKED_RUN
        )
        first_day = min(utc_day(one.started) for one in runs.values())
        offsets = self._offsets(wanted, first_day)
        held = self._held(wanted, first_day)
        found = self._findings(wanted, first_day)
        past: dict[str, list[PastNight]] = {}
        for key, one in sorted(runs.items(), key=lambda item: item[1].rank):
            cluster, run_id = key
            past.setdefault(cluster, []).append(
                PastNight(
                    run_id, one.started, offsets.get(key, {}), held.get(key, {}), found.get(key, {}), one.peer_ids
                )
            )
        return past

    def sync_states(self, keys: Collection[RunKey]) -> Mapping[str, Mapping[str, PastSyncState]]:
        """Returns the recorded states of synchronous peers by cluster and peer; empty if the lake has no such table."""
        if not keys or not DeltaTable.isDeltaTable(self._spark, f"{self._lake}/{SYNC_PEERS.name}"):
            return {}
        wanted = local_frame(self._spark, [(key.cluster, key.run_id) for key in keys], _RUN)
        rows = (
            self._table(SYNC_PEERS)
            .filter(F.col("run_date").isin(sorted({key.run_date for key in keys})))
            .join(F.broadcast(wanted), ["cluster", "run_id"])
            .select("cluster", "peer_id", "sync_state", F.unix_millis("since").alias("since"), "nights")
            .collect()
        )
        found: dict[str, dict[str, PastSyncState]] = {}
        for row in rows:
            state = PastSyncState(row["sync_state"], row["since"], row["nights"])
            found.setdefault(row["cluster"], {})[row["peer_id"]] = state
        return found

    def recorded(self, keys: Collection[RunKey]) -> Mapping[str, RecordedRows]:
        """Returns the small tables' rows of DONE runs, by cluster."""
        if not keys:
            return {}
        totals = self._rows(VERDICT_TOTALS, keys, VerdictTotal)
        pinned = self._rows(PINNED_BYTES, keys, PinnedRow)
        found = self._rows(FINDINGS, keys, FindingRow)
        return {
            key.cluster: RecordedRows(
                tuple(totals.get(key.cluster, ())),
                tuple(pinned.get(key.cluster, ())),
                tuple(found.get(key.cluster, ())),
            )
            for key in keys
        }

    def _rows(self, table: Table, keys: Collection[RunKey], kind: type[_Value]) -> Mapping[str, list[_Value]]:
        """Returns the rows of these runs as values whose fields are the table's columns; instants in ms."""
        names = [one.name for one in fields(kind)]
        instants = [one.name for one in table.schema if isinstance(one.dataType, TimestampType)]
        wanted = local_frame(self._spark, [(key.cluster, key.run_id) for key in keys], _RUN)
        days = sorted({key.run_date for key in keys})
        frame = self._table(table).filter(F.col("run_date").isin(days)).join(F.broadcast(wanted), ["cluster", "run_id"])
        found: dict[str, list[_Value]] = {}
        for row in frame.withColumns({name: F.unix_millis(name) for name in instants}).collect():
            found.setdefault(row["cluster"], []).append(kind(**{name: row[name] for name in names}))
        return found

    def verdicts(self, keys: Collection[RunKey]) -> DataFrame:
        """Returns these runs' rows of `wal_verdicts`, which are many."""
        days = sorted({key.run_date for key in keys})
        rows = self._table(WAL_VERDICTS, self._many_rows).filter(F.col("run_date").isin(days))
        if len(keys) == 1:  # with literals Delta skips the files of other runs
            (key,) = keys
            return rows.filter((F.col("cluster") == key.cluster) & (F.col("run_id") == key.run_id))
        wanted = local_frame(self._many_rows, [(key.cluster, key.run_id) for key in keys], _RUN)
        return rows.join(F.broadcast(wanted), ["cluster", "run_id"])

    def _done_runs(self, started: Mapping[str, int], nights: int) -> Mapping[tuple[str, str], _DoneRun]:
        first = utc_day(min(started.values())) - LOOK_BACK
        now = local_frame(self._spark, list(started.items()), _NIGHT)
        rows = (
            self._table(RUNS)
            .filter((F.col("run_date") >= F.lit(first)) & (F.col("status") == DONE))
            .join(F.broadcast(now), "cluster")
            .withColumn("started", F.unix_millis("files_started_at"))
            .filter("started < this_night")
            .select("cluster", "run_id", "started", "peer_ids")
            .distinct()
            .collect()
        )
        by_cluster: dict[str, dict[tuple[int, str], frozenset[str]]] = {}
        for row in rows:
            known = by_cluster.setdefault(row["cluster"], {})
            key = (row["started"], row["run_id"])
            known[key] = known.get(key, frozenset()) | frozenset(row["peer_ids"] or ())
        return {
            (cluster, run_id): _DoneRun(instant, rank, runs[instant, run_id])
            for cluster, runs in by_cluster.items()
            for rank, (instant, run_id) in enumerate(sorted(runs, reverse=True)[:nights])
        }

    def _offsets(
        self, wanted: DataFrame, first_day: date
    ) -> Mapping[tuple[str, str], Mapping[tuple[str, str, str], PastOffset]]:
        smallest = F.struct("need_timestamp", "wal", "offset")
        rows = (
            self._of(QUEUE_OFFSETS, wanted, first_day)
            .filter("wal_group IS NOT NULL")
            .groupBy("cluster", "run_id", "peer_id", "source", "wal_group")
            .agg(F.min(smallest).alias("smallest"), F.sum("pending_files").alias("pending_files"))
            .collect()
        )
        found: dict[tuple[str, str], dict[tuple[str, str, str], PastOffset]] = {}
        for row in rows:
            need, wal, offset = row["smallest"]
            found.setdefault((row["cluster"], row["run_id"]), {})[(row["peer_id"], row["source"], row["wal_group"])] = (
                PastOffset(need, wal, offset, row["pending_files"])
            )
        return found

    def _held(self, wanted: DataFrame, first_day: date) -> Mapping[tuple[str, str], Mapping[str, int]]:
        rows = self._of(PINNED_BYTES, wanted, first_day).filter("level = 'peer'").collect()
        found: dict[tuple[str, str], dict[str, int]] = {}
        for row in rows:
            held = row["exclusive_bytes"] + row["joint_bytes"]
            found.setdefault((row["cluster"], row["run_id"]), {})[row["peer_id"]] = held
        return found

    def _findings(self, wanted: DataFrame, first_day: date) -> Mapping[tuple[str, str], Mapping[str, PastFinding]]:
        rows = (
            self._of(FINDINGS, wanted.filter("rank = 0"), first_day)
            .select(
                "cluster",
                "run_id",
                "key",
                F.unix_millis("first_seen").alias("first_seen"),
                "nights",
                F.when(F.col("code") == REWOUND, F.col("evidence")).alias("evidence"),
            )
            .collect()
        )
        found: dict[tuple[str, str], dict[str, PastFinding]] = {}
        for row in rows:
            found.setdefault((row["cluster"], row["run_id"]), {})[row["key"]] = PastFinding(
                row["first_seen"], row["nights"], row["evidence"]
            )
        return found

    def _of(self, table: Table, wanted: DataFrame, first_day: date) -> DataFrame:
        recent = self._table(table).filter(F.col("run_date") >= F.lit(first_day))
        return recent.join(F.broadcast(wanted), ["cluster", "run_id"])

    def _table(self, table: Table, spark: SparkSession | None = None) -> DataFrame:
        return (spark or self._spark).read.format("delta").load(f"{self._lake}/{table.name}")
