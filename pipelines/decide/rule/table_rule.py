"""The rule for queues in `hbase:replication`: a file is held if the offset of a queue row does not lie behind it.

`verdict.decide` asks it after every reason that does not depend on the queues.
"""

from pipelines.decide.rule.cluster_view import ClusterView, MergedQueueRow
from pipelines.decide.rule.verdict import Decision, Holder, Reason, deletable, held
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import is_replication_table_group, parse_wal_name


def decide_by_offset(view: ClusterView, name: str) -> Decision:
    """Decides a file by the group and timestamp in its name; at least one peer exists."""
    wal = parse_wal_name(name)
    if wal is None:
        return held(Reason.UNDECIDED)
    if wal.is_meta:
        return deletable(Reason.META_WAL)
    if wal.server is None or wal.timestamp is None:
        return held(Reason.POISON_NAME)
    return decide_replication(view, wal.server, wal.group, wal.timestamp)


def decide_replication(view: ClusterView, server: ServerName, group: str, timestamp: int) -> Decision:
    """Decides a WAL by the queue rows; at least one peer exists.

    For one (server, group), the answer changes only where `timestamp` passes a row's need, which makes the fast form
    possible.
    """
    alive = server in view.not_fully_dead
    source_rows = view.rows_of_source.get(server, ())
    if alive and is_replication_table_group(group, server) and not any(group in row.offsets for row in source_rows):
        released = view.release.replication_table_wals
        return deletable(Reason.REPLICATION_TABLE_WAL) if released else held(Reason.REPLICATION_TABLE_WAL)
    queues = {peer: view.queues(peer, server) for peer in view.peer_ids}
    missing = tuple(peer for peer, rows in queues.items() if not rows)
    if missing and not alive and view.restless is not None:
        return held(Reason.CLUSTER_MOVED, _without_queue(missing, server))
    if missing and alive and server not in view.online and server not in view.crashing:
        return held(Reason.LEFTOVER_WAL_DIR, _without_queue(missing, server))
    needing = tuple(
        _holder(row, server, group) for rows in queues.values() for row in rows if timestamp >= row.need(group)
    )
    all_have_offset = all(any(group in row.offsets for row in rows) for rows in queues.values())
    if alive and not all_have_offset:
        return held(Reason.QUEUE_MISSING, _sorted(needing + _without_queue(missing, server)))
    if needing:
        return held(Reason.PENDING, _sorted(needing))
    if any(queues.values()):
        return deletable(Reason.REPLICATED)
    if not alive:
        return deletable(Reason.DEAD_NO_QUEUE)
    return held(Reason.UNDECIDED)


def _holder(row: MergedQueueRow, source: ServerName, group: str) -> Holder:
    offset = row.offsets.get(group)
    return Holder(
        row.queue.peer_id, row.queue.owner, source, offset.wal if offset else None, offset.offset if offset else None
    )


def _without_queue(peers: tuple[str, ...], source: ServerName) -> tuple[Holder, ...]:
    return tuple(Holder(peer, None, source, None, None) for peer in peers)


def _sorted(holders: tuple[Holder, ...]) -> tuple[Holder, ...]:
    return tuple(sorted(holders, key=lambda holder: (holder.peer_id, str(holder.owner or ""), str(holder.source))))
