"""Tallies one WAL by table and by what decides whether a peer wants an entry. Memory: one row per table and cut."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pipelines.common.errors import MalformedError
from pipelines.hbase.protobuf_wire import LENGTH, fields
from pipelines.hbase.wal_format.cells import META_FAMILY
from pipelines.hbase.wal_format.header import WalHeader
from pipelines.hbase.wal_format.reader import WalEnd, WalReader
from pipelines.hbase.wal_format.wal_key import SCOPE_GLOBAL, WalKey

BULK_LOAD = b"HBASE::BULK_LOAD"
REPLICATION_MARKER = b"HBASE::REPLICATION_MARKER"
_STORES, _FAMILY_NAME = 3, 1  # field numbers in BulkLoadDescriptor and StoreDescriptor


@dataclass(frozen=True, slots=True)
class EntryShare:
    """Entries that every peer treats alike.

    Attributes:
        cut: the entries begin at or after this offset, and before the next cut.
        table: `namespace:table`, without the default namespace.
        families: families of their cells with replication scope 1, sorted.
        marker: whether they are replication markers, which every peer is sent.
        entries: number of entries.
        cells: number of their cells.
        bytes: bytes that they take in the file.
        foreign: how many of them came from another cluster; a peer that they came through is not sent them.
    """

    cut: int
    table: str
    families: tuple[str, ...]
    marker: bool
    entries: int
    cells: int
    bytes: int
    foreign: int


@dataclass(frozen=True, slots=True)
class WalContents:
    """The tally of one file, read to its end or to the point where it cannot be read.

    Attributes:
        ending: how it ends.
        problem: a description; None if nothing is wrong.
        header: None if there is none.
        header_end: offset of the first entry.
        good_end: offset behind the last whole entry.
        length: total bytes read; None if reading stopped before the end.
        shares: the entries, one row per cut, table and treatment.
        boundaries: the cuts at which an entry begins, or the last one ends.
        first, last: keys of the first and last entry of the file.
        header_damaged: see `WalReader.header_damaged`.
    """

    ending: WalEnd
    problem: str | None
    header: WalHeader | None
    header_end: int
    good_end: int
    length: int | None
    shares: tuple[EntryShare, ...]
    boundaries: frozenset[int]
    first: WalKey | None = None
    last: WalKey | None = None
    header_damaged: bool = False

    @property
    def entries(self) -> int:
        """Number of whole entries."""
        return sum(share.entries for share in self.shares)

    @property
    def cells(self) -> int:
        """Number of cells in whole entries."""
        return sum(share.cells for share in self.shares)

    @property
    def is_plain(self) -> bool:
        """Whether a reader can begin at any entry; in a compressed file, it needs the entries before it."""
        return self.header is not None and not self.header.compressed

    @property
    def is_read(self) -> bool:
        """Whether all entries that replication would find are known."""
        return self.ending in {WalEnd.CLOSED, WalEnd.OPEN, WalEnd.TORN}


class _Families:
    """Collects the column families of one entry."""

    def __init__(self) -> None:
        self.names: set[bytes] = set()
        self.meta: list[tuple[bytes, bytes | None]] = []

    def visit(
        self, _row: bytes, family: bytes, qualifier: bytes, _stamp: bytes, _length: int, value: bytes | None
    ) -> None:
        """See `Visit`."""
        if family == META_FAMILY:
            self.meta.append((qualifier, value))
        else:
            self.names.add(family)

    def take(self, key: WalKey) -> tuple[tuple[str, ...], bool]:
        """Returns the families with replication scope 1 and whether the entry is a marker; resets the state."""
        marker = False
        if self.meta:
            marker = [qualifier for qualifier, _ in self.meta] == [REPLICATION_MARKER] and not self.names
            for qualifier, value in self.meta:
                if qualifier == BULK_LOAD:
                    self.names |= _loaded_families(value, key)
            self.meta.clear()
        scopes = key.scopes
        families = sorted(
            family.decode("utf-8", errors="replace") for family in self.names if scopes.get(family) == SCOPE_GLOBAL
        )
        self.names.clear()
        return tuple(families), marker


def tally_wal(read: Callable[[int], bytes], cuts: Iterable[int] = ()) -> WalContents:
    """Read a file and tally it.

    Args:
        read: returns the next bytes of the file, at most as many as requested; empty at the end.
        cuts: offsets at which the tally is split; 0 is always one.
    """
    marks = sorted({0, *(cut for cut in cuts if cut > 0)})
    watch = _Families()
    reader = WalReader(read)
    sums: dict[tuple[int, str, tuple[str, ...], bool], list[int]] = {}
    boundaries: set[int] = set()
    index, first, last = 0, None, None
    following = marks[1] if len(marks) > 1 else None
    for entry in reader.entries(watch.visit):
        key, start = entry.key, entry.start
        while following is not None and following <= start:
            if following == start:
                boundaries.add(start)
            index += 1
            following = marks[index + 1] if index + 1 < len(marks) else None
        first, last = first or key, key
        families, marker = watch.take(key)
        sums_of = sums.setdefault((marks[index], key.table, families, marker), [0, 0, 0, 0])
        sums_of[0] += 1
        sums_of[1] += key.cells
        sums_of[2] += entry.end - start
        sums_of[3] += key.clusters > 0
    if reader.header is not None:
        boundaries |= {reader.header_end, reader.good_end} & set(marks)
    return WalContents(
        ending=reader.ending,
        problem=reader.problem,
        header=reader.header,
        header_end=reader.header_end,
        good_end=reader.good_end,
        length=reader.length,
        shares=tuple(EntryShare(*of, *numbers) for of, numbers in sorted(sums.items())),
        boundaries=frozenset(boundaries),
        first=first,
        last=last,
        header_damaged=reader.header_damaged,
    )


def _loaded_families(value: bytes | None, key: WalKey) -> set[bytes]:
    """Returns the families of a bulk load (`BulkLoadCellFilter`); all with a scope if its descriptor cannot be read."""
    if value is None:
        return set(key.scopes)
    families = set()
    try:
        for number, kind, store in fields(value, 0, len(value)):
            if number == _STORES and kind == LENGTH and isinstance(store, bytes):
                names = [part for field, _, part in fields(store, 0, len(store)) if field == _FAMILY_NAME]
                families |= {name for name in names if isinstance(name, bytes)}
    except MalformedError:
        return set(key.scopes)
    return families
