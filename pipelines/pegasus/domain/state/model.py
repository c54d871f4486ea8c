"""The state of a Pegasus cluster's tables at one moment, whatever it was read from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

UNREGISTERED = -1
VALIDATE_ENV = "replica.split.validate_partition_hash"
SERVING = frozenset({"PS_PRIMARY", "PS_SECONDARY"})
SPLITTING_REPLICA = "PS_PARTITION_SPLIT"
AVAILABLE = "AS_AVAILABLE"


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition_configuration.

    Attributes:
        ballot: -1 = the partition is not registered: a child that meta does not have yet.
        there: it is in ZooKeeper; the others are only counted.
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
class Replica:
    """One replica as its server has it; None = unknown.

    Attributes:
        status: PS_… of the server; None for a directory that was only looked at.
        partition_count: of `.app-info`.
        init_ballot: of `.init-info`, which is written whenever the ballot grows.
        init_durable_decree: of `.init-info`.
        last_flushed_decree: of the meta column family.
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
class Table:
    """One table.

    Attributes:
        status: AS_…, without `app_status::`.
        init_partition_count: what it was created with; None = unknown.
        envs: None = unknown, as in the shell's output.
        split_states: meta's memory, by parent partition: SPLITTING, PAUSING, PAUSED, CANCELING; None = unknown.
        learning: partitions with a learner.
        partitions: one for each of [0, partition_count), and any beyond that is there all the same.
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
    partitions: tuple[Partition, ...] = ()
    split_states: Mapping[int, str] | None = None
    learning: frozenset[int] | None = None
    replicas: tuple[Replica, ...] = ()

    @property
    def by_index(self) -> Mapping[int, Partition]:
        """Partitions by index."""
        return {one.index: one for one in self.partitions}

    @property
    def unregistered(self) -> tuple[Partition, ...]:
        """Partitions that meta counts and does not have."""
        return tuple(one for one in self.partitions if one.ballot == UNREGISTERED and one.index < self.partition_count)

    @property
    def is_splitting(self) -> bool:
        """Whether children of an upper half wait to be registered."""
        return any(one.index >= self.partition_count // 2 for one in self.unregistered)

    def children(self) -> Iterator[tuple[Partition, Partition]]:
        """(parent, child) of the last doubling."""
        half, found = self.partition_count // 2, self.by_index
        for index in range(half, self.partition_count):
            if index in found and index - half in found:
                yield found[index - half], found[index]


@dataclass(frozen=True, slots=True)
class Disk:
    """One data disk of a node; bytes. `apps` = bytes of each table on it."""

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
    tables: tuple[Table, ...]
    leader: str | None = None
    disks: tuple[Disk, ...] | None = None

    def table(self, app_id: int) -> Table | None:
        """A table by id."""
        return next((one for one in self.tables if one.app_id == app_id), None)
