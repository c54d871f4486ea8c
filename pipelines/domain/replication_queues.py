"""Rows of `hbase:replication`.

HBase's `ReplicationQueueId`, `ReplicationGroupOffset` and `TableReplicationQueueStorage` (golden names.tsv).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.domain.errors import MalformedError
from pipelines.domain.server_names import ServerName, java_long
from pipelines.domain.wal_names import wal_timestamp

QUEUE_FAMILY = b"queue"
NEEDS_ALL = -1
"""The need of a row without an offset for the group: every file of it (minus infinity, as timestamps are >= 0)."""


@dataclass(frozen=True, slots=True, order=True)
class QueueId:
    """`<peer>-<owner>` or, recovered, `<peer>-<owner>/<source>`.

    Attributes:
        owner: the server whose row it is now.
        source: the server that wrote the WALs; None for a normal queue.
    """

    peer_id: str
    owner: ServerName
    source: ServerName | None = None

    @property
    def wals_of(self) -> ServerName:
        """The server whose WALs this queue reads (`getServerWALsBelongTo`)."""
        return self.source or self.owner

    def claimed_by(self, target: ServerName) -> "QueueId":
        """The id after a claim: the first owner stays the source (`ReplicationQueueId.claim`)."""
        return QueueId(self.peer_id, target, self.wals_of)

    def __str__(self) -> str:
        tail = f"/{self.source}" if self.source else ""
        return f"{self.peer_id}-{self.owner}{tail}"


def parse_queue_id(text: str) -> QueueId:
    """Parse a row key as shipped HBase does: peer up to the first `-`, source after the first `/`.

    Raises:
        MalformedError: where `ReplicationQueueId.parse` throws, seed 003's `-` form and rows with a TAB among them.
    """
    peer_id, dash, servers = text.partition("-")
    if not dash:
        raise MalformedError(f"queue row without '-' after the peer: {text!r}")
    owner, slash, source = servers.partition("/")
    try:
        return QueueId(peer_id, ServerName.parse(owner), ServerName.parse(source) if slash else None)
    except MalformedError as error:
        raise MalformedError(f"malformed queue row {text!r}: {error}") from None


@dataclass(frozen=True, slots=True, order=True)
class GroupOffset:
    """How far a queue has come in one WAL group.

    Attributes:
        wal: file name, verbatim; empty in a placeholder.
        offset: bytes from the start of the WAL; negative = this WAL is finished.
    """

    wal: str
    offset: int

    @property
    def need(self) -> int:
        """The smallest WAL timestamp still needed, ms; NEEDS_ALL when the offset's WAL has none."""
        timestamp = wal_timestamp(self.wal)
        if timestamp < 0:
            return NEEDS_ALL
        return timestamp if self.offset >= 0 else timestamp + 1

    def should_replicate(self, timestamp: int) -> bool:
        """HBase's `ReplicationOffsetUtil.shouldReplicate`, timestamps only."""
        own = wal_timestamp(self.wal)
        return timestamp > own or (timestamp == own and self.offset >= 0)

    def __str__(self) -> str:
        return f"{self.wal}:{self.offset}"


def parse_offset(text: str) -> GroupOffset:
    """Parse `<wal>:<offset>`, split at the last colon (`ReplicationGroupOffset.parse`).

    Raises:
        MalformedError: where HBase throws.
    """
    wal, colon, offset = text.rpartition(":")
    if not colon:
        raise MalformedError(f"offset without ':': {text!r}")
    try:
        parsed = GroupOffset(wal, java_long(offset))
        wal_timestamp(wal)
    except MalformedError as error:
        raise MalformedError(f"malformed offset {text!r}: {error}") from None
    return parsed


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of `hbase:replication`, as scanned."""

    row: bytes
    family: bytes
    qualifier: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class QueueCell:
    """One parsed cell of family `queue`."""

    queue: QueueId
    group: str
    offset: GroupOffset


def parse_queue_cell(cell: Cell) -> QueueCell:
    """Parse one cell of family `queue`.

    Raises:
        MalformedError: anything HBase itself would throw on, or bytes that are not UTF-8.
    """
    try:
        row, group, value = (part.decode("utf-8") for part in (cell.row, cell.qualifier, cell.value))
    except UnicodeDecodeError:
        raise MalformedError(f"queue row is not UTF-8: {cell.row!r}") from None
    try:
        return QueueCell(parse_queue_id(row), group, parse_offset(value))
    except MalformedError as error:
        raise MalformedError(f"row {row!r}, qualifier {group!r}: {error}") from None


def parse_queue_cells(cells: Iterable[Cell]) -> tuple[QueueCell, ...]:
    """Parse the `queue` family of a scan; cells of other families (`sid`, `hfileref`) are left out.

    Raises:
        MalformedError: on the first malformed row; one bad row blocks HBase's own cleaner as well.
    """
    return tuple(parse_queue_cell(cell) for cell in cells if cell.family == QUEUE_FAMILY)
