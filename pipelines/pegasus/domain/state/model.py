"""The state of a Pegasus cluster's tables at one moment, independent of its source."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.pegasus.domain.partitions import UNREGISTERED

VALIDATE_ENV = "replica.split.validate_partition_hash"
SERVING = frozenset({"PS_PRIMARY", "PS_SECONDARY"})
SPLITTING_REPLICA = "PS_PARTITION_SPLIT"
AVAILABLE, DROPPED = "AS_AVAILABLE", "AS_DROPPED"
SPLIT_STATES = ("SPLITTING", "PAUSING", "PAUSED", "CANCELING")


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition_configuration.

    Attributes:
        ballot: -1 = the partition is a child that is not registered in meta yet.
        primary: the node of the primary; None = there is no primary.
    """

    index: int
    ballot: int = UNREGISTERED
    primary: str | None = None
    secondaries: tuple[str, ...] = ()

    @property
    def is_registered(self) -> bool:
        """Returns whether meta has the partition; the others are only counted."""
        return self.ballot != UNREGISTERED

    @property
    def members(self) -> frozenset[str]:
        """Returns the nodes of the primary and the secondaries."""
        return frozenset(self.secondaries) | ({self.primary} if self.primary else set())


def every_partition(count: int, found: Mapping[int, PartitionState]) -> tuple[PartitionState, ...]:
    """Returns the partitions that are found, and an unregistered one for each of the others below `count`."""
    return tuple(found.get(index) or PartitionState(index) for index in sorted({*range(count), *found}))


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """One replica as its server reports it; None = unknown.

    Attributes:
        status: the PS_… status that the server reports; None if only the directory was read.
        partition_count: the count in `.app-info`.
        init_ballot: the ballot in `.init-info`, which is written whenever the ballot grows.
        init_durable_decree: the durable decree in `.init-info`.
        last_flushed_decree: the value in the meta column family.
    """

    node: str
    index: int
    status: str | None = None
    partition_version: int | None = None
    partition_count: int | None = None
    init_ballot: int | None = None
    init_durable_decree: int | None = None
    last_flushed_decree: int | None = None


@dataclass(frozen=True, slots=True)
class PegasusTable:
    """One table.

    Attributes:
        status: the AS_… status, without `app_status::`.
        init_partition_count: the partition count at creation; None = unknown.
        envs: the app envs; None = unknown, as in the shell's output.
        duplicating: whether the table is duplicated; None = unknown, as in the shell's output or if omitted.
        bulk_loading: whether a bulk load is under way; None = unknown, as in the shell's output or if omitted.
        split_states: meta's in-memory state by parent partition: SPLITTING, PAUSING, PAUSED, CANCELING; None = unknown.
        learning: the partitions with a learner.
        partitions: one for each of [0, partition_count), and any others that exist beyond these.
    """

    app_id: int
    name: str
    partition_count: int
    status: str = AVAILABLE
    init_partition_count: int | None = None
    max_replica_count: int = 3
    envs: Mapping[str, str] | None = None
    duplicating: bool | None = False
    bulk_loading: bool | None = False
    partitions: tuple[PartitionState, ...] = ()
    split_states: Mapping[int, str] | None = None
    learning: frozenset[int] | None = None
    replicas: tuple[ReplicaState, ...] = ()

    @property
    def by_index(self) -> Mapping[int, PartitionState]:
        """Returns the partitions by index."""
        return {one.index: one for one in self.partitions}

    @property
    def unregistered(self) -> tuple[PartitionState, ...]:
        """Returns the partitions that meta counts but has not registered."""
        return tuple(one for one in self.partitions if not one.is_registered and one.index < self.partition_count)

    @property
    def is_splitting(self) -> bool:
        """Returns whether children in the upper half wait for registration."""
        return any(one.index >= self.partition_count // 2 for one in self.unregistered)


@dataclass(frozen=True, slots=True)
class Disk:
    """A data disk of a node. Sizes are in bytes; `apps` has the bytes of each table on the disk, None = unknown."""

    node: str
    name: str
    capacity: int
    used: int
    apps: Mapping[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The state of a cluster that one state file or one capture contains.

    Attributes:
        where: the file or directory from which the state was read, for messages.
        observed_at: ms since the epoch.
        leader: the address of the meta leader; None = unknown.
        disks: the data disks; None = unknown.
        unalive_nodes: the replica servers of tables that meta does not call alive; empty if this is unknown.
    """

    where: str
    cluster: str
    observed_at: int
    tables: tuple[PegasusTable, ...]
    leader: str | None = None
    disks: tuple[Disk, ...] | None = None
    unalive_nodes: frozenset[str] = frozenset()

    def table(self, app_id: int) -> PegasusTable | None:
        """Returns the table with this id; None = there is no such table."""
        return next((one for one in self.tables if one.app_id == app_id), None)
