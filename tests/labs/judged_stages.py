"""All stages of a real cluster's life, reconciled together as a fleet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.common.job_result import JobResult
from tests.labs.lake_rows import lake_rows

Verdicts = dict[str, dict[str, dict[str, Any]]]
"""By stage and path, the rows of `wal_verdicts`."""


def reconciled(spark: SparkSession, work: Path, snapshots: Mapping[str, Path]) -> JobResult:
    """One reconcile over the captures of all stages, which become a fleet below `work`."""
    fleet = work / "fleet"
    fleet.mkdir()
    for name, snapshot in snapshots.items():
        snapshot.rename(fleet / name)
    # as it stands in the cluster's own hbase-site.xml
    config = parse_config("{cleaners: {interval: 24h}}", "test.yaml")
    places = OutputPlaces(f"file:{work}/lake", f"file:{work}/lists")
    return run_reconcile(JobContext("reconcile", spark=spark), config, places, (), fleet=f"file:{fleet}")


def verdicts_of(work: Path, outcome: JobResult) -> Verdicts:
    """What that reconcile has decided."""
    assert outcome.exit_code == 0, outcome.text
    found: Verdicts = {}
    for row in lake_rows(f"{work}/lake/wal_verdicts"):
        found.setdefault(row["cluster"], {})[row["path"]] = row
    return found
