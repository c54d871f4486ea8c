"""Wires plan-migration and verify-migration."""

from jobs.context import JobContext
from pipelines.common.outcome import Outcome
from pipelines.decide.rule.settings import Settings
from pipelines.lake.delta_tables import DeltaTables
from pipelines.queues.migration.plan_migration import MigrationPorts, plan_migration
from pipelines.queues.migration.rows import PLAN_SUFFIX, VERIFY_SUFFIX
from pipelines.queues.migration.verify_migration import verify_migration
from pipelines.queues.wals.past_inspections import LakeInspections
from pipelines.snapshot.reader import SnapshotDirectories


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
