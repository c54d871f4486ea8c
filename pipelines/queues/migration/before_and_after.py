"""The two sides of a verification: the content of ZooKeeper before, and of the table after the migration."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pipelines.common.errors import MalformedError
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell, GroupOffset, QueueCell, QueueId
from pipelines.queues.migration.plan import MigrationPeers
from pipelines.queues.migration.rows import Family, MigrationAction, MigrationReason, MigrationRow
from pipelines.snapshot.model import MasterFlags
from pipelines.snapshot.other_families import SEQUENCE_ID_FAMILY, peer_and_name

_LONG = 8


@dataclass(frozen=True)
class BeforeMigration:
    """The content of ZooKeeper before the migration.

    Attributes:
        states: ENABLED or DISABLED by peer, including the legacy peer.
        rows: everything in ZooKeeper, with the action that the migration takes.
        read_at: start of the last reading, ms since the epoch; servers that started later had no queue in ZooKeeper.
    """

    states: Mapping[str, str]
    peers: MigrationPeers
    rows: tuple[MigrationRow, ...]
    read_at: int

    def written(self, family: Family) -> Iterator[MigrationRow]:
        """Yields what should have been written to a column family."""
        return (row for row in self.rows if row.action == MigrationAction.WRITE.value and row.family == family.value)

    def empty_queues(self) -> frozenset[tuple[str, str]]:
        """Returns peer and source of the queues without a WAL: the migration writes no row for them."""
        empty = MigrationReason.EMPTY_QUEUE.value
        return frozenset((row.peer_id, row.source or "") for row in self.rows if row.reason == empty)


@dataclass(frozen=True)
class AfterMigration:
    """The content of the table after the migration.

    Attributes:
        states: ENABLED or DISABLED by peer.
        rows: offsets by row and WAL group, of the last scan.
        complete_before: see `pipelines.snapshot.model.complete_before`.
        sequence_ids: by peer and encoded region.
        hfile_refs: by peer.
        listed: names of WALs of these offsets that the listing has.
        flags: of both readings.
    """

    states: Mapping[str, str]
    rows: Mapping[QueueId, Mapping[str, GroupOffset]]
    complete_before: int
    sequence_ids: Mapping[tuple[str, str], int] = field(default_factory=dict)
    hfile_refs: Mapping[str, Collection[str]] = field(default_factory=dict)
    listed: frozenset[str] = frozenset()
    flags: tuple[MasterFlags | None, ...] = ()


def may_have_moved(before: BeforeMigration, after: AfterMigration, peer: str) -> bool:
    """Tell whether a peer was enabled in either capture, so that its queues may have moved between them."""
    return "ENABLED" in (before.states.get(peer), after.states.get(peer))


def states_of(peers: Iterable[Peer]) -> dict[str, str]:
    """Returns the state by peer id."""
    return {peer.peer_id: peer.state for peer in peers}


def rows_of(cells: Iterable[QueueCell]) -> dict[QueueId, dict[str, GroupOffset]]:
    """Returns the offsets by row and group; of a cell that was scanned twice, the last value counts."""
    rows: dict[QueueId, dict[str, GroupOffset]] = {}
    for cell in cells:
        rows.setdefault(cell.queue, {})[cell.group] = cell.offset
    return rows


def sequence_ids_of(cells: Iterable[Cell]) -> dict[tuple[str, str], int]:
    """Returns the last pushed sequence ids (`TableReplicationQueueStorage`): 8 bytes per region in the peer's row.

    Raises:
        MalformedError: a value does not have 8 bytes, or a name is not UTF-8.
    """
    found = {}
    for cell in cells:
        if cell.family == SEQUENCE_ID_FAMILY:
            if len(cell.value) != _LONG:
                raise MalformedError(f"row {cell.row!r}, sid:{cell.qualifier!r}: not 8 bytes but {len(cell.value)}")
            found[peer_and_name(cell)] = int.from_bytes(cell.value, "big", signed=True)
    return found
