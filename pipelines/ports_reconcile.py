"""The ports of reconcile: where snapshots come from and where lists go."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame

from pipelines.domain.delete_list import Manifest
from pipelines.domain.errors import SnapshotError
from pipelines.domain.gate_metrics import ClusterMetrics, ExpectationResult
from pipelines.domain.neighbours.beside_queues import BesideQueues
from pipelines.domain.neighbours.extras import Extras
from pipelines.domain.past import PastNight
from pipelines.domain.replication_queues import QueueCell
from pipelines.domain.run_summary import FindingRow, PinnedRow, RunKey, RunSummary, VerdictTotal
from pipelines.domain.settings import Acceptances
from pipelines.domain.snapshot import Snapshot
from pipelines.domain.sync_replication.states import PastSyncState
from pipelines.domain.zookeeper.tree import ReplicationTree
from schemas.table import Table


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


@dataclass(frozen=True, slots=True)
class StagedLists:
    """Lines of lists that nobody can take for lists yet.

    Attributes:
        requests: what they are lines of; without `files`, there are none.
        folders: the hidden folder of each cluster's lines.
        counts: lines of each file, by the last two names of its path.
    """

    requests: tuple[ListRequest, ...]
    folders: Mapping[str, str]
    counts: Mapping[str, int]


class ListSink(Protocol):
    """Emits delete-safe lists, whole or not at all."""

    def uri(self, cluster: str, run_id: str) -> str:
        """The folder of one list."""
        ...

    def existing(self, cluster: str, run_id: str) -> Manifest | None:
        """The manifest that stands, or None."""
        ...

    def stage(self, deletable: DataFrame, requests: Sequence[ListRequest]) -> StagedLists:
        """Write the lines of these clusters' lists from their `cluster`, `path`, hidden."""
        ...

    def publish(self, staged: StagedLists) -> Mapping[str, Manifest]:
        """Make lists of the lines."""
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """A row of `runs`."""

    status: str
    snapshot_sha256: str | None
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The small tables of an earlier run."""

    totals: tuple[VerdictTotal, ...] = ()
    pinned: tuple[PinnedRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()


class Lake(Protocol):
    """Reads what earlier runs wrote."""

    def attempts(self, keys: Collection[RunKey], *, given: bool) -> Mapping[tuple[str, str], Sequence[Attempt]]:
        """Earlier rows of `runs` of these (cluster, run_id), oldest first; given: a person chose the run_id."""
        ...

    def before(self, started: Mapping[str, int], nights: int) -> Mapping[str, Sequence[PastNight]]:
        """The last DONE runs of each cluster before an instant (ms), newest first."""
        ...

    def sync_states(self, keys: Collection[RunKey]) -> Mapping[str, Mapping[str, PastSyncState]]:
        """What these runs said of synchronous peers, by cluster and peer; nothing in a lake without that table."""
        ...

    def recorded(self, keys: Collection[RunKey]) -> Mapping[str, Recorded]:
        """What runs that are DONE wrote of themselves, by cluster."""
        ...

    def deletable(self, keys: Collection[RunKey], files: int) -> DataFrame:
        """`cluster`, `path` of the DELETABLE rows of `wal_verdicts` of these runs, which listed so many files."""
        ...

    def with_reasons(self, keys: Collection[RunKey], files: int, reasons: Collection[str]) -> DataFrame:
        """`cluster`, `path`, `length`, `reason` of the rows with such a reason; see `deletable`."""
        ...


class TableSink(Protocol):
    """Writes the tables of the lake."""

    def ensure(self, tables: Sequence[Table] = ...) -> None:
        """Create what is missing; without an argument, of the tables of a decision."""
        ...

    def replace(self, writes: Mapping[str, DataFrame], runs: Collection[RunKey], *, fresh: bool = False) -> None:
        """Make the frames the whole of what the tables hold of these runs; fresh: there was no earlier attempt."""
        ...

    def append_rows(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Append a few rows in one commit."""
        ...

    def frame(self, table: Table, rows: Sequence[Mapping[str, object]]) -> DataFrame:
        """Rows of the driver as a DataFrame of the table's columns."""
        ...


class Gate(Protocol):
    """The Great Expectations gate."""

    def check_acceptances(self, accepted: Acceptances, max_deletable_share: float) -> None:
        """Hold `--accept` to what a person may overrule."""
        ...

    def check(
        self, metrics: Sequence[ClusterMetrics], accepted: Acceptances, max_deletable_share: float
    ) -> Sequence[ExpectationResult]:
        """Every expectation for every cluster."""
        ...


class Reporter(Protocol):
    """What people look at after a run: report pages, metrics files."""

    def publish(self, summaries: Sequence[RunSummary]) -> Mapping[str, str]:
        """Write them; the address of each cluster's page."""
        ...

    def failed(self, summaries: Sequence[RunSummary]) -> None:
        """Say at least in the metrics that a run failed; raises as `publish` does."""
        ...
