"""The verify-migration use case: checks that `hbase:replication` has what ZooKeeper had."""

from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED, MalformedError, RefusedError, UsageError
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.trust import doubts_of_reading, first_doubt
from pipelines.lake.findings import ERROR
from pipelines.lake.job_run import JobLake
from pipelines.queues.migration.before_and_after import AfterMigration, rows_of, sequence_ids_of, states_of
from pipelines.queues.migration.findings import verify_findings
from pipelines.queues.migration.plan_migration import before_migration, readable_snapshot
from pipelines.queues.migration.rows import VERIFY_SUFFIX
from pipelines.queues.migration.text import verify_lines, verify_result
from pipelines.queues.migration.verify import verify
from pipelines.queues.needed_wals import wal_lengths
from pipelines.queues.snapshot_run import snapshot_run
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, complete_before
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.other_families import hfile_refs_of
from pipelines.snapshot.reader import SnapshotDirectories
from schemas.migration_checks import MIGRATION_CHECKS


def verify_migration(
    zookeeper: str, table: str, settings: ReconcileSettings, snapshots: SnapshotDirectories, lake: JobLake
) -> JobResult:
    """Compare two snapshots of one cluster.

    Args:
        zookeeper: snapshot captured from ZooKeeper, before the migration.
        table: snapshot captured from `hbase:replication`, after it.
        settings: from the configuration.
        snapshots: opens them.
        lake: where to write.

    Returns:
        Exit code 3 if a check has severity error: not verified.

    Raises:
        UsageError: the snapshots are not two of one cluster in this order.
        RefusedError: a snapshot differs from what was captured, or cannot be trusted.
        UnavailableError: a source or the lake did not answer.
    """
    # open them one by one: opened together, one directory given twice would count the rows of both
    (first,), (second,) = snapshots.open([zookeeper]), snapshots.open([table])
    opened, before = before_migration(snapshots, first, settings)
    after = _table_side(second, opened)
    checks = verify(before, _after(snapshots, after))
    run = snapshot_run(after, f"-{(first.sha256 or '')[:8]}{VERIFY_SUFFIX}", settings)
    findings = run.record(lake, [(MIGRATION_CHECKS, checks)], verify_findings(checks), MIGRATION_CHECKS)
    verified = not any(check.severity == ERROR for check in checks)
    lines = verify_lines(run.key.cluster, verified, checks)
    return run.answer(verify_result(verified, checks), lines, findings, EXIT_DONE if verified else EXIT_REFUSED)


def _table_side(opened: OpenedSnapshot, zookeeper: OpenedSnapshot) -> OpenedSnapshot:
    """Returns the snapshot of the table, if it is of the same cluster and later.

    A pending migration is not refused here: the checks report it.
    """
    whole = readable_snapshot(opened)
    before, after = zookeeper.known, whole.known
    if after.queue_storage != QUEUE_STORAGE_TABLE:
        raise UsageError(f"{opened.uri} has queues of ZooKeeper: --table wants a snapshot of hbase:replication")
    if before.cluster != after.cluster:
        raise UsageError(f"snapshots of two clusters: {before.cluster} and {after.cluster}; give two of one")
    if before.cluster_id and after.cluster_id and before.cluster_id != after.cluster_id:
        raise UsageError(
            f"cluster {after.cluster} has id {after.cluster_id} in --table and {before.cluster_id} in --zookeeper: "
            "they are two clusters of one name; give two snapshots of one"
        )
    doubt = first_doubt(doubts_of_reading(after))
    if doubt is not None:
        raise RefusedError(doubt[0], f"{opened.uri}: {doubt[1]}")
    if after.files_step.started_at <= before.files_step.started_at:
        raise UsageError(f"{opened.uri} was captured before {zookeeper.uri}: --table is the later one")
    return whole


def _after(snapshots: SnapshotDirectories, opened: OpenedSnapshot) -> AfterMigration:
    known, rows = opened.known, rows_of(opened.passes[-1])
    wals = {offset.wal for offsets in rows.values() for offset in offsets.values() if offset.wal}
    cells = snapshots.cells(opened)
    try:
        return AfterMigration(
            states=states_of(known.peers),
            rows=rows,
            complete_before=complete_before(known.files_step.started_at),
            sequence_ids=sequence_ids_of(cells),
            hfile_refs=hfile_refs_of(cells),
            listed=frozenset(wal_lengths(snapshots.files([opened]), wals) if wals else ()),
            flags=(known.flags, known.flags_2),
        )
    except MalformedError as error:
        raise RefusedError(
            Condition.QUEUE_MALFORMED, f"{opened.uri}, hbase:replication: {error}. Mend it, capture again"
        ) from None
