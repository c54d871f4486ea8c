"""Reads `hbase:replication` of a stopped cluster: which regions to read, and what its WALs add to its store files.

ReplicationSyncUp reads only the store files (`OfflineTableReplicationQueueStorage`). It does not read the memstores,
which were lost with their servers, or the WALs of the table. So it does not see writes since the last flush.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.hbase.replication_queues import Cell

PUT, DELETE_FAMILY_VERSION, DELETE_FAMILY = 4, 10, 14
"""Codes of `KeyValue.Type`. Every other code that a WAL of this table can contain deletes one column."""


@dataclass(frozen=True, slots=True)
class Region:
    """The contents of `.regioninfo`.

    Attributes:
        name: the encoded name, which is also the name of the region's directory.
        region_id: the time of the region's creation, ms.
        start: the first row key.
        end: the first row key after the region; empty = the region has no end.
    """

    name: str
    region_id: int
    start: bytes
    end: bytes

    def overlaps(self, other: "Region") -> bool:
        """Returns whether some row key belongs to both regions."""
        return (not other.end or self.start < other.end) and (not self.end or other.start < self.end)


def regions_to_read(regions: Iterable[Region]) -> tuple[Region, ...]:
    """Returns the regions that hold the table now, by start key; of two regions that overlap, the younger one.

    This skips the remains of parents of a split or a merge, as `OfflineTableReplicationQueueStorage` does.
    """
    taken: list[Region] = []
    for region in sorted(regions, key=lambda one: (-one.region_id, one.start)):
        if not any(region.overlaps(other) for other in taken):
            taken.append(region)
    return tuple(sorted(taken, key=lambda one: one.start))


@dataclass(frozen=True, slots=True)
class TableEdit:
    """One cell of one entry in a WAL of `hbase:replication`.

    Attributes:
        region: the encoded name of the region.
        sequence_id: the sequence id of the entry; it only grows within a region.
        write_time: the write time of the entry, ms since the epoch.
        cell: the row, family, qualifier and value.
        kind: a code of `KeyValue.Type`.
    """

    region: str
    sequence_id: int
    write_time: int
    cell: Cell
    kind: int


@dataclass(frozen=True, slots=True)
class UnflushedColumn:
    """One column whose value in the table differs from its value in the store files.

    Attributes:
        cell: the cell with its current value; the value of a deleted cell is empty.
        deleted: whether only the store files have the cell, because the table has deleted it.
        write_time: the time of the last write, ms since the epoch.
    """

    cell: Cell
    deleted: bool
    write_time: int


def unflushed_columns(
    cells: Sequence[Cell], edits: Iterable[TableEdit], flushed: Mapping[tuple[str, str], int]
) -> tuple[UnflushedColumn, ...]:
    """Returns the columns that the WALs of the table change compared with its store files.

    Args:
        cells: the cells of the store files.
        edits: the edits in the WALs of the table, in any order.
        flushed: the highest sequence id in the store files, by encoded region and family.
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
        UnflushedColumn(Cell(*column, now.get(column, b"")), column not in now, written[column])
        for column in sorted(before.keys() | now.keys())
        if before.get(column) != now.get(column)
    )


def as_it_is(cells: Sequence[Cell], changes: Iterable[UnflushedColumn]) -> tuple[Cell, ...]:
    """Returns the current cells of the table, in scan order: those of the store files with the unflushed changes."""
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
