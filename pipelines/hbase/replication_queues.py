"""Parses rows of `hbase:replication`: queue ids and offsets.

They follow HBase's `ReplicationQueueId`, `ReplicationGroupOffset` and `TableReplicationQueueStorage`;
`tests/golden/hbase/names.tsv` records the answers of those classes.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from pipelines.common.errors import MalformedError
from pipelines.hbase.server_names import ServerName, parse_java_long
from pipelines.hbase.wal_names import wal_timestamp

QUEUE_FAMILY = b"queue"
NEEDS_ALL = -1
"""The need of a row that has no offset for the group: every file of it. WAL timestamps are >= 0, so -1 is minus
infinity."""


_SEED_OWNER = re.compile(r"([^,/]+,[0-9]+,[0-9]+)(?:-(.+))?", re.DOTALL)


class RowLayout(StrEnum):
    """How the row key of a recovered queue names the source server."""

    SHIPPED = "shipped"
    """`<peer>-<owner>/<source>`: the form in every HBase release."""
    SEED_003 = "seed-003"
    """`<peer>-<owner>-<source>`: the form in the design of HBASE-27109. No release uses it, and HBase's own parser
    throws on it."""


class QueueId(NamedTuple):
    """`<peer>-<owner>`, or `<peer>-<owner>/<source>` for a recovered queue.

    Attributes:
        owner: the server that owns the row now.
        source: the server that wrote the WALs; None for a normal queue.
    """

    peer_id: str
    owner: ServerName
    source: ServerName | None = None

    @property
    def wals_of(self) -> ServerName:
        """Returns the server whose WALs this queue reads (`getServerWALsBelongTo`)."""
        return self.source or self.owner

    @property
    def key(self) -> tuple[str, str, str]:
        """Returns the queue as the tables spell it."""
        return (self.peer_id, str(self.owner), str(self.wals_of))

    def claimed_by(self, target: ServerName) -> "QueueId":
        """Returns the id after a claim by `target`; the first owner stays the source (`ReplicationQueueId.claim`)."""
        return QueueId(self.peer_id, target, self.wals_of)

    def __str__(self) -> str:
        tail = f"/{self.source}" if self.source else ""
        return f"{self.peer_id}-{self.owner}{tail}"


def parse_queue_id(text: str, layout: RowLayout = RowLayout.SHIPPED) -> QueueId:
    """Parses a row key: the peer id ends at the first `-`; the layout decides how the rest is read.

    The shipped layout reads a key as HBase itself does.

    Raises:
        MalformedError: `ReplicationQueueId.parse` throws, for example on the `-` form and on keys with a TAB. In the
            layout `RowLayout.SEED_003`: the key has the shipped form.
    """
    peer_id, dash, servers = text.partition("-")
    if not dash:
        raise MalformedError(f"queue row without '-' after the peer: {text!r}")
    try:
        owner, source = _owner_and_source(servers, layout)
        return QueueId(peer_id, ServerName.parse(owner), None if source is None else ServerName.parse(source))
    except MalformedError as error:
        raise MalformedError(f"malformed queue row {text!r}: {error}") from None


def parse_row(row: bytes, layout: RowLayout) -> QueueId:
    """Parses a row key from the bytes of a scan.

    Raises:
        MalformedError: as in `parse_queue_id`, or the bytes are not UTF-8.
    """
    try:
        return parse_queue_id(row.decode("utf-8"), layout)
    except UnicodeDecodeError:
        raise MalformedError(f"queue row is not UTF-8: {row!r}") from None


def read_passes(passes: Sequence[Collection[bytes]]) -> tuple[frozenset[QueueId], ...]:
    """Returns the queues of each scan of one table, parsed in the first layout that reads every row of all scans.

    The configured layout has no influence: HBase writes only one layout into a table, and a row that names a source can
    be read in only one layout.

    Raises:
        MalformedError: no layout reads all rows; the message names the first row that the shipped layout cannot read.
    """
    for layout in RowLayout:
        with suppress(MalformedError):
            return _passes_in(passes, layout)
    return _passes_in(passes, RowLayout.SHIPPED)  # raises the error that names the row


def _passes_in(passes: Sequence[Collection[bytes]], layout: RowLayout) -> tuple[frozenset[QueueId], ...]:
    return tuple(frozenset(parse_row(row, layout) for row in sorted(rows)) for rows in passes)


def readable_queues(rows: Collection[bytes]) -> frozenset[QueueId]:
    """Returns the queues of the rows that some layout can read, without the other rows."""
    found = set()
    for row in rows:
        for layout in RowLayout:
            with suppress(MalformedError):
                found.add(parse_row(row, layout))
    return frozenset(found)


def _owner_and_source(servers: str, layout: RowLayout) -> tuple[str, str | None]:
    if layout is RowLayout.SHIPPED:
        owner, slash, source = servers.partition("/")
        return owner, source if slash else None
    # a host name may contain '-', a port and a start code cannot: the first '-' after the second comma ends the owner
    match = _SEED_OWNER.fullmatch(servers)
    if match is None:
        raise MalformedError("it is not of the form <peer>-<owner>[-<source>], which `queues.row_layout` names")
    return match[1], match[2]


@dataclass(frozen=True, slots=True, order=True)
class GroupOffset:
    """The position of a queue in one WAL group.

    Attributes:
        wal: the file name, verbatim; empty in a placeholder.
        offset: bytes from the start of the WAL; negative = this WAL is finished.
    """

    wal: str
    offset: int

    @property
    def need(self) -> int:
        """Returns the smallest WAL timestamp still needed, ms.

        NEEDS_ALL if the WAL name of the offset has no timestamp.
        """
        timestamp = wal_timestamp(self.wal)
        if timestamp < 0:
            return NEEDS_ALL
        return timestamp if self.offset >= 0 else timestamp + 1

    def should_replicate(self, timestamp: int) -> bool:
        """Returns whether a WAL with this timestamp is still to be replicated.

        This is HBase's `ReplicationOffsetUtil.shouldReplicate`, which compares only the timestamps.
        """
        own = wal_timestamp(self.wal)
        return timestamp > own or (timestamp == own and self.offset >= 0)

    def __str__(self) -> str:
        return f"{self.wal}:{self.offset}"


def parse_offset(text: str) -> GroupOffset:
    """Parses `<wal>:<offset>`, split at the last colon (`ReplicationGroupOffset.parse`).

    Raises:
        MalformedError: HBase would throw on this text.
    """
    wal, colon, offset = text.rpartition(":")
    if not colon:
        raise MalformedError(f"offset without ':': {text!r}")
    try:
        parsed = GroupOffset(wal, parse_java_long(offset))
        wal_timestamp(wal)
    except MalformedError as error:
        raise MalformedError(f"malformed offset {text!r}: {error}") from None
    return parsed


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a scan of `hbase:replication`."""

    row: bytes
    family: bytes
    qualifier: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class CellVersion:
    """One version of a cell whose column is known from the context; `timestamp` in ms since the epoch."""

    row: bytes
    timestamp: int
    value: bytes


