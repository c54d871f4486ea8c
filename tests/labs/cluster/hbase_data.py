"""Works with the data of a real HBase: tables, WALs, peers and queues."""

import base64
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.hbase.wal_names import WalName, parse_wal_name
from tests.labs.cluster.jvm import JavaObject
from tests.labs.waiting import wait_until

FAMILY = "f"
ATTEMPTS = 60
"""To look at a cluster while nothing moves."""
ROWS = tuple(string.ascii_lowercase)


class Cell(NamedTuple):
    """One cell of ``hbase:replication``."""

    row: bytes
    family: bytes
    qualifier: bytes
    value: bytes


@dataclass(frozen=True, order=True)
class WalFile:
    """A file below the WAL root; the path is relative to it."""

    path: str
    length: int
    modification_time: int


class HBaseData:
    """Does what clients do with a cluster.

    Attributes:
        name: the cluster's directory and parent node.
        harness: its Java side.
    """

    def __init__(self, name: str, harness: JavaObject) -> None:
        self.name = name
        self.harness = harness

    def online_servers(self) -> list[str]:
        """Returns the region servers that the active master counts as online."""
        return list(self.harness.onlineServers())

    # tables

    def create_table(self, name: str, *, scope: int = 1, splits: Sequence[str] = ("i", "r")) -> None:
        """Creates a table with one family; scope 1 is replicated."""
        self.harness.createTable(name, FAMILY, scope, list(splits))

    def put(self, table: str, rows: Sequence[str] = ROWS, value: str = "v") -> None:
        """Writes rows, by default one for each letter, so that every region gets some."""
        self.harness.putRows(table, FAMILY, list(rows), value)

    def count(self, table: str) -> int:
        """Returns the number of rows of a table."""
        return int(self.harness.countRows(table))

    def flush(self, table: str) -> None:
        """Flushes a table, so that its WALs can be archived."""
        self.harness.flush(table)

    def roll_wals(self, *servers: str) -> None:
        """Rolls the WALs of some servers, or of all servers; each of their WAL groups has a new WAL then.

        HBase itself only notes that they are to be rolled, and HBase 1 leaves out those of hbase:meta.
        """
        asked = servers or tuple(self.online_servers())
        before = self._wals_of_tables()
        groups = {wal.group for wal in before if str(wal.server) in asked}
        for server in asked:
            self.harness.rollWals(server)
        wait_until(lambda: groups <= {wal.group for wal in self._wals_of_tables() - before}, "the WALs are rolled")

    def _wals_of_tables(self) -> set[WalName]:
        wals = (parse_wal_name(file.path.rpartition("/")[2]) for file in self.files("WALs"))
        return {wal for wal in wals if wal is not None and not wal.is_meta}

    def archive_wals(self, *tables: str) -> None:
        """Creates archived WALs.

        A round of writes, flush and roll puts the files of the round before into ``oldWALs``.
        """
        before = len(self.old_wals())
        for _ in range(2):
            for table in tables:
                self.put(table)
                self.flush(table)
            for table in ("hbase:meta", "hbase:replication"):
                if self.harness.tableExists(table):
                    self.flush(table)
            self.roll_wals()
        wait_until(lambda: len(self.old_wals()) > before, "a WAL is archived")

    # replication

    def add_peer(self, peer_id: str, cluster_key: str, *, enabled: bool = True, serial: bool = False) -> None:
        """Adds a replication peer."""
        self.harness.addPeer(peer_id, cluster_key, enabled, serial)

    def add_sync_peer(self, peer_id: str, other: "HBaseData", remote_wal_dir: str, table: str) -> None:
        """Adds a peer that replicates a table synchronously; it begins as DOWNGRADE_ACTIVE."""
        self.harness.addSyncPeer(peer_id, other.harness.clusterKey(), remote_wal_dir, table)

    def transit_sync_peer(self, peer_id: str, state: str) -> None:
        """Changes the state of a synchronous peer to ACTIVE, DOWNGRADE_ACTIVE or STANDBY."""
        self.harness.transitSyncPeer(peer_id, state)

    def enable_peer(self, peer_id: str) -> None:
        """Enables a peer."""
        self.harness.setPeer(peer_id, True)

    def disable_peer(self, peer_id: str) -> None:
        """Disables a peer."""
        self.harness.setPeer(peer_id, False)

    def remove_peer(self, peer_id: str) -> None:
        """Removes a peer with its queues."""
        self.harness.removePeer(peer_id)

    def peers(self) -> dict[str, str]:
        """Returns the peer ids and their states."""
        return dict(line.split("\t") for line in self.harness.peers())

    def wait_replicated(self, table: str, peer: "HBaseData", rows: int) -> None:
        """Waits until the peer has this number of rows of a table."""
        wait_until(lambda: peer.count(table) >= rows, f"{rows} rows of {table} arrived at {peer.name}")

    def queue_cells(self) -> list[Cell]:
        """Returns all cells of ``hbase:replication`` in scan order; none if there is no such table."""
        if not self.harness.tableExists("hbase:replication"):
            return []
        return [Cell(*map(base64.b64decode, line.split("\t"))) for line in self.harness.queueCells()]

    # files

    def files(self, directory: str) -> list[WalFile]:
        """Returns all files below a directory of the WAL root."""
        rows = (line.split("\t") for line in self.harness.files(directory))
        return [WalFile(path, int(length), int(modified)) for path, length, modified in rows]

    def old_wals(self) -> list[WalFile]:
        """Returns the archived WALs."""
        return self.files("oldWALs")
