"""Checks replicas and their directories: rules R1 to R4 and R6."""

from collections.abc import Iterator

from pipelines.lake.findings import ERROR, WARNING
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.partitions import REJECTING
from pipelines.pegasus.domain.rule_violations import rule_violation
from pipelines.pegasus.domain.state.model import (
    SPLITTING_REPLICA,
    PartitionState,
    PegasusTable,
    ReplicaState,
)

_GARBAGE = (
    "Compare it with split-verify, then move the directory away: no server loads it, and meta's disk report counts it."
)


def check_replicas(table: PegasusTable, fresh: frozenset[int] = frozenset()) -> Iterator[FindingRow]:
    """Checks R1 to R4 and R6 for one table in one state; yields the violations.

    Args:
        table: the table in that state.
        fresh: the partitions whose split was registered shortly before, see `freshly_registered`. Their replicas may
            not know the new count yet, so R1 and R6 skip them.
    """
    found = table.by_index
    for replica in table.replicas:
        partition = found.get(replica.index)
        if replica.index not in fresh:
            yield from _count(table, replica, partition)
        yield from _version(table, replica)
        yield from _directory(table, replica, partition)
        yield from _init_info(table, replica, partition)
    yield from _groups(table, fresh)
    yield from _nowhere(table, fresh)


def _groups(table: PegasusTable, fresh: frozenset[int]) -> Iterator[FindingRow]:
    """Checks R1 among the replicas of one partition."""
    for index in sorted({one.index for one in table.replicas} - fresh):
        counts = {
            one.node: one.partition_count
            for one in table.replicas
            if one.index == index and one.partition_count is not None and one.status != SPLITTING_REPLICA
        }
        if len(set(counts.values())) > 1:
            yield rule_violation(
                "R1", WARNING if _is_waiting(table, index) else ERROR, f"{table.app_id}.{index}",
                f"Partition {table.name} {table.app_id}.{index}: its replicas count different numbers of partitions.",
                "A secondary that missed the group check keeps the old count when it is promoted: "
                "wait for one group check, then look again.", counts=counts,
            )  # fmt: skip


def _nowhere(table: PegasusTable, fresh: frozenset[int]) -> Iterator[FindingRow]:
    """Checks R6: a registered partition that none of its servers reports, though each of them reports replicas."""
    reported = fresh | {one.index for one in table.replicas}
    speaking = {one.node for one in table.replicas}
    for one in table.partitions:
        if one.is_registered and one.index not in reported and one.members and one.members <= speaking:
            nodes = sorted(one.members)
            yield rule_violation(
                "R6", ERROR, f"{table.app_id}.{one.index}",
                f"Partition {table.name} {table.app_id}.{one.index}: meta has it on {', '.join(nodes)}, and none of "
                "them reports a replica of it.",
                "Keep all data directories as they are and let no partition compact: a parent that compacts deletes "
                "the rows of its child. Then compare parent and child with split-verify.", nodes=nodes,
            )  # fmt: skip


def _count(table: PegasusTable, replica: ReplicaState, partition: PartitionState | None) -> Iterator[FindingRow]:
    """Checks R1 against meta: once the child is registered, parent and child have meta's partition count."""
    if replica.partition_count is None or partition is None or _is_waiting(table, replica.index):
        return
    if replica.partition_count != table.partition_count and replica.index < table.partition_count:
        yield _violated(
            "R1", ERROR, table, replica,
            f"counts {replica.partition_count} partitions, meta {table.partition_count}, and its child is registered.",
            "It would accept requests that belong to the child. Restart that replica server, then look again.",
        )  # fmt: skip


def _version(table: PegasusTable, replica: ReplicaState) -> Iterator[FindingRow]:
    """Checks R2: the partition version is the partition count - 1, or -1 while the child is being registered."""
    version = replica.partition_version
    if version in {None, REJECTING}:
        return
    if replica.partition_count is not None:
        right = {replica.partition_count - 1}
    else:
        right = {table.partition_count - 1} | ({table.partition_count // 2 - 1} if table.is_splitting else set())
    if version not in right:
        yield _violated(
            "R2", ERROR, table, replica, f"has partition version {version}; it should be {_or(right)}, or -1.",
            "Restart that replica server: only its memory has the version.", version=version,
        )  # fmt: skip


def _directory(table: PegasusTable, replica: ReplicaState, partition: PartitionState | None) -> Iterator[FindingRow]:
    """Checks R3: a directory whose index is not below the count in its `.app-info` or in meta."""
    learning = replica.status == SPLITTING_REPLICA and _is_waiting(table, replica.index)
    if replica.partition_count is not None and replica.index >= replica.partition_count and not learning:
        yield _violated(
            "R3", WARNING, table, replica,
            f"is a garbage child: its .app-info counts {replica.partition_count} partitions.", _GARBAGE,
        )  # fmt: skip
    if replica.index >= table.partition_count and replica.status != "PS_ERROR":
        yield _violated(
            "R3", ERROR, table, replica,
            f"is beyond meta's {table.partition_count} partitions: a meta server that receives a report of it fails "
            "a CHECK and stops.",
            "Move the directory away before the replica server or a meta server is started again.",
        )  # fmt: skip
    if (
        partition is not None and not partition.is_registered
        and replica.partition_count == table.partition_count and replica.status == "PS_INACTIVE"
    ):  # fmt: skip
        yield _violated(
            "R3", ERROR, table, replica,
            "was given the new count, and meta has no such child: it looks valid and must not be loaded as its owner.",
            _GARBAGE,
        )  # fmt: skip


def _init_info(table: PegasusTable, replica: ReplicaState, partition: PartitionState | None) -> Iterator[FindingRow]:
    """Checks R4: compares `.init-info` with meta's ballot and with the flushed decree."""
    meta = partition.ballot if partition is not None and partition.is_registered else None
    if replica.init_ballot is not None and meta is not None and replica.init_ballot > meta:
        yield _violated(
            "R4", ERROR, table, replica,
            f"has seen ballot {replica.init_ballot}, meta says {meta}: meta was set back.",
            "Restore meta from a newer state, or recover the table from the replicas.", part="/ballot",
        )  # fmt: skip
    flushed = replica.last_flushed_decree
    if replica.init_durable_decree is not None and flushed is not None and replica.init_durable_decree > flushed:
        yield _violated(
            "R4", ERROR, table, replica,
            f"promises decree {replica.init_durable_decree}, its data ends at {flushed}: its data are incomplete.",
            "Let it learn again from its primary; if it is the primary, compare with a secondary first.", part="/data",
        )  # fmt: skip


def _is_waiting(table: PegasusTable, index: int) -> bool:
    """Returns whether the partition's split is under way, so that its count may be the old or the new one."""
    half = table.partition_count // 2
    waiting = {one.index for one in table.unregistered}
    return index in waiting or index + half in waiting


def _or(numbers: set[int]) -> str:
    return " or ".join(map(str, sorted(numbers)))


def _violated(
    rule: str,
    severity: str,
    table: PegasusTable,
    replica: ReplicaState,
    message: str,
    remedy: str,
    part: str = "",
    **evidence: object,
) -> FindingRow:
    return rule_violation(
        rule, severity, f"{table.app_id}.{replica.index}@{replica.node}{part}",
        f"Replica {table.name} {table.app_id}.{replica.index} on {replica.node} {message}", remedy, **evidence,
    )  # fmt: skip
