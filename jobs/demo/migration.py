"""Shows plan-migration and verify-migration on the demo's cluster, as if it were an HBase 2 before the upgrade."""

from collections.abc import Iterator

from jobs.demo.cluster.snapshots import SAFE_FLAGS
from jobs.demo.cluster.zookeeper import ZooKeeperCapture
from pipelines.hbase.replication_queues import GroupOffset, QueueId, parse_queue_id
from pipelines.hbase.zookeeper.queued_wals import unsettled_reason
from pipelines.hbase.zookeeper.tree import parse_tree
from pipelines.lake.findings import ERROR
from pipelines.queues.migration.before_and_after import AfterMigration, BeforeMigration, states_of
from pipelines.queues.migration.findings import plan_findings
from pipelines.queues.migration.plan import MigrationPeers, migration_rows, offset_of
from pipelines.queues.migration.rows import Family, MigrationAction
from pipelines.queues.migration.verify import verify
from pipelines.snapshot.model import complete_before

MIGRATION_TITLE = "If this were an HBase 2 before its upgrade: the plan to move its queues to hbase:replication"


def migration_lines(made: ZooKeeperCapture) -> list[str]:
    """Returns the plan as one line, and the errors of verifying a table that lacks one of the planned rows."""
    tree, peers = parse_tree(made.znodes), MigrationPeers.of(made.snapshot.peers)
    lengths = {file.path.rpartition("/")[2]: file.length for file in made.files}
    complete = complete_before(made.snapshot.files_step.started_at)
    rows = migration_rows(tree, peers, lengths, complete)
    found = plan_findings(rows, peers, tree, unsettled_reason([tree, tree]))
    go = "NO-GO" if any(one.severity == ERROR for one in found) else "GO"
    written = [row for row in rows if row.action == MigrationAction.WRITE.value and row.family == Family.QUEUE.value]
    dropped = sum(row.action == MigrationAction.DROP.value for row in rows)
    before = BeforeMigration(states_of(made.snapshot.peers), peers, rows, made.snapshot.files_step.finished_at)
    table: dict[QueueId, dict[str, GroupOffset]] = {}
    for row in written:
        offset = offset_of(row.value)
        if offset is not None:
            table.setdefault(parse_queue_id(row.row), {})[row.qualifier or ""] = offset
    lost = min((queue for queue in table if before.states[queue.peer_id] == "DISABLED"), key=str, default=None)
    if lost is not None:
        del table[lost]
    sids = {(row.peer_id, row.qualifier or ""): int(row.value or 0) for row in before.written(Family.SEQUENCE_ID)}
    after = AfterMigration(
        before.states, table, complete, sids, listed=frozenset(lengths), flags=(SAFE_FLAGS, SAFE_FLAGS)
    )
    codes = ", ".join(sorted({one.code for one in found})) or "none"
    plan = f"plan: {go}; {len(written)} offsets would be written, {dropped} entries dropped; findings: {codes}"
    return [plan, *_differences(before, after)]


def _differences(before: BeforeMigration, after: AfterMigration) -> Iterator[str]:
    for check in verify(before, after):
        if check.severity == ERROR:
            yield f"verification of a table without one of the rows: {check.rule} {check.answer}, {check.subject}"
            yield f"  expected {check.expected}, found {check.found or 'nothing'}"
