"""Reads earlier nights and earlier attempts from the lake, and this run's rows of `wal_verdicts`.

Queries filter on the partition column `run_date`, so cost does not grow with history; only `attempts` with a given
run_id reads all dates of `runs`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.common.instants import utc_day
from pipelines.common.spark.local_frames import local_frame
from pipelines.lake.look_back import LOOK_BACK, of_last_nights
from pipelines.lake.query import day_literal, rows_of, texts
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import (
    DONE,
    PastNeed,
    PinnedRow,
    QueueGroup,
    RunKey,
    VerdictTotal,
    queue_group,
    smallest_needs,
)
from pipelines.reconcile.past import PastFinding, PastNight, PastOffset, PastPeer
from pipelines.reconcile.peer_states import PastSyncState
from pipelines.reconcile.rows import SmallTableRows
from schemas.findings import FINDINGS
from schemas.peers import PEERS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.sync_peers import SYNC_PEERS
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS

_RUN = StructType([StructField("cluster", StringType()), StructField("run_id", StringType())])
_Past = TypeVar("_Past", PastFinding, PastPeer)


@dataclass(frozen=True, slots=True)
class RunRow:
    """The columns of `runs` that tell of an attempt; `at` in ms since the epoch."""

    status: str
    snapshot_sha256: str | None
    exit_code: int | None
    at: int


@dataclass(frozen=True, slots=True)
class _DoneRow:
    """The columns of a DONE row of `runs` that an earlier night needs."""

    files_started_at: int | None
    peer_ids: Sequence[str] | None
    files: int | None


@dataclass(frozen=True, slots=True)
class VerdictOfFile:
    """The columns of `wal_verdicts` that the next night compares; bytes."""

    path: str
    verdict: str
    reason: str
    length: int | None


class LakeHistory:
    """What the Delta tables of one lake say of earlier runs."""

    def __init__(self, spark: SparkSession, lake_uri: str) -> None:
        self._spark = spark
        self._reader = LakeReader.of(spark, lake_uri)
        self._verdicts_uri = f"{lake_uri.rstrip('/')}/{WAL_VERDICTS.name}"

    def attempts(self, keys: Collection[RunKey], *, given: bool) -> Mapping[tuple[str, str], Sequence[RunRow]]:
        """Returns the earlier rows of `runs` of each (cluster, run_id), oldest first.

        Args:
            keys: the runs.
            given: a person chose the run_id, so it may have been used on any date; the default run_id contains its
                date.
        """
        if not keys:
            return {}
        wanted = {(key.cluster, key.run_id) for key in keys}
        of_any_date = f"run_id IN ({texts({key.run_id for key in keys})})"
        rows = self._reader.values(RUNS, RunRow, of_any_date if given else rows_of(keys))
        found: dict[tuple[str, str], list[RunRow]] = {}
        for key, row in sorted(rows, key=lambda one: one[1].at):
            if (key.cluster, key.run_id) in wanted:
                found.setdefault((key.cluster, key.run_id), []).append(row)
        return found

    def before(self, started: Mapping[str, int], nights: int) -> Mapping[str, Sequence[PastNight]]:
        """Returns the DONE runs of each cluster of the last nights before an instant, newest first.

        A date is one night: an earlier run of the instant's own date comes on top, and what the newest earlier run
        counts in nights does not count this date.

        Args:
            started: start of step `files` of this night by cluster, ms since the epoch.
            nights: how many nights to look back.
        """
        if not started or nights <= 0:
            return {}
        runs = self._done_runs(started, nights)
        keys = [key for of_cluster in runs.values() for key, *_ in of_cluster]
        newest = [of_cluster[0][0] for of_cluster in runs.values()]
        queues = self._reader.by_run(QUEUE_OFFSETS, keys, PastNeed, "wal_group IS NOT NULL")
        pinned = self._reader.by_run(PINNED_BYTES, keys, PinnedRow, "level = 'peer'")
        found = self._reader.by_run(FINDINGS, newest, PastFinding)
        peers = self._reader.by_run(PEERS, newest, PastPeer)
        today = {cluster: utc_day(at) for cluster, at in started.items()}
        return {
            cluster: [
                PastNight(
                    key.run_id,
                    started_at,
                    past_offsets(queues.get(key, ())),
                    {row.peer_id: row.bytes for row in pinned.get(key, ())},
                    {row.key: _before(row, again=key.run_date == today[cluster]) for row in found.get(key, ())},
                    peers_seen,
                    files,
                    {row.peer_id: _before(row, again=key.run_date == today[cluster]) for row in peers.get(key, ())},
                )
                for key, started_at, peers_seen, files in of_cluster
            ]
            for cluster, of_cluster in runs.items()
        }

    def sync_states(self, keys: Collection[RunKey]) -> Mapping[str, Mapping[str, PastSyncState]]:
        """Returns the recorded states of synchronous peers by cluster and peer; empty if the lake has no such table."""
        if not keys or not self._reader.has(SYNC_PEERS):
            return {}
        return {
            key.cluster: {row.peer_id: row for row in rows}
            for key, rows in self._reader.by_run(SYNC_PEERS, keys, PastSyncState).items()
        }

    def recorded(self, keys: Collection[RunKey]) -> Mapping[str, SmallTableRows]:
        """Returns the rows of DONE runs that their summary shows, by cluster."""
        totals = self._reader.by_run(VERDICT_TOTALS, keys, VerdictTotal)
        pinned, found = self._reader.pinned(keys), self._reader.findings(keys)
        return {
            key.cluster: SmallTableRows(
                totals=tuple(totals.get(key, ())),
                pinned=pinned.get(key.cluster, ()),
                findings=found.get(key.cluster, ()),
            )
            for key in keys
        }

    def verdicts_of_files(self, keys: Collection[RunKey]) -> Iterator[tuple[str, VerdictOfFile]]:
        """Yields cluster and verdict of every file of these runs, which must be few."""
        for key, row in self._reader.values(WAL_VERDICTS, VerdictOfFile, rows_of(keys)):
            yield key.cluster, row

    def verdicts(self, keys: Collection[RunKey]) -> DataFrame:
        """Returns these runs' rows of `wal_verdicts`, which are many."""
        days = sorted({key.run_date for key in keys})
        there = self._spark.read.format("delta").load(self._verdicts_uri)
        rows = there.filter(F.col("run_date").isin(days))
        if len(keys) == 1:  # with literals Delta skips the files of other runs
            (key,) = keys
            return rows.filter((F.col("cluster") == key.cluster) & (F.col("run_id") == key.run_id))
        wanted = local_frame(self._spark, [(key.cluster, key.run_id) for key in keys], _RUN)
        return rows.join(F.broadcast(wanted), ["cluster", "run_id"])

    def _done_runs(
        self, started: Mapping[str, int], nights: int
    ) -> Mapping[str, Sequence[tuple[RunKey, int, frozenset[str], int]]]:
        """Returns the DONE runs of each cluster before its instant, newest first: key, start, peers, files.

        The peers are those of all nights that the lake is read back, not of these runs alone.
        """
        first = utc_day(min(started.values())) - LOOK_BACK
        recent = f"run_date >= {day_literal(first)} AND status = '{DONE}'"
        by_cluster: dict[str, dict[tuple[int, RunKey], int]] = {}
        peers_seen: dict[str, frozenset[str]] = {}
        for key, row in self._reader.values(RUNS, _DoneRow, recent):
            at = row.files_started_at
            if at is not None and key.cluster in started and at < started[key.cluster]:
                known = by_cluster.setdefault(key.cluster, {})
                known[at, key] = max(known.get((at, key), 0), row.files or 0)
                peers_seen[key.cluster] = peers_seen.get(key.cluster, frozenset()) | frozenset(row.peer_ids or ())
        return {
            cluster: [
                (key, at, peers_seen[cluster], runs[at, key])
                for at, key in of_last_nights(
                    sorted(runs, reverse=True), lambda run: run[1].run_date, utc_day(started[cluster]), nights
                )
            ]
            for cluster, runs in by_cluster.items()
        }


def _before(row: _Past, *, again: bool) -> _Past:
    return replace(row, nights=row.nights - again)


def past_offsets(rows: Collection[PastNeed]) -> Mapping[QueueGroup, PastOffset]:
    """Returns the smallest need of each group over its queue rows, and all their files."""
    pending: Counter[QueueGroup] = Counter()
    for row in rows:
        pending[queue_group(row)] += row.pending_files
    return {
        group: PastOffset(least.need_timestamp or 0, least.wal, least.offset, pending[group])
        for group, least in smallest_needs(rows).items()
    }
