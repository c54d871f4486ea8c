"""The plan-migration use case: predicts the migration of the queues from ZooKeeper before it is started."""

from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED, RefusedError, UsageError
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import first_doubt
from pipelines.decide.rule.zookeeper_trust import zookeeper_doubts
from pipelines.hbase.zookeeper.queued_wals import unsettled_reason
from pipelines.lake.findings import ERROR
from pipelines.lake.job_run import JobLake
from pipelines.queues.migration.before_and_after import BeforeMigration, states_of
from pipelines.queues.migration.findings import plan_findings
from pipelines.queues.migration.plan import MigrationPeers, migration_rows
from pipelines.queues.migration.rows import PLAN_SUFFIX
from pipelines.queues.migration.text import plan_lines, plan_result
from pipelines.queues.needed_wals import wal_lengths
from pipelines.queues.snapshot_run import believed, malformed, snapshot_run
from pipelines.snapshot.model import QUEUE_STORAGE_ZOOKEEPER, complete_before
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.reader import SnapshotDirectories
from schemas.migration_rows import MIGRATION_ROWS


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
    opened, before = before_migration(snapshots, snapshots.open([snapshot])[0], settings)
    # without queues there is nothing to disagree about
    moved = unsettled_reason(opened.trees) if any(tree.queues for tree in opened.trees) else None
    found = plan_findings(before.rows, before.peers, opened.trees[-1], moved)
    run = snapshot_run(opened, PLAN_SUFFIX, settings)
    findings = run.record(lake, [(MIGRATION_ROWS, before.rows)], found, MIGRATION_ROWS)
    go = not any(row.severity == ERROR for row in found)  # an acknowledged error still forbids it
    shown = (go, before.rows, before.peers.enabled)
    lines = plan_lines(run.key.cluster, *shown, findings)
    return run.answer(plan_result(*shown), lines, findings, EXIT_DONE if go else EXIT_REFUSED)


def before_migration(
    snapshots: SnapshotDirectories, opened: OpenedSnapshot, settings: ReconcileSettings
) -> tuple[OpenedSnapshot, BeforeMigration]:
    """Returns a snapshot that can be believed, and its content of ZooKeeper.

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
    known, tree = whole.known, whole.trees[-1]
    names = {wal for queue in tree.queues for wal in queue.wals}
    lengths = wal_lengths(snapshots.files([whole]), names) if names else {}
    peers = MigrationPeers.of(known.peers)
    rows = migration_rows(tree, peers, lengths, complete_before(known.files_step.started_at))
    read = known.step("queues-2") or known.files_step
    return whole, BeforeMigration(states_of(known.peers), peers, rows, read.started_at)


def readable_snapshot(opened: OpenedSnapshot) -> OpenedSnapshot:
    """Returns the snapshot if it is unchanged since its capture and HBase can read its queues.

    Raises:
        RefusedError: otherwise.
    """
    told = f"{opened.uri}: {opened.malformed}. HBase throws on it, and a migration never ends. Mend it, capture again"
    return believed(opened, malformed(opened, told))
