"""Opened snapshots: what could be read, and what is wrong."""

from dataclasses import dataclass, field

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError
from pipelines.hbase.replication_queues import QueueCell
from pipelines.hbase.server_names import ServerName, server_of_directory
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.snapshot.extras import Extras
from pipelines.snapshot.model import Snapshot
from pipelines.snapshot.other_families import OtherFamilies


@dataclass(frozen=True, slots=True)
class ListingTotals:
    """What a listing contains, counted when its snapshot is opened, and so independently of any decision.

    Attributes:
        rows: number of rows.
        archived_files: files below `oldWALs/`.
        archived_bytes: their length, bytes; 0 for a part whose sum does not fit 64 bits.
        remote_files: files below `remoteWALs/`.
        live_directories: names of the directories below `WALs/` that have files.
        bytes: the sum of all lengths without their signs, which may be more than 64 bits hold.
        not_utf8_paths: paths that are not UTF-8.
    """

    rows: int = 0
    archived_files: int = 0
    archived_bytes: int = 0
    remote_files: int = 0
    live_directories: frozenset[str] = frozenset()
    bytes: float = 0
    not_utf8_paths: int = 0

    @property
    def live_servers(self) -> frozenset[ServerName]:
        """The servers whose live WALs are listed; directories that are not named after a server are left out."""
        return frozenset(filter(None, map(server_of_directory, self.live_directories)))


@dataclass(frozen=True, slots=True)
class OpenedSnapshot:
    """One opened snapshot directory: the parts that could be read, and what is wrong with it.

    Attributes:
        uri: the directory, with scheme.
        sha256: SHA-256 of snapshot.json; None if the file does not exist.
        snapshot: None if snapshot.json cannot be read.
        fault: why the directory differs from what was captured; None = all digests and counts are correct.
        fault_condition: the name of the fault; it means nothing without one.
        listing_readable: whether the files of the listing are those that were captured.
        listing_parts: paths, as Spark spells them, of the parts of the listing that have rows; empty if a small
            snapshot was opened alone and read without Spark.
        listing: totals of the listing; all 0 if it is not readable.
        passes: parsed cells of queues-1 and queues-2.
        trees: parsed znodes of queues-1 and queues-2; used instead of `passes` if the queues are in ZooKeeper.
        extras: contents of `extras/`.
        beside: data other than queues in the readings of the queues.
        malformed: error about a queue row or znode that HBase itself throws on; if set, `passes` and `trees` are empty.
    """

    uri: str
    sha256: str | None = None
    snapshot: Snapshot | None = None
    fault: str | None = None
    fault_condition: Condition = Condition.SNAPSHOT_DAMAGED
    listing_readable: bool = False
    listing_parts: tuple[str, ...] = ()
    listing: ListingTotals = field(default_factory=ListingTotals)
    passes: tuple[tuple[QueueCell, ...], ...] = ()
    trees: tuple[ReplicationTree, ...] = ()
    extras: Extras = field(default_factory=Extras)
    beside: OtherFamilies = field(default_factory=OtherFamilies)
    malformed: str | None = None

    @property
    def known(self) -> Snapshot:
        """The snapshot.

        Raises:
            SnapshotError: snapshot.json could not be read.
        """
        if self.snapshot is None:
            raise SnapshotError(self.fault_condition, self.fault or f"{self.uri}: snapshot.json cannot be read")
        return self.snapshot

    @property
    def cluster(self) -> str:
        """Name of the cluster.

        Raises:
            SnapshotError: snapshot.json could not be read.
        """
        return self.known.cluster
