"""Checks that need several states: children that wait too long, parents that reject too long, leftover replicas."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pipelines.common.human import human_duration
from pipelines.common.instants import HOUR_MS, SECOND_MS
from pipelines.lake.findings import ERROR, WARNING
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.partitions import REJECTING
from pipelines.pegasus.domain.rule_violations import rule_violation
from pipelines.pegasus.domain.state.model import SPLITTING_REPLICA, ClusterState, PegasusTable

Subject: TypeAlias = tuple[int, int, str]
"""(table id, partition, node)."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The limits in ms.

    Attributes:
        reject_ms: how long a parent may reject requests: one config sync interval (`config_sync_interval_ms`, 30 s).
        stuck_ms: how long a child may wait for its registration.
    """

    reject_ms: int = 30 * SECOND_MS
    stuck_ms: int = 6 * HOUR_MS


def lasting_violations(series: Sequence[ClusterState], timing: TimeLimits) -> Iterator[FindingRow]:
    """Checks R2, R5 and stuck children: conditions that are true in the last state and have lasted too long."""
    if not series:
        return
    names = {table.app_id: table.name for table in series[-1].tables}
    for (app, index, _), since in _since(series, _waiting):
        if since >= timing.stuck_ms:
            yield rule_violation(
                "STUCK", ERROR, f"{app}.{index}",
                f"Partition {names[app]} {app}.{index} has waited at ballot -1 for {human_duration(since)}: "
                "its parent does not register it.",
                "Pause and restart the split of its parent; if that does not help, move the parent's primary "
                "(https://github.com/apache/incubator-pegasus/issues/2209).", waited_ms=since,
            )  # fmt: skip
    for (app, index, node), since in _since(series, _rejecting):
        if since > timing.reject_ms:
            yield rule_violation(
                "R2", ERROR, f"{app}.{index}@{node}",
                f"Replica {names[app]} {app}.{index} on {node} has answered nobody for {human_duration(since)}.",
                "Move the primary of that partition: the new primary begins with its own "
                "partition version.", rejected_ms=since,
            )  # fmt: skip
    for (app, index, node), since in _since(series, _left_over):
        registered = _is_registered(series[-1], app, index)
        if registered or since >= timing.stuck_ms:
            words = "its child is registered" if registered else f"it has been one for {human_duration(since)}"
            yield rule_violation(
                "R5", WARNING, f"{app}.{index}@{node}",
                f"Replica {names[app]} {app}.{index} on {node} is still {SPLITTING_REPLICA}, though {words}.",
                "Restart that replica server; the partition learns again from its primary.", lasting_ms=since,
            )  # fmt: skip


def _since(
    series: Sequence[ClusterState], true_of: Callable[[PegasusTable], Iterator[Subject]]
) -> list[tuple[Subject, int]]:
    """Returns each subject of the last state that meets the condition, and for how many ms without a break."""
    last = series[-1]
    begun = {subject: last.observed_at for table in last.tables for subject in true_of(table)}
    standing = set(begun)
    for state in reversed(series[:-1]):
        standing &= {subject for table in state.tables for subject in true_of(table)}
        begun |= dict.fromkeys(standing, state.observed_at)
    return [(subject, last.observed_at - since) for subject, since in sorted(begun.items())]


def _waiting(table: PegasusTable) -> Iterator[Subject]:
    """Yields children that wait for registration, without those of a paused split, which wait as intended."""
    for one in table.unregistered:
        if (table.split_states or {}).get(one.index - table.partition_count // 2) != "PAUSED":
            yield table.app_id, one.index, ""


def _rejecting(table: PegasusTable) -> Iterator[Subject]:
    for one in table.replicas:
        if one.partition_version == REJECTING:
            yield table.app_id, one.index, one.node


def _left_over(table: PegasusTable) -> Iterator[Subject]:
    for one in table.replicas:
        if one.status == SPLITTING_REPLICA:
            yield table.app_id, one.index, one.node


def freshly_registered(series: Sequence[ClusterState], app: int, timing: TimeLimits) -> frozenset[int]:
    """Returns the children that were registered shortly before the last state, and their parents.

    "Shortly" means since the previous state, or within one config sync interval (`timing.reject_ms`), because config
    sync tells the replica servers of a registration.
    """
    *earlier, last = series
    now = last.table(app)
    if now is None:
        return frozenset()
    half = now.partition_count // 2
    new = set[int]()
    for place, state in enumerate(reversed(earlier)):
        before = state.table(app)
        if before is None or (place > 0 and last.observed_at - state.observed_at > timing.reject_ms):
            break
        there = {one.index for one in before.partitions if one.is_registered}
        new |= {one.index for one in now.partitions if one.is_registered and one.index >= half} - there
    return frozenset(new | {index - half for index in new})


def _is_registered(state: ClusterState, app: int, index: int) -> bool:
    table = state.table(app)
    partition = table.by_index.get(index) if table else None
    return partition is not None and partition.is_registered
