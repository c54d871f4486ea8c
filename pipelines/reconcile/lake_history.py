"""Reads earlier nights and earlier attempts from the lake, and this run's rows of `wal_verdicts`.

Queries filter on the partition column `run_date`, so cost does not grow with history; only `attempts` with a given
run_id reads all dates of `runs`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import NamedTuple, TypeVar

from delta import DeltaTable
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from pipelines.common.instants import utc_day
from pipelines.common.spark.few_rows import for_few_rows
from pipelines.common.spark.local_frames import local_frame
from pipelines.lake.look_back import LOOK_BACK
from pipelines.lake.run_rows import rows_of
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

_RUN = StructType([StructField("cluster", StringType()), StructField("run_id", StringType())])
_IDENTITY = ("cluster", "run_id", "run_date")
_Value = TypeVar("_Value", VerdictTotal, PinnedRow, FindingRow)


class _DoneRun(NamedTuple):
    """A DONE run of an earlier night."""

    key: RunKey
    started: int
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
        if not keys:
            return {}
        rows = self._table(RUNS).filter(F.col("run_id").isin(sorted({key.run_id for key in keys})))
        if not given:
            rows = rows.filter(F.col("run_date").isin(sorted({key.run_date for key in keys})))
        columns = ("cluster", "run_id", "status", "snapshot_sha256", "exit_code", "at")
        found: dict[tuple[str, str], list[RunRow]] = {}
        for row in sorted(rows.select(*columns).collect(), key=lambda row: row["at"]):
            attempt = RunRow(row["status"], row["snapshot_sha256"], row["exit_code"])
            found.setdefault((row["cluster"], row["run_id"]), []).append(attempt)
        return found

    def before(self, started: Mapping[str, int], nights: int) -> Mapping[str, Sequence[PastNight]]:
        """Returns the last DONE runs of each cluster before an instant, newest first.

        Args:
            started: start of step `files` of this night by cluster, ms since the epoch.
            nights: how many nights to look back.
        """
        runs = self._done_runs(started, nights) if started else {}
        keys = [one.key for own in runs.values() for one in own]
        if not keys:
            return {}
        offsets, held = self._offsets(keys), self._held(keys)
        found = self._findings([own[0].key for own in runs.values()])
        return {
            cluster: [
                PastNight(
                    one.key.run_id,
                    one.started,
                    offsets.get(one.key, {}),
                    held.get(one.key, {}),
                    found.get(one.key, {}),
                    one.peer_ids,
                )
                for one in own
            ]
            for cluster, own in runs.items()
        }

    def sync_states(self, keys: Collection[RunKey]) -> Mapping[str, Mapping[str, PastSyncState]]:
        """Returns the recorded states of synchronous peers by cluster and peer; empty if the lake has no such table."""
        if not keys or not DeltaTable.isDeltaTable(self._spark, f"{self._lake}/{SYNC_PEERS.name}"):
            return {}
        since = F.unix_millis("since").alias("since")
        rows = self._of(SYNC_PEERS, keys).select("cluster", "peer_id", "sync_state", since, "nights").collect()
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
        found: dict[str, list[_Value]] = {}
        for row in self._of(table, keys).withColumns({name: F.unix_millis(name) for name in instants}).collect():
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

    def _done_runs(self, started: Mapping[str, int], nights: int) -> Mapping[str, Sequence[_DoneRun]]:
        first = utc_day(min(started.values())) - LOOK_BACK
        rows = (
            self._table(RUNS)
            .filter((F.col("run_date") >= F.lit(first)) & (F.col("status") == DONE))
            .select("cluster", "run_id", F.unix_millis("files_started_at").alias("started"), "peer_ids")
            .collect()
        )
        found: dict[str, dict[tuple[int, str], frozenset[str]]] = {}
        for row in rows:
            if row["cluster"] in started and row["started"] < started[row["cluster"]]:
                runs = found.setdefault(row["cluster"], {})
                night = (row["started"], row["run_id"])
                runs[night] = runs.get(night, frozenset()) | frozenset(row["peer_ids"] or ())
        return {
            cluster: [
                _DoneRun(RunKey.of(cluster, run_id, instant), instant, runs[instant, run_id])
                for instant, run_id in sorted(runs, reverse=True)[:nights]
            ]
            for cluster, runs in found.items()
        }

    def _offsets(self, keys: Collection[RunKey]) -> Mapping[RunKey, Mapping[tuple[str, str, str], PastOffset]]:
        columns = ("peer_id", "source", "wal_group", "need_timestamp", "wal", "offset", "pending_files")
        rows = self._of(QUEUE_OFFSETS, keys).filter("wal_group IS NOT NULL").select(*_IDENTITY, *columns).collect()
        found: dict[RunKey, dict[tuple[str, str, str], PastOffset]] = {}
        for row in rows:
            group = (row["peer_id"], row["source"], row["wal_group"])
            offset = PastOffset(row["need_timestamp"], row["wal"], row["offset"], row["pending_files"])
            groups = found.setdefault(_key(row), {})
            groups[group] = _smaller(groups[group], offset) if group in groups else offset
        return found

    def _held(self, keys: Collection[RunKey]) -> Mapping[RunKey, Mapping[str, int]]:
        columns = ("peer_id", "exclusive_bytes", "joint_bytes")
        rows = self._of(PINNED_BYTES, keys).filter("level = 'peer'").select(*_IDENTITY, *columns).collect()
        found: dict[RunKey, dict[str, int]] = {}
        for row in rows:
            found.setdefault(_key(row), {})[row["peer_id"]] = row["exclusive_bytes"] + row["joint_bytes"]
        return found

    def _findings(self, keys: Collection[RunKey]) -> Mapping[RunKey, Mapping[str, PastFinding]]:
        first_seen = F.unix_millis("first_seen").alias("first_seen")
        evidence = F.when(F.col("code") == REWOUND, F.col("evidence")).alias("evidence")
        rows = self._of(FINDINGS, keys).select(*_IDENTITY, "key", first_seen, "nights", evidence).collect()
        found: dict[RunKey, dict[str, PastFinding]] = {}
        for row in rows:
            seen = PastFinding(row["first_seen"], row["nights"], row["evidence"])
            found.setdefault(_key(row), {})[row["key"]] = seen
        return found

    def _of(self, table: Table, keys: Collection[RunKey]) -> DataFrame:
        return self._table(table).filter(rows_of(keys))

    def _table(self, table: Table, spark: SparkSession | None = None) -> DataFrame:
        return (spark or self._spark).read.format("delta").load(f"{self._lake}/{table.name}")


def _key(row: Row) -> RunKey:
    return RunKey(row["cluster"], row["run_id"], row["run_date"])


def _smaller(one: PastOffset, other: PastOffset) -> PastOffset:
    """Returns the smaller need of two queue rows of one group, with the pending files of both."""
    smaller = min(one, other, key=lambda row: [(value is not None, value) for value in (row.need, row.wal, row.offset)])
    return replace(smaller, pending_files=one.pending_files + other.pending_files)
