"""Wires plan-migration and verify-migration."""

from jobs.context import JobContext
from pipelines.domain.migration.rows import PLAN_SUFFIX, VERIFY_SUFFIX
from pipelines.domain.settings import Settings
from pipelines.sinks.delta_tables import DeltaTables
from pipelines.sources.past_inspections import LakeInspections
from pipelines.sources.snapshot_dir import SnapshotDirectories
from pipelines.use_cases.outcome import Outcome
from pipelines.use_cases.plan_migration import MigrationPorts, plan_migration
from pipelines.use_cases.verify_migration import verify_migration


def run_plan_migration(context: JobContext, snapshot: str, settings: Settings, lake: str | None) -> Outcome:
    """Plan with the technologies of production.

    Args:
        context: the surroundings.
        snapshot: of ZooKeeper.
        settings: of the configuration.
        lake: folder of the Delta tables; None = nothing is written.
    """
    return plan_migration(snapshot, settings, _ports(context, settings, lake, PLAN_SUFFIX))


def run_verify_migration(
    context: JobContext, zookeeper: str, table: str, settings: Settings, lake: str | None
) -> Outcome:
    """Verify with the technologies of production; `run_plan_migration` has the rest."""
    return verify_migration(zookeeper, table, settings, _ports(context, settings, lake, VERIFY_SUFFIX))


def _ports(context: JobContext, settings: Settings, lake: str | None, suffix: str) -> MigrationPorts:
    spark = context.spark
    return MigrationPorts(
        snapshots=SnapshotDirectories(spark, settings.row_layout),
        tables=DeltaTables(spark, lake) if lake else None,
        past=LakeInspections(spark, lake, suffix) if lake else None,
    )
