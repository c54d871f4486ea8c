"""Excerpts of what the queue jobs say about the demo: an audit, a dump of one queue, and a migration to HBase 3."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from jobs.cli.context import JobContext
from jobs.demo.cluster.model import GeneratedCapture
from jobs.demo.cluster.snapshots import SAFE_FLAGS
from jobs.demo.cluster.zookeeper import ZooKeeperCapture
from pipelines.decide.rule.cluster_view import MergedQueueRow, merge_passes
from pipelines.hbase.replication_queues import GroupOffset, QueueId, parse_queue_cells, parse_queue_id
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.hbase.zookeeper.queued_wals import unsettled_reason
from pipelines.hbase.zookeeper.tree import parse_tree
from pipelines.lake.findings import ERROR
from pipelines.queues.dump.table_queues import table_dump
from pipelines.queues.dump.text import distributed_text
from pipelines.queues.migration.before_and_after import AfterMigration, BeforeMigration, states_of
from pipelines.queues.migration.findings import plan_findings
from pipelines.queues.migration.plan import MigrationPeers, migration_rows, offset_of
from pipelines.queues.migration.rows import Family, MigrationAction
from pipelines.queues.migration.verify import verify
from pipelines.queues.wals.rows import InspectedFile
from pipelines.snapshot.model import complete_before

AUDIT_TITLE = "What state the queues are in"
DUMP_TITLE = "A queue of the disabled peer, in the words of HBase's DumpReplicationQueues (its WALs left out)"
MIGRATION_TITLE = "If this were an HBase 2 before its upgrade: the plan to move its queues to hbase:replication"
_POSITION = " Replication position for "


def audit_lines(context: JobContext, snapshots: Sequence[Path], plan: Path, config: Path) -> list[str]:
    """Audit the queues and write the claim plan.

    Args:
        context: with a clock at the last night or later.
        snapshots: oldest first.
        plan: the folder for the claim plan.
        config: the configuration file of the demo.
    """
    from jobs.cli.config.configuration import load_config
    from jobs.queues.wiring import snapshots_and_lake, text_writer
    from pipelines.queues.audit.audit_queues import audit_queues
    from pipelines.queues.audit.rows import AUDIT_SUFFIX

    settings, uris = load_config(str(config), context).settings(), [f"file:{one}" for one in snapshots]
    ports = snapshots_and_lake(context, settings, None, AUDIT_SUFFIX)
    return in_short(audit_queues(uris, settings, *ports, context.clock, text_writer(context, f"file:{plan}")).text)


def in_short(text: str) -> list[str]:
    """Returns the table of classes and the claim plan from the whole output of the job."""
    head, classes, *others = text.rstrip("\n").split("\n\n")
    (plan,) = [block for block in others if block.startswith("  claim plan")]
    lines = [head, *classes.splitlines(), *plan.splitlines()]
    return [line.removeprefix("  ") for line in lines]


def queue_lines(made: GeneratedCapture, peer_id: str) -> list[str]:
    """Returns the output of `dump-queues --distributed --hdfs` for one queue of a peer, preferably a claimed one.

    Args:
        made: the capture of a night, with queues in the table.
        peer_id: a peer that has a queue.
    """
    rows = merge_passes([parse_queue_cells(made.pass_2)])
    row = max((one for one in rows if one.queue.peer_id == peer_id), key=_claimed_first)
    groups = tuple(f"{group}." for group in row.offsets)
    named = [(file.path, file.length, file.path.rpartition("/")[2]) for file in made.files]
    parsed = [(path, length, parse_wal_name(name)) for path, length, name in named if name.startswith(groups)]
    files = [InspectedFile(path, name, length) for path, length, name in parsed if name is not None]
    complete = complete_before(made.snapshot.files_step.started_at)
    dump = table_dump((), [row], {}, files, made.snapshot.peers, None, complete)
    queue, _, _ = distributed_text(dump, made.snapshot.wal_root, sizes=True).partition("\n\n")
    return [line for line in queue.splitlines() if not line.startswith(_POSITION)]


def _claimed_first(row: MergedQueueRow) -> tuple[bool, str]:
    return row.queue.source is not None, str(row.queue)


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
