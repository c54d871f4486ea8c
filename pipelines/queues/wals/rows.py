"""Rows of the tables of inspect-wals.

Field names equal the column names of the tables in `schemas/`; a test compares them.
"""

from dataclasses import dataclass

from pipelines.common.instants import is_instant
from pipelines.hbase.wal_format.reader import WalEnd
from pipelines.hbase.wal_format.wal_key import WalKey
from pipelines.hbase.wal_names import WalName
from pipelines.queues.wals.tally import WalContents

GONE, UNREADABLE = "GONE", "UNREADABLE"
INSPECTION_SUFFIX = "-wals"
"""Suffix of the run ids of inspections, which separates their rows in shared tables from those of reconcile."""


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """One WAL that was to be read.

    Attributes:
        path: below the WAL root, as listed.
        name: its parsed name.
        length: bytes as listed; too small for a file that is still open.
        contents: None if it could not be read at all.
        fault: GONE, UNREADABLE, or None.
        problem: a description of the fault.
    """

    path: str
    name: WalName
    length: int
    contents: WalContents | None = None
    fault: str | None = None
    problem: str | None = None

    @property
    def ending(self) -> str:
        """The `WalEnd`, or the fault."""
        return self.contents.ending.value if self.contents else self.fault or UNREADABLE

    @property
    def problem_text(self) -> str:
        """The description of its problem."""
        return (self.contents.problem if self.contents else self.problem) or "nothing is known to be wrong"

    @property
    def known_length(self) -> int:
        """Its length as read; as listed if it was not read to its end."""
        length = self.contents.length if self.contents else None
        return self.length if length is None else length

    def unread_bytes(self, position: int) -> int:
        """Returns the bytes of unknown content behind a position.

        A torn last entry does not count, because no reader will ever read it. But a position behind the last whole
        entry makes it doubtful that only that entry is torn.
        """
        if self.contents is None:
            return self.length
        is_doubtful = self.contents.ending is WalEnd.TORN and position > self.contents.good_end
        if self.contents.is_read and not is_doubtful:
            return 0
        return max(self.known_length - max(self.contents.good_end, position), 0)


@dataclass(frozen=True, slots=True)
class WalFileRow:
    """A row of `wal_files`; bytes, and ms since the epoch."""

    path: str
    server: str | None
    wal_group: str
    wal_timestamp: int | None
    length: int
    read_length: int | None
    ending: str
    problem: str | None
    writer: str | None
    compressed: bool | None
    value_compression: str | None
    entries: int
    cells: int
    entry_bytes: int
    good_end: int | None
    first_sequence_id: int | None
    last_sequence_id: int | None
    first_write_time: int | None
    last_write_time: int | None


@dataclass(frozen=True, slots=True)
class WalTableRow:
    """A row of `wal_tables`; bytes."""

    path: str
    table: str
    entries: int
    cells: int
    bytes: int
    global_entries: int
    global_bytes: int


@dataclass(frozen=True, slots=True)
class QueueEditsRow:
    """A row of `queue_edits`; bytes."""

    peer_id: str
    peer_state: str | None
    peer_exists: bool
    rule_known: bool
    owner: str
    source: str
    wal_group: str
    wal: str | None
    offset: int | None
    offset_status: str
    head: str | None
    head_ending: str | None
    pending_files: int
    pending_entries: int
    pending_bytes: int
    wanted_entries: int
    wanted_bytes: int
    foreign_entries: int
    unread_files: int
    unread_bytes: int

    @property
    def queue(self) -> str:
        """The queue's row key in `hbase:replication`."""
        return f"{self.peer_id}-{self.owner}" + (f"/{self.source}" if self.source != self.owner else "")


def file_row(file: InspectedFile) -> WalFileRow:
    """Returns the row of one file."""
    contents = file.contents
    header = contents.header if contents else None
    first, last = (contents.first, contents.last) if contents else (None, None)
    return WalFileRow(
        path=file.path,
        server=str(file.name.server) if file.name.server else None,
        wal_group=file.name.group,
        wal_timestamp=file.name.timestamp,
        length=file.length,
        read_length=contents.length if contents else None,
        ending=file.ending,
        problem=contents.problem if contents else file.problem,
        writer=header.writer if header else None,
        compressed=header.compressed if header else None,
        value_compression=header.value_algorithm if header else None,
        entries=contents.entries if contents else 0,
        cells=contents.cells if contents else 0,
        entry_bytes=sum(share.bytes for share in contents.shares) if contents else 0,
        good_end=contents.good_end if contents else None,
        first_sequence_id=first.sequence_id if first else None,
        last_sequence_id=last.sequence_id if last else None,
        first_write_time=_write_time(first),
        last_write_time=_write_time(last),
    )


def _write_time(key: WalKey | None) -> int | None:
    return key.write_time if key and is_instant(key.write_time) else None


def table_rows(file: InspectedFile) -> list[WalTableRow]:
    """Returns one row per table of a file, sorted by table."""
    sums: dict[str, list[int]] = {}
    for share in file.contents.shares if file.contents else ():
        of_table = sums.setdefault(share.table, [0, 0, 0, 0, 0])
        replicated = bool(share.families) or share.marker
        for place, number in enumerate(
            (share.entries, share.cells, share.bytes, share.entries * replicated, share.bytes * replicated)
        ):
            of_table[place] += number
    return [WalTableRow(file.path, table, *numbers) for table, numbers in sorted(sums.items())]
