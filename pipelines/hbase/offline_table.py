"""`hbase:replication` of a cluster that is down: which regions count, and what its WALs add to its store files.

ReplicationSyncUp reads the store files alone (`OfflineTableReplicationQueueStorage`): neither memstores, which are gone
with their servers, nor the WALs of the table. What was written since the last flush it does not see.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.hbase.replication_queues import Cell

PUT, DELETE_FAMILY_VERSION, DELETE_FAMILY = 4, 10, 14
"""Codes of `KeyValue.Type`; all others that a WAL of this table can have delete one column."""


@dataclass(frozen=True, slots=True)
class Region:
    """What `.regioninfo` says.

    Attributes:
        name: encoded name, which is that of its directory.
        region_id: time of its creation, ms.
        start: first row key.
        end: row key behind the last; empty = no end.
    """

    name: str
    region_id: int
    start: bytes
    end: bytes

    def overlaps(self, other: "Region") -> bool:
        """Whether some row key is in both."""
        return (not other.end or self.start < other.end) and (not self.end or other.start < self.end)


def regions_to_read(regions: Iterable[Region]) -> tuple[Region, ...]:
    """Those that hold the table now, by start key: of two that overlap the younger one.

    What is left of parents of a split or a merge is passed over so (`OfflineTableReplicationQueueStorage`).
    """
    taken: list[Region] = []
    for region in sorted(regions, key=lambda one: (-one.region_id, one.start)):
        if not any(region.overlaps(other) for other in taken):
            taken.append(region)
    return tuple(sorted(taken, key=lambda one: one.start))


@dataclass(frozen=True, slots=True)
class TableEdit:
    """One cell of one entry of a WAL of `hbase:replication`.

    Attributes:
        region: encoded name.
        sequence_id: of the entry; those of one region only rise.
        write_time: of the entry, ms since the epoch.
        cell: row, family, qualifier, value.
        kind: code of `KeyValue.Type`.
    """

    region: str
    sequence_id: int
    write_time: int
    cell: Cell
    kind: int


@dataclass(frozen=True, slots=True)
class Unflushed:
    """One column that stands differently in the table than in its store files.

    Attributes:
        cell: as it really is; the value of a deleted one is empty.
        deleted: it is in the store files alone.
        write_time: when it was written last, ms since the epoch.
    """

    cell: Cell
    deleted: bool
    write_time: int


def unflushed(
    cells: Sequence[Cell], edits: Iterable[TableEdit], flushed: Mapping[tuple[str, str], int]
) -> tuple[Unflushed, ...]:
    """What the WALs of the table hold beyond its store files.

    Args:
        cells: of the store files.
        edits: of the WALs of the table, in any order.
        flushed: by encoded region and family, the highest sequence id in its store files.
    """
    before = {_column(cell): cell.value for cell in cells}
    now, written = dict(before), dict.fromkeys(before, 0)
    for edit in sorted(edits, key=lambda one: (one.region, one.sequence_id)):
        family = edit.cell.family.decode("utf-8", errors="replace")
        if edit.sequence_id <= flushed.get((edit.region, family), -1):
            continue
        for column in _touched(edit, now):
            written[column] = edit.write_time
            if edit.kind == PUT:
                now[column] = edit.cell.value
            else:
                del now[column]
    return tuple(
        Unflushed(Cell(*column, now.get(column, b"")), column not in now, written[column])
        for column in sorted(before.keys() | now.keys())
        if before.get(column) != now.get(column)
    )


def as_it_is(cells: Sequence[Cell], changes: Iterable[Unflushed]) -> tuple[Cell, ...]:
    """The cells of the store files with what was not flushed, in scan order."""
    table = {_column(cell): cell for cell in cells}
    for change in changes:
        table[_column(change.cell)] = change.cell
    gone = {_column(change.cell) for change in changes if change.deleted}
    return tuple(table[column] for column in sorted(table) if column not in gone)


def _column(cell: Cell) -> tuple[bytes, bytes, bytes]:
    return cell.row, cell.family, cell.qualifier


def _touched(edit: TableEdit, table: Mapping[tuple[bytes, bytes, bytes], bytes]) -> list[tuple[bytes, bytes, bytes]]:
    if edit.kind == PUT:
        return [_column(edit.cell)]
    if edit.kind in {DELETE_FAMILY, DELETE_FAMILY_VERSION}:
        return [column for column in table if column[:2] == (edit.cell.row, edit.cell.family)]
    return [column for column in table if column == _column(edit.cell)]
