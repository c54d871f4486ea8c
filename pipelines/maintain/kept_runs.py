"""Reads from `runs` and `deletions` which runs maintain must keep regardless of their age."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from datetime import date

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.lake.delta_log import has_log
from pipelines.lake.lake_queries import LakeQueries
from pipelines.lake.maintenance import table_errors
from pipelines.lake.query import Query, Row, texts
from pipelines.lake.retention import NeededRun, NeededRuns
from pipelines.lake.run_summary import DONE, TERMINAL
from schemas.deletions import DELETIONS
from schemas.findings import FINDINGS
from schemas.registry import CLEANUP_TABLES, DECISION_TABLES
from schemas.runs import RUNS
from schemas.table import Table

_ATTEMPTS = Query(
    RUNS,
    "cluster, run_id, run_date, snapshot_sha256, max(at) AS at, "
    f"max(CASE WHEN status = '{DONE}' THEN 1 ELSE 0 END) AS done, "
    # as `RunRecord.order`
    f"max(CASE WHEN status IN ({texts(TERMINAL)}) THEN least(files_started_at, at) END) AS ended",
    "true",
    "GROUP BY cluster, run_id, run_date, snapshot_sha256",
)
_LEFT_THE_QUARANTINE = ("RESTORED", "PURGED", "ARCHIVED")

# other jobs write findings, too
_TABLES_OF_RUNS = tuple(table for table in (*DECISION_TABLES, *CLEANUP_TABLES) if table is not FINDINGS)

_Key = tuple[str, str, date | None]


class KeptRuns:
    """Reads from the lake which runs must be kept: all nights of `runs` and `deletions`, but few of their columns."""

    def __init__(self, spark: SparkSession, lake_uri: str, *, needs_runs: bool = True) -> None:
        """Reads nothing yet.

        Args:
            spark: reads the tables.
            lake_uri: the folder of the tables.
            needs_runs: whether there may be lists, snapshots or pages of runs. Then a lake without the table `runs` is
                refused, even if neither reconcile nor a clean-up wrote to it.
        """
        self._spark, self._needs_runs = spark, needs_runs
        self._lake = lake_uri.rstrip("/")
        self._ask = LakeQueries.of(spark, lake_uri)

    def needed(self, nights: int) -> NeededRuns:
        """Returns the DONE runs of the newest `nights` dates of each cluster, its newest run, and those in quarantine.

        The newest run stays even if it was refused or failed, because it then pauses the clean-up of its cluster's
        lists; a cluster without a DONE run has none. A date with several runs is one night, as in
        `pipelines.lake.look_back`. A file counts as in `quarantined`. The result also says when the newest row of each
        `run_date` was written.

        Raises:
            UsageError: there is no lake, or one of its tables is damaged.
            UnavailableError: the lake did not answer, or Spark failed.
        """
        if not self._needs_runs and not any(self._exists(table) for table in _TABLES_OF_RUNS):
            return NeededRuns()
        quarantined = self.quarantined()
        with table_errors(f"{self._lake}/{RUNS.name}"):
            rows = self._ask.rows(_ATTEMPTS)
        kept = [_run(run, attempts, quarantined) for run, attempts in _newest_or(rows, nights, set(quarantined))]
        written: dict[date, int] = {}
        for row in rows:
            if row["run_date"] is not None and row["at"] is not None:
                written[row["run_date"]] = max(row["at"], written.get(row["run_date"], row["at"]))
        known = {(run.cluster, run.run_id) for run in kept}
        lost = [run for pair, run in quarantined.items() if pair not in known]
        return NeededRuns((*kept, *lost), written)

    def quarantined(self) -> dict[tuple[str, str], NeededRun]:
        """Returns each run with a file in quarantine, or possibly in quarantine, by (cluster, run_id).

        Such a file was last MOVED, or came there in place of another one, or has an INTENT without an OUTCOME. The
        result is empty for a lake that no clean-up has written to.
        """
        if not self._exists(DELETIONS):
            return {}
        with table_errors(f"{self._lake}/{DELETIONS.name}"):
            rows = _in_quarantine(self._table(DELETIONS)).collect()
        return {(row["cluster"], row["run_id"]): NeededRun(**row.asDict(), quarantined=True) for row in rows}

    def _exists(self, table: Table) -> bool:
        return has_log(self._spark, f"{self._lake}/{table.name}")

    def _table(self, table: Table) -> DataFrame:
        return self._spark.read.format("delta").load(f"{self._lake}/{table.name}")


def _newest_or(rows: Iterable[Row], nights: int, pairs: Set[tuple[str, str]]) -> Iterator[tuple[_Key, list[Row]]]:
    """Yields the rows of the DONE runs of each cluster's newest `nights` dates, and those of the runs in `pairs`.

    Only dates with a DONE run count. A DONE run without a date stays, and so does the newest run that ended, if its
    cluster has a DONE run: without one there is no list whose clean-up it could pause.
    """
    runs, ended = defaultdict(list), defaultdict[str, int](int)
    for row in rows:
        ended[row["cluster"]] = max(ended[row["cluster"]], row["ended"] or 0)
        runs[row["cluster"], row["run_id"], row["run_date"]].append(row)
    done = {key for key, attempts in runs.items() if any(row["done"] for row in attempts)}
    cleanable = {cluster for cluster, _, _ in done}
    dates_of: dict[str, set[date]] = defaultdict(set)
    for cluster, _, run_date in done:
        if run_date is not None:
            dates_of[cluster].add(run_date)
    newest = {cluster: sorted(dates, reverse=True)[:nights] for cluster, dates in dates_of.items()}
    for key, attempts in runs.items():
        newest_end = ended[key[0]] if key[0] in cleanable else None
        last = any(row["ended"] is not None and row["ended"] == newest_end for row in attempts)
        if last or key[:2] in pairs or (key in done and (key[2] is None or key[2] in newest[key[0]])):
            yield key, attempts


def _run(key: _Key, attempts: Iterable[Row], quarantined: Mapping[tuple[str, str], NeededRun]) -> NeededRun:
    snapshots = {row["snapshot_sha256"] for row in attempts} - {None}
    return replace(quarantined.get(key[:2], NeededRun(*key)), run_date=key[2], snapshots=tuple(sorted(snapshots)))


def _in_quarantine(deletions: DataFrame) -> DataFrame:
    """Returns the runs with a file in quarantine, or possibly in quarantine, by the last rows of each file.

    Rows are ordered by lease first: lease numbers rise with every job, but the clocks of different hosts may disagree.
    An OUTCOME belongs to the INTENT of its batch, whatever their times are: a clock may be set back between them.
    """
    order = F.struct(F.coalesce("lease", F.lit(-1)), F.coalesce(F.unix_millis("at"), F.lit(0)).alias("at"))
    outcome = F.col("phase") == "OUTCOME"
    # another file took the name of a file that clean was to move, and came to the quarantine in its place
    swapped = (F.col("action") == "CLEAN") & (F.col("outcome") == "FAILED") & F.col("place").isNotNull()
    # ALREADY_GONE of CLEAN says only that the file is not in oldWALs; RESTORE and PURGE look in the quarantine
    missing = (F.col("outcome") == "ALREADY_GONE") & F.col("action").isin("RESTORE", "PURGE")
    path = ("cluster", "run_id", "run_date", "path")

    def last(condition: Column) -> Column:
        return F.max(F.when(condition, order))

    intents = deletions.groupBy(*path, "action", "lease", "batch").agg(
        last(outcome & ((F.col("outcome") == "MOVED") | swapped)).alias("moved"),
        last(outcome & (F.col("outcome").isin(*_LEFT_THE_QUARANTINE) | missing)).alias("left"),
        last(outcome).alias("told"),
        last(~outcome).alias("meant"),
        F.max("length").alias("length"),
    )
    files = intents.groupBy(*path).agg(
        F.max("moved").alias("moved"),
        F.max("left").alias("left"),
        F.max(F.when(F.col("told").isNull(), F.col("meant"))).alias("open"),
        F.max("length").alias("length"),
    )
    rests = F.col("moved").isNotNull() & (F.col("left").isNull() | (F.col("left") <= F.col("moved")))
    return (
        files.where(rests | F.col("open").isNotNull())
        .groupBy("cluster", "run_id", "run_date")
        .agg(
            F.count("path").alias("files"),
            F.coalesce(F.sum("length"), F.lit(0)).alias("bytes"),
            F.min(F.coalesce("moved", "open")["at"]).alias("moved_at"),
        )
    )
