"""Predicts what MigrateReplicationQueueFromZkToTableProcedure writes, drops and throws on, from one ZooKeeper reading.

Follows `ZKReplicationQueueStorageForMigration`, `ReplicationPeerManager.migrateQueuesFromZk` and
`TableReplicationQueueStorage.batchUpdate…` of HBase 3.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pipelines.common.errors import MalformedError
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import GroupOffset
from pipelines.hbase.wal_names import parse_wal_name, wal_timestamp
from pipelines.hbase.zookeeper.queued_wals import group_of, queue_key
from pipelines.hbase.zookeeper.tree import HFILE_REFS, QUEUES, REGIONS, ReplicationTree, ZkQueue
from pipelines.queues.migration.rows import (
    LEGACY_ENDPOINT,
    LEGACY_PEER,
    Family,
    MigrationAction,
    MigrationReason,
    MigrationRow,
)
from pipelines.snapshot.model import too_new


@dataclass(frozen=True, slots=True)
class MigrationPeers:
    """The peers as HBase 3 will see them.

    Attributes:
        migrated: peers whose queues are written.
        legacy: peers of asynchronous region replicas, which HBase 3 removes at the end.
        enabled: those of `migrated` that are enabled; HBase disables them from the beginning of the migration until
            every region server runs HBase 3.
    """

    migrated: frozenset[str]
    legacy: frozenset[str]
    enabled: tuple[str, ...]

    @classmethod
    def of(cls, peers: Sequence[Peer]) -> "MigrationPeers":
        """Returns the peers of a snapshot."""
        legacy = {peer.peer_id for peer in peers if peer.peer_id == LEGACY_PEER or peer.endpoint == LEGACY_ENDPOINT}
        kept = [peer for peer in peers if peer.peer_id not in legacy]
        return cls(
            frozenset(peer.peer_id for peer in kept),
            frozenset(legacy),
            tuple(sorted(peer.peer_id for peer in kept if peer.state == "ENABLED")),
        )

    def dropped(self, peer_id: str) -> MigrationReason | None:
        """Returns why nothing of a peer is written; None = its data are written."""
        if peer_id in self.migrated:
            return None
        return MigrationReason.LEGACY_PEER if peer_id in self.legacy else MigrationReason.UNKNOWN_PEER


def migration_rows(
    tree: ReplicationTree, peers: MigrationPeers, lengths: Mapping[str, int], complete_before: int
) -> tuple[MigrationRow, ...]:
    """Returns one row for everything in ZooKeeper, with the action that the migration takes.

    Args:
        tree: the last reading, which has sequence ids and HFile references.
        peers: of the same snapshot.
        lengths: bytes of the listed WALs by name; at least those of WALs in queues.
        complete_before: see `pipelines.snapshot.model.complete_before`.
    """
    queues = [row for queue in tree.queues for row in _of_queue(queue, peers, lengths, complete_before)]
    sids = (
        _plain(Family.SEQUENCE_ID, peers, peer, f"{REGIONS}/{region}-{peer}", region, str(number))
        for (region, peer), number in sorted(tree.sequence_ids.items())
    )
    refs = (
        _plain(Family.HFILE_REF, peers, peer, f"{HFILE_REFS}/{peer}/{name}", name, "")
        for peer, names in sorted(tree.hfile_refs.items())
        for name in sorted(names)
    )
    return (*_collapsed(queues), *sids, *refs)


def _plain(family: Family, peers: MigrationPeers, peer: str, znode: str, qualifier: str, value: str) -> MigrationRow:
    why = peers.dropped(peer)
    action = MigrationAction.WRITE if why is None else MigrationAction.DROP
    reason = why.value if why else None
    return MigrationRow(family.value, action.value, reason, peer, None, None, znode, peer, qualifier, value)


def _of_queue(
    queue: ZkQueue, peers: MigrationPeers, lengths: Mapping[str, int], complete_before: int
) -> Iterator[MigrationRow]:
    """Yields the rows of a queue.

    HBase parses the positions of every queue, but the WAL names only of queues that it writes.
    """
    whole = MigrationRow(
        family=Family.QUEUE.value,
        action=MigrationAction.DROP.value,
        reason=None,
        peer_id=queue.queue.peer_id,
        owner=str(queue.owner),
        source=str(queue.source),
        znode=f"{QUEUES}/{queue.owner}/{queue.queue.text}",
        row=str(queue_key(queue)),
        qualifier=None,
        value=None,
    )
    why = peers.dropped(queue.queue.peer_id)
    if not queue.wals:
        yield replace(whole, reason=(why or MigrationReason.EMPTY_QUEUE).value)
    groups: dict[str, dict[str, int]] = {}
    blocked: set[str] = set()
    for wal, position in queue.wals.items():
        fault = _fault(wal, position, written=why is None)
        if fault is None:
            groups.setdefault(group_of(wal), {})[wal] = position or 0
        else:
            blocked.add(group_of(wal))
            yield replace(
                whole, action=MigrationAction.BLOCK.value, reason=fault.value, qualifier=group_of(wal), value=wal,
                wals=1, bytes=lengths.get(wal, 0), wal_listed=_listed(wal, lengths, complete_before),
            )  # fmt: skip
    # if a WAL of a group blocks, the offset of this group is unknown until the fault is fixed
    for group, wals in sorted(item for item in groups.items() if item[0] not in blocked):
        size = sum(lengths.get(wal, 0) for wal in wals)
        of_group = replace(whole, qualifier=group, wals=len(wals), bytes=size)
        if why is not None:
            yield replace(of_group, reason=why.value)
            continue
        offsets = first_offsets(wals)[group]
        reason = MigrationReason.SAME_TIMESTAMP.value if len(offsets) > 1 else None
        for offset in offsets:
            listed = _listed(offset.wal, lengths, complete_before)
            yield replace(
                of_group, action=MigrationAction.WRITE.value, reason=reason, value=str(offset), wal_listed=listed
            )


def first_offsets(wals: Mapping[str, int]) -> dict[str, tuple[GroupOffset, ...]]:
    """Returns the offset that is written for each WAL group: the WAL with the smallest timestamp, and its position.

    This is what `ReplicationPeerManager.convert` does (golden migrate-convert.tsv).

    Args:
        wals: position by WAL name.

    Returns:
        By group, sorted. A group has several offsets if WALs share the smallest timestamp: HBase writes the one that
        its hash map returns first.

    Raises:
        MalformedError: where HBase throws: on an invalid WAL name or, in a group of several WALs, on a timestamp of
            more than 64 bits. The procedure then retries forever.
    """
    groups: dict[str, list[GroupOffset]] = {}
    for wal, position in wals.items():
        name = parse_wal_name(wal)
        if name is None:
            raise MalformedError(f"{wal} is not a valid wal file name")
        groups.setdefault(name.group, []).append(GroupOffset(wal, position))
    return {group: _first(groups[group]) for group in sorted(groups)}


def _first(offsets: list[GroupOffset]) -> tuple[GroupOffset, ...]:
    if len(offsets) == 1:  # HBase does not parse the timestamp of a single WAL
        return tuple(offsets)
    numbers = {offset: _number(offset.wal) for offset in offsets}
    smallest = min(numbers.values())
    return tuple(sorted(offset for offset, number in numbers.items() if number == smallest))


def _number(wal: str) -> int:
    name = parse_wal_name(wal)
    if name is None or name.timestamp is None:
        raise MalformedError(f"the timestamp of {wal} does not fit 64 bits")
    return name.timestamp


def _listed(wal: str, lengths: Mapping[str, int], complete_before: int) -> bool | None:
    """Returns whether the listing has a WAL; None = it lacks a WAL that may have been created after it began."""
    if wal in lengths:
        return True
    return None if too_new(wal, complete_before) else False


def _fault(wal: str, position: int | None, *, written: bool) -> MigrationReason | None:
    """Returns why HBase throws on one WAL of a queue; None = it does not.

    A timestamp of more than 64 bits stops the migration only next to another WAL of the same group. Alone, it becomes a
    row that HBase 3's cleaner throws on.
    """
    if position is None:
        return MigrationReason.UNREADABLE_POSITION
    if not written:
        return None
    if parse_wal_name(wal) is None:
        return MigrationReason.INVALID_WAL_NAME
    try:
        wal_timestamp(wal)
    except MalformedError:
        return MigrationReason.WAL_TIMESTAMP
    return None


def _collapsed(rows: Sequence[MigrationRow]) -> list[MigrationRow]:
    """Marks cells that several queues of one server write with different values: only one value survives."""
    values: dict[tuple[str, str | None], set[str | None]] = {}
    znodes: dict[tuple[str, str | None], Counter[str]] = {}
    for row in rows:
        if row.action == MigrationAction.WRITE.value:
            values.setdefault((row.row, row.qualifier), set()).add(row.value)
            znodes.setdefault((row.row, row.qualifier), Counter())[row.znode] += 1
    lost = {cell for cell, found in values.items() if len(found) > 1 and len(znodes[cell]) > 1}
    return [
        replace(row, reason=MigrationReason.COLLAPSED.value)
        if row.action == MigrationAction.WRITE.value and (row.row, row.qualifier) in lost
        else row
        for row in rows
    ]


def offset_of(value: str | None) -> GroupOffset | None:
    """Returns the offset in a value `<wal>:<position>`."""
    wal, colon, position = (value or "").rpartition(":")
    with suppress(ValueError):
        return GroupOffset(wal, int(position)) if colon else None
    return None
