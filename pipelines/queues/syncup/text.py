"""The result of plan-syncup, as text and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from pipelines.common.human import human_amount, human_bytes, human_count, human_duration, human_instant
from pipelines.common.instants import format_instant
from pipelines.lake.findings import ERROR, finding_lines
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.syncup.findings import resent_words
from pipelines.queues.syncup.plan import SyncUpPlan
from pipelines.queues.syncup.rows import SyncUpAction, SyncUpPeerRow, SyncUpQueueRow, SyncUpWalRow
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER, Snapshot
from pipelines.snapshot.syncup_facts import SyncUpFacts

_SHOWN = 20
_TOOL = "hbase org.apache.hadoop.hbase.replication.regionserver.ReplicationSyncUp"
_SLEEPS = (30, 60)
"""Seconds that `ReplicationSourceManager.claimQueue` of HBase 2 sleeps before each queue: one to two times
`replication.sleep.before.failover`, 30 s by default."""
_DOES = {
    SyncUpAction.SHIP: "ships it",
    SyncUpAction.WAITS: "WAITS FOR EVER",
    SyncUpAction.REMOVED_PEER: "leaves it: the peer does not exist",
    SyncUpAction.STANDBY: "drops it: the peer is STANDBY",
    SyncUpAction.MOVES: "MOVES it and ships nothing: the peer is disabled",
    SyncUpAction.EMPTY: "removes it: no WAL is in it",
}


def plan_result(
    snapshot: Snapshot,
    facts: SyncUpFacts,
    plan: SyncUpPlan,
    queues: Sequence[SyncUpQueueRow],
    wals: Sequence[SyncUpWalRow],
    peers: Sequence[SyncUpPeerRow],
) -> dict[str, object]:
    """Returns the plan's part of the JSON object; keys are the column names of the tables."""
    table = facts.table
    of_queue: dict[str, list[dict[str, object]]] = {}
    for wal in wals:
        of_queue.setdefault(wal.queue, []).append(_without_queue(wal))
    return {
        "files_started_at": format_instant(snapshot.files_step.started_at),
        "command": syncup_command(facts),
        "servers": [str(server) for server in plan.servers],
        "flag_files": [f"{facts.root}/ReplicationSyncUp/{server}" for server in ("info", *plan.servers)]
        if snapshot.queue_storage == QUEUE_STORAGE_TABLE
        else [],
        "leftover_flag_files": [flag.name for flag in facts.flags],
        "flushed_at": None if table is None or table.flushed_at is None else format_instant(table.flushed_at),
        "unflushed_until": None if table is None or table.last_written is None else format_instant(table.last_written),
        "unflushed_columns": None if table is None or table.unknown is not None else len(table.unflushed),
        "bytes": sum(row.bytes for row in queues),
        "peers": [asdict(row) for row in peers],
        "queues": [{**asdict(row), "wals": of_queue.get(row.queue, [])} for row in queues],
    }


def syncup_command(facts: SyncUpFacts) -> str:
    """Returns the command to run; with `-f` if an earlier run left its `info` flag file."""
    return f"{_TOOL} -f" if any(flag.name == "info" for flag in facts.flags) else _TOOL


def plan_lines(
    snapshot: Snapshot,
    facts: SyncUpFacts,
    plan: SyncUpPlan,
    queues: Sequence[SyncUpQueueRow],
    peers: Sequence[SyncUpPeerRow],
    findings: Sequence[FindingRow],
) -> Iterator[str]:
    """Yields the text for the on-call engineer."""
    yield from _head(snapshot, facts, plan, queues)
    yield from _peer_lines(peers)
    yield from _queue_lines(queues)
    yield from finding_lines(findings)
    errors = any(row.severity == ERROR and not row.acknowledged for row in findings)
    before = "do not run it before you have read the errors above; the command is" if errors else "to do it:"
    yield ""
    yield f"  {before} {syncup_command(facts)}"


def _without_queue(row: SyncUpWalRow) -> dict[str, object]:
    return {name: value for name, value in asdict(row).items() if name not in {"queue", "peer_id", "source"}}


def _head(snapshot: Snapshot, facts: SyncUpFacts, plan: SyncUpPlan, queues: Sequence[SyncUpQueueRow]) -> Iterator[str]:
    size = human_bytes(sum(row.bytes for row in queues))
    made = sum(row.is_placeholder for row in queues)
    of_these = f" ({human_count(made, 'placeholder')} among them)" if made else ""
    count = sum(row.action != SyncUpAction.REMOVED_PEER.value for row in queues)
    servers, claimed = human_count(len(plan.servers), "server"), human_count(count, "queue")
    yield f"cluster {snapshot.cluster}: ReplicationSyncUp would claim {claimed}{of_these} of {servers}, and read {size}"
    if snapshot.queue_storage == QUEUE_STORAGE_ZOOKEEPER:
        yield (
            "  offsets: as in ZooKeeper; at most the last batch of each queue is sent again, and what two queues of a "
            "peer both name"
        )
        least, most = (human_duration(len(queues) * seconds * 1000) for seconds in _SLEEPS)
        yield f"  it claims one queue after the other, by default within {least} to {most}"
        return
    table = facts.table
    if table is None:
        yield "  offsets: as exported; what ReplicationSyncUp reads may be older"
        return
    flushed = "never" if table.flushed_at is None else human_instant(table.flushed_at)
    if table.unknown is not None:
        yield f"  offsets: as flushed {flushed}; what was written since is not known: {table.unknown}"
    elif table.last_written is None:
        yield f"  offsets: as flushed {flushed}; nothing was written since"
    else:
        columns, until = human_count(len(table.unflushed), "column"), human_instant(table.last_written)
        yield f"  offsets: as flushed {flushed}; {columns} written since, until {until}"
    if resent := sum(row.resent_bytes or 0 for row in queues):
        yield f"  {resent_words(resent)}"


def _peer_lines(peers: Sequence[SyncUpPeerRow]) -> Iterator[str]:
    for row in peers[:_SHOWN]:
        yield ""
        yield f"  peer {row.peer_id} ({row.peer_state or 'removed'}), {row.cluster_key or 'cluster unknown'}"
        files, queues = human_count(row.files, "WAL"), human_count(row.queues, "queue")
        yield f"    {files}, {human_bytes(row.bytes)} in {queues}"
        if row.hfile_refs:
            yield f"    {human_count(row.hfile_refs, 'HFile')} of bulk loads waiting"
        if row.last_sequence_ids:
            yield f"    {human_count(row.last_sequence_ids, 'region')} with a last pushed sequence id"
    if len(peers) > _SHOWN:
        yield f"  … and {len(peers) - _SHOWN:,} peers more; `peers` in the JSON has every one"


def _queue_lines(queues: Sequence[SyncUpQueueRow]) -> Iterator[str]:
    for row in sorted(queues, key=lambda row: (-row.bytes, row.queue))[:_SHOWN]:
        yield ""
        yield f"  {'placeholder' if row.is_placeholder else 'queue'} {row.queue}: {_DOES[SyncUpAction(row.action)]}"
        if row.reason:
            yield f"    {row.reason}"
        if row.first_path is not None:
            size = human_amount(row.files, row.bytes, "WAL")
            yield f"    {size}, from {row.first_path}:{row.first_start}"
        if row.missing_files:
            yield f"    {human_count(row.missing_files, 'WAL')} of its offsets MISSING"
    if len(queues) > _SHOWN:
        yield f"  … and {len(queues) - _SHOWN:,} queues more; `queues` in the JSON has every one"
