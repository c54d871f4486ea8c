"""Reads from `runs` and `deletions` which runs maintain must keep regardless of their age."""

from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from pipelines.files.hadoop_jvm import HadoopJvm, java_errors
from pipelines.lake.lake_errors import lake_errors
from pipelines.lake.retention import NeededRun, NeededRuns
from pipelines.lake.run_summary import DONE
from schemas.deletions import DELETIONS
from schemas.runs import RUNS
from schemas.table import Table

_LEFT_THE_QUARANTINE = ("RESTORED", "PURGED", "ARCHIVED")


class KeptRuns:
    """Reads from the lake which runs must be kept: all nights of `runs` and `deletions`, but few of their columns."""

    def __init__(self, spark: SparkSession, lake_uri: str) -> None:
        self._spark = spark
        self._lake = lake_uri.rstrip("/")

    def needed(self, nights: int) -> NeededRuns:
        """Returns the newest `nights` DONE runs of each cluster, and every run with a file that may be in quarantine.

        The result also says when the newest row of each `run_date` was written.

        Raises:
            UsageError: there is no lake, or one of its tables is damaged.
            UnavailableError: the lake did not answer.
        """
        quarantined = self.quarantined()
        with lake_errors(f"{self._lake}/{RUNS.name}"):
            runs = self._table(RUNS)
            kept = [_run(row, quarantined) for row in _newest_or(runs, nights, set(quarantined)).collect()]
            latest = runs.where("run_date IS NOT NULL").groupBy("run_date").agg(F.max(F.unix_millis("at")).alias("at"))
            written = {row["run_date"]: row["at"] for row in latest.collect() if row["at"] is not None}
        known = {(run.cluster, run.run_id) for run in kept}
        lost = [run for pair, run in quarantined.items() if pair not in known]
        return NeededRuns((*kept, *lost), written)

    def quarantined(self) -> dict[tuple[str, str], NeededRun]:
        """Returns each run with a file in quarantine, or possibly in quarantine, by (cluster, run_id).

        Such a file was last MOVED, or has an INTENT without an OUTCOME. The result is empty for a lake that no clean-up
        has written to.
        """
        if not self._exists(DELETIONS):
            return {}
        with lake_errors(f"{self._lake}/{DELETIONS.name}"):
            rows = _in_quarantine(self._table(DELETIONS)).collect()
        return {(row["cluster"], row["run_id"]): NeededRun(**row.asDict(), quarantined=True) for row in rows}

    def _exists(self, table: Table) -> bool:
        location = f"{self._lake}/{table.name}"
        hadoop = HadoopJvm.of(self._spark)
        with java_errors(location):
            log = hadoop.path(f"{location}/_delta_log")
            return bool(log.getFileSystem(hadoop.conf).exists(log))

    def _table(self, table: Table) -> DataFrame:
        return self._spark.read.format("delta").load(f"{self._lake}/{table.name}")


def _newest_or(runs: DataFrame, nights: int, pairs: set[tuple[str, str]]) -> DataFrame:
    """Returns the newest `nights` nights of each cluster that are DONE, and the runs in `pairs`."""
    done = F.when(F.col("status") == DONE, F.coalesce("files_started_at", "at"))
    by_night = Window.partitionBy("cluster").orderBy(F.col("night").desc_nulls_last())
    named = F.concat("cluster", F.lit("/"), "run_id").isin([f"{cluster}/{run_id}" for cluster, run_id in pairs])
    newest = F.col("night").isNotNull() & (F.col("rank") <= nights)
    return (
        runs.groupBy("cluster", "run_id", "run_date")
        .agg(F.max(done).alias("night"), F.collect_set("snapshot_sha256").alias("snapshots"))
        .withColumn("rank", F.dense_rank().over(by_night))
        .where(newest | named)
        .select("cluster", "run_id", "run_date", "snapshots")
    )


def _run(row: Any, quarantined: dict[tuple[str, str], NeededRun]) -> NeededRun:  # noqa: ANN401 - a row has no types
    key = (row["cluster"], row["run_id"], row["run_date"])
    return replace(
        quarantined.get(key[:2], NeededRun(*key)), run_date=key[2], snapshots=tuple(sorted(row["snapshots"]))
    )


def _in_quarantine(deletions: DataFrame) -> DataFrame:
    """Returns the runs with a file in quarantine, or possibly in quarantine, by the last rows of each file.

    Rows are ordered by lease first: lease numbers rise with every job, but the clocks of different hosts may disagree.
    """
    order = F.struct(F.coalesce("lease", F.lit(-1)), F.coalesce(F.unix_millis("at"), F.lit(0)).alias("at"))
    outcome = F.col("phase") == "OUTCOME"
    # ALREADY_GONE of CLEAN says only that the file is not in oldWALs; RESTORE and PURGE look in the quarantine
    missing = (F.col("outcome") == "ALREADY_GONE") & F.col("action").isin("RESTORE", "PURGE")

    def last(condition: Column) -> Column:
        return F.max(F.when(condition, order))

    files = deletions.groupBy("cluster", "run_id", "run_date", "path").agg(
        last(outcome & (F.col("outcome") == "MOVED")).alias("moved"),
        last(outcome & (F.col("outcome").isin(*_LEFT_THE_QUARANTINE) | missing)).alias("left"),
        last(outcome).alias("told"),
        last(~outcome).alias("meant"),
        F.max("length").alias("length"),
    )
    rests = F.col("moved").isNotNull() & (F.col("left").isNull() | (F.col("left") <= F.col("moved")))
    unsettled = F.col("meant").isNotNull() & (F.col("told").isNull() | (F.col("told") < F.col("meant")))
    return (
        files.where(rests | unsettled)
        .groupBy("cluster", "run_id", "run_date")
        .agg(
            F.count("path").alias("files"),
            F.coalesce(F.sum("length"), F.lit(0)).alias("bytes"),
            F.min(F.coalesce("moved", "meant")["at"]).alias("moved_at"),
        )
    )