@dataclass(frozen=True, slots=True)
class QueueCell:
    """One parsed cell of family `queue`."""

    queue: QueueId
    group: str
    offset: GroupOffset


def parse_queue_cell(cell: Cell, layout: RowLayout = RowLayout.SHIPPED) -> QueueCell:
    """Parses one cell of family `queue`.

    Raises:
        MalformedError: HBase itself would throw, or the bytes are not UTF-8.
    """
    try:
        row, group, value = (part.decode("utf-8") for part in (cell.row, cell.qualifier, cell.value))
    except UnicodeDecodeError:
        raise MalformedError(f"queue row is not UTF-8: {cell.row!r}") from None
    try:
        return QueueCell(parse_queue_id(row, layout), group, parse_offset(value))
    except MalformedError as error:
        raise MalformedError(f"row {row!r}, qualifier {group!r}: {error}") from None


def parse_queue_cells(cells: Iterable[Cell], layout: RowLayout = RowLayout.SHIPPED) -> tuple[QueueCell, ...]:
    """Parses the `queue` family of a scan and skips the cells of other families (`sid`, `hfileref`).

    Raises:
        MalformedError: on the first malformed row; one bad row also stops HBase's own cleaner.
    """
    return tuple(parse_queue_cell(cell, layout) for cell in cells if cell.family == QUEUE_FAMILY)
