"""Reads walsafe's tables back. Every query names partitions, so its cost does not grow with the lake's history."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.parse import urlsplit

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from pipelines.common.instants import utc_day
from pipelines.common.spark.few_rows import for_few_rows
from pipelines.lake.lake_errors import lake_errors
from pipelines.lake.lake_records import Blocker, FileVerdict, QueueNight, QueueNights, RunRecord
from pipelines.lake.look_back import LOOK_BACK
from pipelines.lake.run_summary import (
    DONE,
    TERMINAL,
    EarlierNights,
    FindingRow,
    NightTotal,
    PinnedRow,
    QueueOffsetRow,
    RunKey,
    VerdictTotal,
)
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.table import Table
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS

_V = TypeVar("_V")
_Group = tuple[str, str, str]


class LakeReader:
    """Reads the tables below one lake folder.

    Every method raises `UsageError` or `UnavailableError` with the path if the lake cannot be read. Columns that an
    older walsafe did not write are NULL.
    """

    def __init__(self, spark: SparkSession, lake_uri: str) -> None:
        self._spark = spark
        self._few_rows = for_few_rows(spark)
        self.lake_uri = lake_uri.rstrip("/")

    def newest_runs(self, cluster: str | None) -> tuple[RunRecord, ...]:
        """See `FindingReader.newest_runs`; it looks back `LOOK_BACK` from the lake's last run."""
        mine = F.lit(True) if cluster is None else F.col("cluster") == cluster
        frame = self._table(RUNS)
        # a run of a host whose clock was ahead has a date in the future
        day = F.least("run_date", F.to_date("at"))
        last = self._collect(RUNS, frame.where(mine).agg(F.max(day)))[0][0]
        return self._runs(mine & (F.col("run_date") > last - LOOK_BACK)) if last else ()

    def histories(self, before: Mapping[str, int], nights: int) -> Mapping[str, EarlierNights]:
        """Returns totals of the last DONE runs of each cluster before an instant (ms), oldest first."""
        earlier = self._earlier(before, nights)
        keys = [run.key for runs in earlier.values() for run in runs]
        with ThreadPoolExecutor(1) as beside:  # a query over few rows is mostly planning, on one core
            of_peers = beside.submit(self._by_run, PINNED_BYTES, keys, _pinned, F.col("level") == "peer")
            totals = self._by_run(VERDICT_TOTALS, keys, _total)
            pinned = of_peers.result()
        return {
            cluster: EarlierNights(
                by_reason=tuple(
                    NightTotal(run.night, run.run_id, f"{row.verdict} {row.reason}", row.files, row.bytes)
                    for run in reversed(runs)
                    for row in totals.get(run.key, ())
                ),
                by_peer=tuple(
                    NightTotal(run.night, run.run_id, row.peer_id, row.files, row.bytes)
                    for run in reversed(runs)
                    for row in pinned.get(run.key, ())
                ),
            )
            for cluster, runs in earlier.items()
        }

    def queue_nights(self, cluster: str, before: int, nights: int) -> QueueNights:
        """Returns the queues of a cluster on its last DONE runs before an instant (ms), newest first."""
        runs = self._earlier({cluster: before}, nights)[cluster]
        queues = self._by_run(QUEUE_OFFSETS, [run.key for run in runs], _queue)
        story: dict[tuple[str, str, str], list[QueueNight]] = defaultdict(list)
        for run in runs:
            for group, night in _smallest(queues.get(run.key, ()), run.night).items():
                story[group].append(night)
        return {group: tuple(found) for group, found in story.items()}

    def pinned(self, runs: Collection[RunKey]) -> Mapping[str, tuple[PinnedRow, ...]]:
        """Returns rows of `pinned_bytes` by cluster."""
        return {key.cluster: tuple(rows) for key, rows in self._by_run(PINNED_BYTES, runs, _pinned).items()}

    def findings(self, runs: Collection[RunKey]) -> Mapping[str, tuple[FindingRow, ...]]:
        """See `FindingReader.findings`."""
        found = self._by_run(FINDINGS, runs, _finding)
        return {key.cluster: tuple(sorted(rows, key=lambda row: row.key)) for key, rows in found.items()}

    def queues(self, runs: Collection[RunKey]) -> Mapping[str, tuple[QueueOffsetRow, ...]]:
        """Returns rows of `queue_offsets` by cluster."""
        return {key.cluster: tuple(rows) for key, rows in self._by_run(QUEUE_OFFSETS, runs, _queue).items()}

    def files(self, runs: Collection[RunKey], paths: Sequence[str], limit: int) -> tuple[FileVerdict, ...]:
        """Returns the files of these runs that match a path: both are equal, or one ends with `/` and the other.

        It reads the path column of these nights once, for any number of paths.
        """
        meant = F.lit(False)
        for path in paths:
            plain = urlsplit(path).path if "://" in path else path
            meant = meant | (F.col("path") == plain) | F.lit(plain).endswith(F.concat(F.lit("/"), F.col("path")))
            meant = meant | F.col("path").endswith(f"/{plain.lstrip('/')}")
        return self._verdicts(self._table(WAL_VERDICTS).where(_of(runs) & meant).orderBy("cluster", "path"), limit)

    def waiting(self, run: RunKey, peer_id: str, limit: int) -> tuple[FileVerdict, ...]:
        """Returns the first `limit` files that a peer still needs, by timestamp, then path."""
        needed = F.exists("blocking", lambda one: one["peer_id"] == peer_id)
        frame = self._table(WAL_VERDICTS).where(_of([run]) & needed).orderBy("wal_timestamp", "path")
        return self._verdicts(frame, limit)

    def servers(self, runs: Collection[RunKey], name: str, limit: int) -> tuple[tuple[str, str], ...]:
        """Returns (cluster, server) pairs whose server is `name`, or begins with `name` and a comma.

        It searches the queues first, and the files only if no queue names the server.
        """
        wanted = name.lower()
        found: list[Row] = []
        for table, columns in ((QUEUE_OFFSETS, ("source", "owner")), (WAL_VERDICTS, ("server",))):
            for column in columns:
                server = F.lower(column)
                mine = _of(runs) & ((server == wanted) | server.startswith(f"{wanted},"))
                names = self._table(table).where(mine).select("cluster", F.col(column).alias("server")).distinct()
                found += self._collect(table, names.limit(limit))
            if found:
                break
        return tuple(sorted({(row["cluster"], row["server"]) for row in found}))

    def server_totals(self, run: RunKey, server: str) -> tuple[VerdictTotal, ...]:
        """Returns files and bytes of one server by verdict and reason."""
        frame = self._table(WAL_VERDICTS).where(_of([run]) & (F.lower("server") == server.lower()))
        sums = frame.groupBy("verdict", "reason", "hbase_verdict").agg(
            F.count(F.lit(1)).alias("files"), F.sum("length").alias("bytes")
        )
        rows = self._collect(WAL_VERDICTS, sums.withColumn("oldest_modification_age_ms", F.lit(None).cast("bigint")))
        return tuple(sorted((_total(row) for row in rows), key=lambda total: (-total.bytes, total.reason)))

    def _verdicts(self, frame: DataFrame, limit: int) -> tuple[FileVerdict, ...]:
        columns = [name for name in FileVerdict.__slots__ if name != "modification_time"]
        rows = self._collect(WAL_VERDICTS, frame.select(*columns, _millis("modification_time")).limit(limit))
        return tuple(
            FileVerdict(**row.asDict() | {"blocking": tuple(_blocker(one) for one in row["blocking"] or ())})
            for row in rows
        )

    def _earlier(self, before: Mapping[str, int], nights: int) -> Mapping[str, tuple[RunRecord, ...]]:
        """Returns the last DONE runs of each cluster before its instant, newest first, one per night."""
        if not before or nights <= 0:
            return dict.fromkeys(before, ())
        first, last = utc_day(min(before.values())) - LOOK_BACK, utc_day(max(before.values()))
        recent = F.col("run_date").between(first, last)
        if len(before) <= 100:  # a long list costs more than reading the few rows of the other clusters
            recent = recent & F.col("cluster").isin(list(before))
        found: dict[str, dict[int, RunRecord]] = {cluster: {} for cluster in before}
        for run in self._runs(recent & (F.col("status") == DONE)):
            if run.cluster in before and run.night < before[run.cluster] and len(found[run.cluster]) < nights:
                found[run.cluster].setdefault(run.night, run)
        return {cluster: tuple(runs.values()) for cluster, runs in found.items()}

    def _runs(self, condition: Column) -> tuple[RunRecord, ...]:
        """Returns the last terminal row of each run of each cluster, newest night first."""
        instants = ("at", "files_started_at")
        columns = [name for name in RunRecord.__slots__ if name not in instants]
        frame = self._table(RUNS).where(condition & F.col("status").isin(*TERMINAL))
        rows = self._collect(RUNS, frame.select(*columns, *(_millis(name) for name in instants)))
        last: dict[tuple[str, str], RunRecord] = {}
        for record in sorted((RunRecord(**row.asDict()) for row in rows), key=lambda record: record.at):
            last[record.cluster, record.run_id] = record
        return tuple(sorted(last.values(), key=lambda record: record.order, reverse=True))

    def _by_run(
        self, table: Table, runs: Collection[RunKey], read: Callable[[Row], _V], condition: Column | None = None
    ) -> Mapping[RunKey, list[_V]]:
        found: dict[RunKey, list[_V]] = defaultdict(list)
        if runs:
            frame = self._table(table).where(_of(runs) if condition is None else _of(runs) & condition)
            columns = [
                _millis(field.name) if isinstance(field.dataType, TimestampType) else F.col(field.name)
                for field in table.schema
            ]
            for row in self._collect(table, frame.select(*columns)):
                found[RunKey(row["cluster"], row["run_id"], row["run_date"])].append(read(row))
        return found

    def _table(self, table: Table) -> DataFrame:
        spark = self._spark if table is WAL_VERDICTS else self._few_rows
        with lake_errors(f"{self.lake_uri}/{table.name}"):
            frame = spark.read.format("delta").load(f"{self.lake_uri}/{table.name}")
        missing = [field for field in table.schema if field.name not in frame.columns]
        return frame.select("*", *(F.lit(None).cast(field.dataType).alias(field.name) for field in missing))

    def _collect(self, table: Table, frame: DataFrame) -> list[Row]:
        with lake_errors(f"{self.lake_uri}/{table.name}"):
            return frame.collect()


