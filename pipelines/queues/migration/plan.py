"""What MigrateReplicationQueueFromZkToTableProcedure would write, drop and stumble over, from one reading of ZooKeeper.

`ZKReplicationQueueStorageForMigration`, `ReplicationPeerManager.migrateQueuesFromZk` and
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
from pipelines.hbase.zookeeper.queued import group_of, queue_key
from pipelines.hbase.zookeeper.tree import HFILE_REFS, QUEUES, REGIONS, ReplicationTree, ZkQueue
from pipelines.queues.migration.convert import first_offsets
from pipelines.queues.migration.rows import LEGACY_ENDPOINT, LEGACY_PEER, Action, Family, MigrationRow, Why


@dataclass(frozen=True, slots=True)
class MigrationPeers:
    """The peers as HBase 3 will see them.

    Attributes:
        migrated: those whose queues are written.
        legacy: of asynchronous region replicas: removed at the end.
        enabled: of the first; disabled from the beginning of the migration until every region server runs HBase 3.
    """

    migrated: frozenset[str]
    legacy: frozenset[str]
    enabled: tuple[str, ...]

    @classmethod
    def of(cls, peers: Sequence[Peer]) -> "MigrationPeers":
        """From a snapshot."""
        legacy = {peer.peer_id for peer in peers if peer.peer_id == LEGACY_PEER or peer.endpoint == LEGACY_ENDPOINT}
        kept = [peer for peer in peers if peer.peer_id not in legacy]
        return cls(
            frozenset(peer.peer_id for peer in kept),
            frozenset(legacy),
            tuple(sorted(peer.peer_id for peer in kept if peer.state == "ENABLED")),
        )

    def dropped(self, peer_id: str) -> Why | None:
        """Why nothing of a peer is written; None = it is."""
        if peer_id in self.migrated:
            return None
        return Why.LEGACY_PEER if peer_id in self.legacy else Why.UNKNOWN_PEER


def migration_rows(
    tree: ReplicationTree, peers: MigrationPeers, lengths: Mapping[str, int]
) -> tuple[MigrationRow, ...]:
    """Everything in ZooKeeper, and what becomes of it.

    Args:
        tree: the last reading, which has sequence ids and HFile references.
        peers: of the same snapshot.
        lengths: bytes of the listed WALs by name, of those in queues at least.
    """
    queues = [row for queue in tree.queues for row in _of_queue(queue, peers, lengths)]
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
    action = Action.WRITE if why is None else Action.DROP
    reason = why.value if why else None
    return MigrationRow(family.value, action.value, reason, peer, None, None, znode, peer, qualifier, value)


def _of_queue(queue: ZkQueue, peers: MigrationPeers, lengths: Mapping[str, int]) -> Iterator[MigrationRow]:
    """Positions are read whoever's queue it is; names are looked at only where they are written."""
    whole = MigrationRow(
        family=Family.QUEUE.value,
        action=Action.DROP.value,
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
        yield replace(whole, reason=(why or Why.EMPTY_QUEUE).value)
    groups: dict[str, dict[str, int]] = {}
    blocked: set[str] = set()
    for wal, position in queue.wals.items():
        fault = _fault(wal, position, written=why is None)
        if fault is None:
            groups.setdefault(group_of(wal), {})[wal] = position or 0
        else:
            blocked.add(group_of(wal))
            yield replace(
                whole, action=Action.BLOCK.value, reason=fault.value, qualifier=group_of(wal), value=wal, wals=1,
                bytes=lengths.get(wal, 0), wal_listed=wal in lengths,
            )  # fmt: skip
    # where the first WAL of a group may be the one that blocks, nobody knows what is written once that is mended
    for group, wals in sorted(item for item in groups.items() if item[0] not in blocked):
        size = sum(lengths.get(wal, 0) for wal in wals)
        of_group = replace(whole, qualifier=group, wals=len(wals), bytes=size)
        if why is not None:
            yield replace(of_group, reason=why.value)
            continue
        offsets = first_offsets(wals)[group]
        reason = Why.SAME_TIMESTAMP.value if len(offsets) > 1 else None
        for offset in offsets:
            listed = offset.wal in lengths
            yield replace(of_group, action=Action.WRITE.value, reason=reason, value=str(offset), wal_listed=listed)


def _fault(wal: str, position: int | None, *, written: bool) -> Why | None:
    """Why HBase throws on one WAL of a queue.

    A timestamp of more than 64 bits stops the migration only beside a WAL of the same group, but alone it becomes a row
    that HBase 3's cleaner throws on.
    """
    if position is None:
        return Why.UNREADABLE_POSITION
    if not written:
        return None
    if parse_wal_name(wal) is None:
        return Why.INVALID_WAL_NAME
    try:
        wal_timestamp(wal)
    except MalformedError:
        return Why.WAL_TIMESTAMP
    return None


def _collapsed(rows: Sequence[MigrationRow]) -> list[MigrationRow]:
    """Marks cells that several queues of one server are written to, with values that differ: one of them is lost."""
    values: dict[tuple[str, str | None], set[str | None]] = {}
    znodes: dict[tuple[str, str | None], Counter[str]] = {}
    for row in rows:
        if row.action == Action.WRITE.value:
            values.setdefault((row.row, row.qualifier), set()).add(row.value)
            znodes.setdefault((row.row, row.qualifier), Counter())[row.znode] += 1
    lost = {cell for cell, found in values.items() if len(found) > 1 and len(znodes[cell]) > 1}
    return [
        replace(row, reason=Why.COLLAPSED.value)
        if row.action == Action.WRITE.value and (row.row, row.qualifier) in lost
        else row
        for row in rows
    ]


def offset_of(value: str | None) -> GroupOffset | None:
    """The offset in a value `<wal>:<position>`."""
    wal, colon, position = (value or "").rpartition(":")
    with suppress(ValueError):
        return GroupOffset(wal, int(position)) if colon else None
    return None
