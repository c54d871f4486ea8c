"""Gives the model's servers, WALs and queue rows the names that HBase would give them."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from jobs.demo.cluster.capture import cells_of
from jobs.demo.cluster.parts import region_server, wal_groups
from pipelines.hbase.replication_queues import Cell, QueueCell, QueueId, parse_queue_cell
from pipelines.hbase.server_names import ServerName
from tests.models.capture.scope import NO_OFFSET, Scope
from tests.models.capture.world import OWN, Row

MASTER_PORT = 16000
_FIRST_WAL = 9
"""Timestamp of the first WAL, ms: the second has one digit more, which an order of strings gets wrong."""
_POSITION = 443


@dataclass(frozen=True)
class Names:
    """The names of one scope."""

    scope: Scope

    @cached_property
    def servers(self) -> tuple[ServerName, ...]:
        """Returns the server names by number."""
        return tuple(region_server(plan.host, plan.startcode) for plan in self.scope.servers)

    def servers_of(self, bits: int) -> frozenset[ServerName]:
        """Returns the names of the servers in a bit set."""
        return frozenset(server for number, server in enumerate(self.servers) if bits >> number & 1)

    def peers_of(self, bits: int) -> tuple[str, ...]:
        """Returns the ids of the peers in a bit set."""
        return tuple(self.peer(number) for number in range(len(self.scope.peers)) if bits >> number & 1)

    def peer(self, number: int) -> str:
        """Returns the id of the peer with this number."""
        return f"p{number + 1}"

    def master(self, number: int) -> str:
        """Returns the server name of the active master with this number."""
        return f"m{number % 2 + 1}.example.org,{MASTER_PORT},{number + 1}"

    def group(self, server: int, group: int) -> str:
        """Returns the name of a WAL group as the queue table has it."""
        return wal_groups(self.servers[server], self.scope.groups)[group]

    def wal(self, server: int, group: int, number: int) -> str:
        """Returns the file name of a WAL; a later life on a host has later timestamps."""
        first = _FIRST_WAL * self.scope.servers[server].startcode
        return f"{self.group(server, group)}.{first + number}"

    def queue(self, row: Row) -> QueueId:
        """Returns the queue id that is the key of a row."""
        peer, owner, source, _ = row
        return QueueId(self.peer(peer), self.servers[owner], None if source == OWN else self.servers[source])

    def cells(self, row: Row) -> tuple[QueueCell, ...]:
        """Returns the cells of a row as walsafe parses them."""
        known = self._cells.get(row)
        if known is None:
            known = self._cells[row] = tuple(map(_parsed, self.written(row)))
        return known

    @cached_property
    def _cells(self) -> dict[Row, tuple[QueueCell, ...]]:
        return {}

    def written(self, row: Row) -> tuple[Cell, ...]:
        """Returns the cells of a row as HBase writes them.

        A row without any offset has the crash procedure's placeholder.
        """
        source = row[1] if row[2] == OWN else row[2]
        offsets = {
            self.group(source, group): self._offset(source, group, offset)
            for group, offset in enumerate(row[3])
            if offset != NO_OFFSET
        }
        return cells_of({str(self.queue(row)): offsets or {str(self.servers[source]): ":0"}})

    def _offset(self, source: int, group: int, offset: int) -> str:
        number, finished = divmod(offset, 2)
        return f"{self.wal(source, group, number)}:{-1 if finished else _POSITION}"


@lru_cache(maxsize=100_000)
def _parsed(cell: Cell) -> QueueCell:
    return parse_queue_cell(cell)