def _of(runs: Collection[RunKey]) -> Column:
    """Returns the condition for the rows of these runs; the run date lets Spark skip whole partitions."""
    pairs = sorted(f"{run.cluster}/{run.run_id}" for run in runs)
    return (
        F.col("run_date").isin(sorted({run.run_date for run in runs}))
        & F.col("run_id").isin(sorted({run.run_id for run in runs}))
        & F.concat("cluster", F.lit("/"), "run_id").isin(pairs)
    )


def _millis(column: str) -> Column:
    """Converts instants to ms inside Spark, because Python would read timestamps in its own time zone."""
    return F.unix_millis(column).alias(column)


def _pinned(row: Row) -> PinnedRow:
    return PinnedRow(**{name: row[name] for name in PinnedRow.__slots__})


def _finding(row: Row) -> FindingRow:
    return FindingRow(**{name: row[name] for name in FindingRow.__slots__})


def _queue(row: Row) -> QueueOffsetRow:
    return QueueOffsetRow(**{name: row[name] for name in QueueOffsetRow.__slots__})


def _total(row: Row) -> VerdictTotal:
    return VerdictTotal(**{name: row[name] for name in VerdictTotal.__slots__})


def _blocker(entry: Row) -> Blocker:
    return Blocker(**{name: entry[name] for name in Blocker.__slots__})


def _smallest(rows: Iterable[QueueOffsetRow], night: int) -> Mapping[_Group, QueueNight]:
    """Returns the row with the smallest need of each (peer, source, group); rows without a group have no offset."""
    smallest: dict[_Group, QueueNight] = {}
    for row in rows:
        if row.wal_group is None or row.need_timestamp is None:
            continue
        group = (row.peer_id, row.source, row.wal_group)
        if group not in smallest or row.need_timestamp < smallest[group].need:
            smallest[group] = QueueNight(
                night, row.need_timestamp, row.wal, row.offset, row.pending_files, row.pending_bytes
            )
    return smallest
