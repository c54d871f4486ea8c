"""The plan-migration use case: predicts the migration of the queues from ZooKeeper before it is started."""

from dataclasses import dataclass

from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED, RefusedError, UsageError
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import first_doubt
from pipelines.decide.rule.zookeeper_trust import zookeeper_doubts
from pipelines.hbase.zookeeper.queued_wals import unsettled_reason
from pipelines.lake.findings import ERROR
from pipelines.lake.job_run import JobLake
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.migration.findings import plan_findings
from pipelines.queues.migration.plan import MigrationPeers, migration_rows
from pipelines.queues.migration.rows import PLAN_SUFFIX, MigrationRow
from pipelines.queues.migration.text import plan_lines, plan_result
from pipelines.queues.snapshot_run import believed, malformed, snapshot_run
from pipelines.queues.wals.selection import wal_lengths
from pipelines.snapshot.model import QUEUE_STORAGE_ZOOKEEPER, complete_before
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.reader import SnapshotDirectories
from schemas.migration_rows import MIGRATION_ROWS


@dataclass(frozen=True, slots=True)
class PlannedMigration:
    """A snapshot of ZooKeeper, and its plan.

    Attributes:
        rows: everything in ZooKeeper.
    """

    opened: OpenedSnapshot
    peers: MigrationPeers
    rows: tuple[MigrationRow, ...]
    findings: tuple[FindingRow, ...]

    @property
    def go(self) -> bool:
        """Whether the migration may begin; an acknowledged error still forbids it."""
        return not any(row.severity == ERROR for row in self.findings)


def plan_migration(
    snapshot: str, settings: ReconcileSettings, snapshots: SnapshotDirectories, lake: JobLake
) -> JobResult:
    """Plan the migration.

    Returns:
        Exit code 3 (no-go) if the findings contain an error.

    Raises:
        UsageError: the snapshot is not of ZooKeeper.
        RefusedError: the snapshot differs from what was captured, or cannot be trusted.
        UnavailableError: a source or the lake did not answer.
    """
    plan = plan_of_snapshot(snapshots, snapshots.open([snapshot])[0], settings)
    run = snapshot_run(plan.opened, PLAN_SUFFIX, settings)
    findings = run.record(lake, [(MIGRATION_ROWS, plan.rows)], plan.findings, MIGRATION_ROWS)
    shown = (plan.go, plan.rows, plan.peers.enabled)
    lines = plan_lines(run.key.cluster, *shown, findings)
    return run.answer(plan_result(*shown), lines, findings, EXIT_DONE if plan.go else EXIT_REFUSED)


def plan_of_snapshot(
    snapshots: SnapshotDirectories, opened: OpenedSnapshot, settings: ReconcileSettings
) -> PlannedMigration:
    """Returns the plan of one snapshot.

    Raises:
        UsageError: the snapshot is not of ZooKeeper.
        RefusedError: the snapshot differs from what was captured, or cannot be trusted.
    """
    whole = readable_snapshot(opened)
    if whole.known.queue_storage != QUEUE_STORAGE_ZOOKEEPER:
        raise UsageError(
            f"{opened.uri} was captured after the upgrade: its queues are in hbase:replication. Give a snapshot "
            "captured from ZooKeeper before the upgrade"
        )
    doubt = first_doubt(zookeeper_doubts(whole.known, whole.trees, settings.release))
    if doubt is not None:
        raise RefusedError(doubt[0], f"{opened.uri}: {doubt[1]}")
    tree = whole.trees[-1]
    names = {wal for queue in tree.queues for wal in queue.wals}
    lengths = wal_lengths(snapshots.files([whole]), names) if names else {}
    peers = MigrationPeers.of(whole.known.peers)
    rows = migration_rows(tree, peers, lengths, complete_before(whole.known.files_step.started_at))
    # without queues there is nothing to disagree about
    moved = unsettled_reason(whole.trees) if any(one.queues for one in whole.trees) else None
    findings = plan_findings(rows, peers, tree, moved)
    return PlannedMigration(whole, peers, rows, findings)


def readable_snapshot(opened: OpenedSnapshot) -> OpenedSnapshot:
    """Returns the snapshot if it is unchanged since its capture and HBase can read its queues.

    Raises:
        RefusedError: otherwise.
    """
    told = f"{opened.uri}: {opened.malformed}. HBase throws on it, and a migration never ends. Mend it, capture again"
    return believed(opened, malformed(opened, told))
