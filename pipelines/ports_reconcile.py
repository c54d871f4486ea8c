"""The ports of reconcile: where snapshots come from and where lists go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.domain.delete_list import Manifest
from pipelines.domain.errors import SnapshotError
from pipelines.domain.replication_queues import QueueCell
from pipelines.domain.snapshot import Snapshot


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
        malformed: a queue row that HBase itself throws on; then `passes` is empty.
    """

    uri: str
    sha256: str | None = None
    snapshot: Snapshot | None = None
    fault: str | None = None
    listing_readable: bool = False
    listing_directories: tuple[str, ...] = ()
    passes: tuple[tuple[QueueCell, ...], ...] = ()
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


@dataclass(frozen=True, slots=True)
class ListRequest:
    """What one cluster's delete-safe list says besides its lines; instants in ms since the epoch."""

    cluster: str
    cluster_id: str | None
    run_id: str
    wal_root: str
    snapshot_sha256: str
    decided_at: int
    not_after: int
    files: int
    bytes: int


class ListSink(Protocol):
    """Emits delete-safe lists, whole or not at all."""

    def uri(self, cluster: str, run_id: str) -> str:
        """The folder of one list."""
        ...

    def existing(self, cluster: str, run_id: str) -> Manifest | None:
        """The manifest that stands, or None."""
        ...

    def emit(self, deletable: DataFrame, requests: Sequence[ListRequest]) -> Mapping[str, Manifest]:
        """Write the lists of these clusters from their `cluster`, `path`."""
        ...
