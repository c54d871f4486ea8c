"""The state of a Pegasus cluster's tables at one moment, independent of its source."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

UNREGISTERED = -1
VALIDATE_ENV = "replica.split.validate_partition_hash"
SERVING = frozenset({"PS_PRIMARY", "PS_SECONDARY"})
SPLITTING_REPLICA = "PS_PARTITION_SPLIT"
AVAILABLE = "AS_AVAILABLE"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition_configuration.

    Attributes:
        ballot: -1 = the partition is a child that is not registered in meta yet.
        there: it has a node in ZooKeeper; the other partitions are only counted.
        primary: None = none.
        committed: last_committed_decree; None = unknown.
    """

    index: int
    ballot: int = UNREGISTERED
    there: bool = False
    primary: str | None = None
    secondaries: tuple[str, ...] = ()
    committed: int | None = None

    @property
    def members(self) -> frozenset[str]:
        """Primary and secondaries."""
        return frozenset(self.secondaries) | ({self.primary} if self.primary else set())


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """One replica as its server reports it; None = unknown.

    Attributes:
        status: PS_… of the server; None if only the directory was read.
        partition_count: from `.app-info`.
        init_ballot: from `.init-info`, which is written whenever the ballot grows.
        init_durable_decree: from `.init-info`.
        last_flushed_decree: from the meta column family.
    """

    node: str
    index: int
    status: str | None = None
    disk: str | None = None
    ballot: int | None = None
    partition_version: int | None = None
    partition_count: int | None = None
    init_ballot: int | None = None
    init_durable_decree: int | None = None
    last_flushed_decree: int | None = None


@dataclass(frozen=True, slots=True)
class PegasusTable:
    """One table.

    Attributes:
        status: AS_…, without `app_status::`.
        init_partition_count: partition count at creation; None = unknown.
        envs: None = unknown, as in the shell's output.
        split_states: meta's in-memory state by parent partition: SPLITTING, PAUSING, PAUSED, CANCELING; None = unknown.
        learning: partitions with a learner.
        partitions: one for each of [0, partition_count), and any others that exist beyond.
    """

    app_id: int
    name: str
    partition_count: int
    status: str = AVAILABLE
    init_partition_count: int | None = None
    max_replica_count: int = 3
    envs: Mapping[str, str] | None = None
    duplicating: bool = False
    bulk_loading: bool = False
    partitions: tuple[PartitionState, ...] = ()
    split_states: Mapping[int, str] | None = None
    learning: frozenset[int] | None = None
    replicas: tuple[ReplicaState, ...] = ()

    @property
    def by_index(self) -> Mapping[int, PartitionState]:
        """Partitions by index."""
        return {one.index: one for one in self.partitions}

    @property
    def unregistered(self) -> tuple[PartitionState, ...]:
        """Partitions that meta counts but has not registered."""
        return tuple(one for one in self.partitions if one.ballot == UNREGISTERED and one.index < self.partition_count)

    @property
    def is_splitting(self) -> bool:
        """Whether children in the upper half wait for registration."""
        return any(one.index >= self.partition_count // 2 for one in self.unregistered)

    def children(self) -> Iterator[tuple[PartitionState, PartitionState]]:
        """Yields (parent, child) of the last doubling."""
        half, found = self.partition_count // 2, self.by_index
        for index in range(half, self.partition_count):
            if index in found and index - half in found:
                yield found[index - half], found[index]


@dataclass(frozen=True, slots=True)
class Disk:
    """One data disk of a node. Sizes are bytes; `apps` has the bytes of each table on it."""

    node: str
    name: str
    capacity: int
    used: int
    apps: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """One observation.

    Attributes:
        where: the file it was read from, for messages.
        observed_at: ms since the epoch.
        leader: address of the meta leader; None = unknown.
        disks: None = unknown.
    """

    where: str
    cluster: str
    observed_at: int
    tables: tuple[PegasusTable, ...]
    leader: str | None = None
    disks: tuple[Disk, ...] | None = None

    def table(self, app_id: int) -> PegasusTable | None:
        """Returns a table by id."""
        return next((one for one in self.tables if one.app_id == app_id), None)
