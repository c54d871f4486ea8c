"""Combines both readings of the queues in ZooKeeper for the rule, which looks WALs up by their exact name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.hbase.replication_queues import GroupOffset, QueueId
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.hbase.zookeeper.tree import ReplicationTree, ZkQueue


@dataclass(frozen=True)
class QueuedWals:
    """The WALs that are in a queue in either reading.

    Attributes:
        read_from: the start of the first reading, ms since the epoch. The readings may miss a file that is archived
            later.
        queues_of: by WAL name, every queue of either reading that has the WAL, sorted, with the smaller position; None
            = the position is unreadable in every reading that has it.
        first_reading: the WAL names in the first reading: the names that HBase's own cleaner would have seen then.
    """

    read_from: int
    queues_of: Mapping[str, tuple[tuple[QueueId, int | None], ...]] = field(default_factory=dict)
    first_reading: frozenset[str] = frozenset()


def queued_wals(trees: Sequence[ReplicationTree], read_from: int) -> QueuedWals:
    """Combines both readings: a WAL that is in a queue of either reading counts as queued.

    Args:
        trees: the first and the second reading.
        read_from: the start of step queues-1, ms.
    """
    merged: dict[str, dict[QueueId, int | None]] = {}
    for tree in trees:
        for queue in tree.queues:
            key = queue_key(queue)
            for wal, position in queue.wals.items():
                queues = merged.setdefault(wal, {})
                known = [value for value in (queues.get(key), position) if value is not None]
                queues[key] = min(known, default=None)
    first = trees[0].queues if trees else ()
    return QueuedWals(
        read_from,
        {wal: tuple(sorted(queues.items(), key=lambda item: item[0].key)) for wal, queues in merged.items()},
        frozenset(wal for queue in first for wal in queue.wals),
    )


def queue_key(queue: ZkQueue) -> QueueId:
    """Returns the key that identifies a queue in all tables.

    The key has the peer, the current owner and, for a claimed queue, the first owner.

    Two queues of one server that were claimed by different paths from the same first owner have the same key.
    """
    source = queue.source
    return QueueId(queue.queue.peer_id, queue.owner, source if queue.queue.dead_servers else None)


def first_wals(trees: Iterable[ReplicationTree]) -> Mapping[QueueId, Mapping[str, GroupOffset]]:
    """Returns, for each queue and WAL group, the WAL to be read next and its position; an empty queue has no group.

    This is the WAL with the smallest timestamp in its name, because a queue's znodes have no other order.
    """
    found: dict[QueueId, dict[str, GroupOffset]] = {}
    for tree in trees:
        for queue in tree.queues:
            groups = found.setdefault(queue_key(queue), {})
            for wal, position in queue.wals.items():
                group = group_of(wal)
                offset = GroupOffset(wal, position or 0)
                known = groups.get(group)
                groups[group] = offset if known is None else min(known, offset, key=_first)
    return found


def group_of(wal: str) -> str:
    """Returns the WAL group of a name, or the name itself if it is not a WAL name."""
    name = parse_wal_name(wal)
    return wal if name is None else name.group


def number_of(wal: str) -> int | None:
    """Returns the timestamp of a WAL name, ms; None if it has no timestamp that fits in 64 bits."""
    name = parse_wal_name(wal)
    return None if name is None else name.timestamp


def unsettled_reason(trees: Sequence[ReplicationTree]) -> str | None:
    """Returns why queues may have moved without being seen by the two readings; None = they did not.

    A claim changes the cversion of `rs`: HBase 2 creates and deletes a child of `rs` for this purpose (HBASE-12865),
    and HBase 1 deletes the dead server's znode at the end. HBase 1 also compares the cversions of `rs/<server>`, and so
    does this function, because a copy without a ZooKeeper multi takes time. A claim that has already begun moves a WAL
    only once, so one of the readings sees the WAL. A further claim first creates a lock or a queue, so no server's
    znode may change until all queues have been read (docs/proof.md).
    """
    if len(trees) < 2:
        return "the queues were not read twice"
    first, last = trees[0], trees[-1]
    if first.opened is None or last.closed is None:
        where = "before the first" if first.opened is None else "after the second"
        return f"the cversion of rs was not read {where} reading of the queues"
    seen = [value for tree in trees for value in (tree.opened, tree.closed) if value is not None]
    if len(set(seen)) > 1:
        return f"servers or queues moved while they were read: the cversion of rs went from {seen[0]} to {max(seen)}"
    for server in sorted(first.cversions):
        looks = (first.cversions, last.cversions, last.cversions_after)
        if len({look[server] for look in looks if server in look}) > 1:
            return f"a queue or the lock of {server} came or went while the queues were read"
    return None


def _first(offset: GroupOffset) -> tuple[int, str, int]:
    number = number_of(offset.wal)
    return (-1 if number is None else number, offset.wal, offset.offset)
