"""Provides a lake of old nights for maintain, with its folders of lists and snapshots."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable as DeltaRs
from pyspark.sql import DataFrame, SparkSession

from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from jobs.maintain.retention import retention_policy
from jobs.maintain.wiring import run_maintain
from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.lake_queries import LakeQueries, SparkTables
from pipelines.lake.maintenance import LakeMaintenance
from pipelines.lake.run_summary import RunKey
from pipelines.reconcile.delete_list import Manifest, manifest_json
from schemas.table import Table
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.lake_rows import lake_rows
from tests.labs.small_cluster import NOW, At

A_NIGHTS = (200, 150, 100, 95, 2, 1, 0)
"""The age of each night, in days before NOW. The newest four, including that of 95 days, are needed for comparisons."""
MANY_FILES = 2
CONFIG = "maintain: {compact_from: 3}\n"
Tree = dict[str, bytes]


def key(cluster: str, ago: int) -> RunKey:
    return RunKey.of(cluster, f"run-{ago}", NOW - ago * DAY_MS)


def identity(one: RunKey) -> dict[str, object]:
    return {"cluster": one.cluster, "run_id": one.run_id, "run_date": one.run_date}


def verdict(one: RunKey, path: str) -> dict[str, object]:
    held = [("1", "h1,1,1", "h1,1,1", None, -1)]
    row = {"path": path, "length": 1 << 20, "verdict": "HELD", "reason": "PENDING", "blocking": held}
    return identity(one) | row | {"modification_time": NOW - 500 * DAY_MS + 123}


def run_row(one: RunKey, ago: int, status: str = "DONE", written: int | None = None) -> dict[str, object]:
    night = NOW - ago * DAY_MS
    row = {"status": status, "at": written or night + 1, "files_started_at": night, "snapshot_sha256": f"sha-{ago}"}
    return identity(one) | row


@dataclass(frozen=True)
class Place:
    """A lake with its folders of lists and snapshots."""

    spark: SparkSession
    root: Path

    @property
    def lake(self) -> Path:
        return self.root / "lake"

    @property
    def tables(self) -> DeltaTables:
        return DeltaTables(self.spark, f"file:{self.lake}")

    @property
    def keeper(self) -> LakeMaintenance:
        return LakeMaintenance(self.spark, f"file:{self.lake}")

    @property
    def engines(self) -> tuple[LakeQueries, SparkTables]:
        """What asks deltalake, and what asks Spark."""
        return LakeQueries.of(self.spark, f"file:{self.lake}"), SparkTables(self.spark, f"file:{self.lake}")

    def log(self, table: Table) -> Path:
        return self.lake / table.name / "_delta_log"

    def maintain(
        self, *, execute: bool = True, config: str = CONFIG, now: int = NOW, lake: str | None = None
    ) -> JobResult:
        context = JobContext("maintain", At(now), self.spark)
        parsed = parse_config(config, "test.yaml")
        return run_maintain(context, parsed, retention_policy(parsed), lake or f"file:{self.lake}", execute=execute)

    def rows(self, table: Table = WAL_VERDICTS) -> DataFrame:
        return self.spark.read.format("delta").load(f"file:{self.lake / table.name}")

    def stored(self, table: Table = WAL_VERDICTS, condition: str = "true") -> list[dict[str, Any]]:
        return lake_rows(f"{self.lake}/{table.name}", condition)

    def nights(self, table: Table = WAL_VERDICTS) -> set[tuple[str, str]]:
        return {(row["cluster"], row["run_id"]) for row in self.stored(table)}

    def versions(self) -> dict[str, int]:
        return {folder.name: DeltaRs(folder).version() for folder in sorted(self.lake.iterdir())}

    def tree(self) -> Tree:
        return {str(file.relative_to(self.root)): file.read_bytes() for file in self.root.rglob("*") if file.is_file()}


def table_of(outcome: JobResult, name: str = "wal_verdicts") -> dict[str, Any]:
    tables: Any = outcome.result["tables"]
    return next(one for one in tables if one["table"] == name)


def errors_of(outcome: JobResult) -> dict[str, str]:
    errors: Any = outcome.result["errors"]
    return {one["of"]: one["message"] for one in errors}


def forget(spark: SparkSession) -> None:
    """Makes Delta read a log anew that was changed by hand."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def edited_log(place: Place, table: Table, change: Callable[[str], str]) -> None:
    for commit in place.log(table).glob("*.json"):
        commit.write_text(change(commit.read_text()))
    for checksum in place.log(table).glob("*.crc"):
        checksum.unlink()
    forget(place.spark)


def with_folders(place: Place) -> str:
    for folder in ("lists", "snapshots"):
        (place.root / folder).mkdir(exist_ok=True)
    return CONFIG.replace("}", f", lists: 'file:{place.root}/lists', snapshots: 'file:{place.root}/snapshots'}}")


def add_list(place: Place, cluster: str, run_id: str, ago: int, folder: str | None = None) -> Path:
    """Adds a list whose `not_after` was this many days ago; its files have the present time."""
    there = place.root / "lists" / cluster / (folder or run_id)
    there.mkdir(parents=True)
    instant = NOW - ago * DAY_MS
    manifest = Manifest(cluster, None, run_id, "0" * 64, instant, instant, 0, 0, ())
    (there / "manifest.json").write_text(manifest_json(manifest))
    return there


def aged(folder: Path, days: float) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part-00000.txt").write_text("x")
    then = (NOW - days * DAY_MS) / 1000
    for path in (folder / "part-00000.txt", folder):
        os.utime(path, (then, then))
    return folder
