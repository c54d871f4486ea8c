"""Snapshots as their reader hands them out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.common.errors import SnapshotError
from pipelines.hbase.replication_queues import QueueCell
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.snapshot.beside_queues import BesideQueues
from pipelines.snapshot.extras import Extras
from pipelines.snapshot.model import Snapshot


@dataclass(frozen=True, slots=True)
class OpenedSnapshot:
    """One snapshot directory, opened: what could be read of it, and what is wrong with it.

    Attributes:
        uri: the directory, with scheme.
        sha256: of snapshot.json; None when there is none.
        snapshot: None when snapshot.json cannot be read.
        fault: why the directory is not what was captured; None = all digests and counts are right.
        listing_readable: the files of the listing are those that were captured.
        listing_directories: the listing's directory as Spark spells it.
        passes: parsed cells of queues-1 and queues-2.
        trees: in the place of `passes` where the queues are in ZooKeeper.
        extras: what `extras/` holds.
        beside: what the readings of the queues hold besides queues.
        malformed: a queue row or znode that HBase itself throws on; then `passes` and `trees` are empty.
    """

    uri: str
    sha256: str | None = None
    snapshot: Snapshot | None = None
    fault: str | None = None
    listing_readable: bool = False
    listing_directories: tuple[str, ...] = ()
    passes: tuple[tuple[QueueCell, ...], ...] = ()
    trees: tuple[ReplicationTree, ...] = ()
    extras: Extras = field(default_factory=Extras)
    beside: BesideQueues = field(default_factory=BesideQueues)
    malformed: str | None = None

    @property
    def known(self) -> Snapshot:
        """The snapshot.

        Raises:
            SnapshotError: snapshot.json could not be read.
        """
        if self.snapshot is None:
            raise SnapshotError(self.fault or f"{self.uri}: snapshot.json cannot be read")
        return self.snapshot

    @property
    def cluster(self) -> str:
        """Name of the cluster; the directory's name when snapshot.json cannot be read."""
        return self.snapshot.cluster if self.snapshot else self.uri.rstrip("/").rpartition("/")[2]


class SnapshotReader(Protocol):
    """Opens snapshot directories."""

    def of_fleet(self, fleet: str) -> list[str]:
        """The snapshot directories of a fleet."""
        ...

    def open(self, uris: Sequence[str]) -> list[OpenedSnapshot]:
        """Open and check snapshots; what is wrong with one is its `fault`."""
        ...

    def files(self, opened: Sequence[OpenedSnapshot]) -> DataFrame:
        """Their listings: `cluster`, `path`, `length` (bytes), `modification_time`."""
        ...
