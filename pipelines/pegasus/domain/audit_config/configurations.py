"""Checks partition configurations: rules C2 to C8."""

from collections.abc import Iterator

from pipelines.lake.findings import ERROR, WARNING
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.partitions import is_power_of_two
from pipelines.pegasus.domain.rule_violations import rule_violation
from pipelines.pegasus.domain.state.model import SERVING, ClusterState, PartitionState, PegasusTable

_KEEP = "Keep every data directory as it is, and compare parent and child with split-verify before anything is removed."
_RESTART = "Do not restart the meta servers before this is repaired: the table would never become available."


def of_one_state(table: PegasusTable) -> Iterator[FindingRow]:
    """Checks C3, C4, C7 and C8 for one table in one state; yields the violations."""
    count, half = table.partition_count, table.partition_count // 2
    for one in table.partitions:
        if one.index >= count and one.is_registered:
            yield _violated(
                "C3", ERROR, table, one.index,
                f"it is registered, but the table has {count} partitions, so no child has this number.",
                _KEEP, partition_count=count,
            )  # fmt: skip
    for one in table.unregistered:
        serving = sorted({r.node for r in table.replicas if r.index == one.index and r.status in SERVING})
        if serving:
            yield _violated(
                "C4", ERROR, table, one.index,
                f"meta has no such child, but {', '.join(serving)} serve it: they accept writes that no client "
                "will read.",
                _KEEP, nodes=serving,
            )  # fmt: skip
        if one.index < half:
            yield _violated(
                "C7", ERROR, table, one.index,
                f"its node is missing, though only partitions from {half} on may wait for their registration.",
                _RESTART, init_partition_count=table.init_partition_count,
            )  # fmt: skip
    yield from _split_states(table)


def of_two_states(before: ClusterState, now: ClusterState, app_id: int) -> Iterator[FindingRow]:
    """Checks C2, C5, C6 and the forgotten pauses of C8 for a table between two states; yields the violations."""
    old, new = before.table(app_id), now.table(app_id)
    if old is None or new is None:
        return
    was, became = old.partition_count, new.partition_count
    registered = any(one.is_registered and one.index >= was // 2 for one in old.partitions)
    if became > 2 * was > 0 and became % was == 0 and is_power_of_two(became // was):
        yield rule_violation(
            "C2", WARNING, _subject(new),
            f"Table {new.name}: from {was} to {became} partitions: several splits between two states, which cannot be "
            "checked one by one.",
            "Add the states between these splits, if you have them.", before=before.where, after=now.where,
        )  # fmt: skip
    elif became not in {was, 2 * was} and not (became * 2 == was and not registered):
        yield rule_violation(
            "C2", ERROR, _subject(new),
            f"Table {new.name}: from {was} to {became} partitions; a split doubles, and a cancelled one halves again.",
            _KEEP, before=before.where, after=now.where,
        )  # fmt: skip
    for one in new.partitions:
        earlier = old.by_index.get(one.index)
        parent = new.by_index.get(one.index - became // 2)
        if earlier is not None and earlier.is_registered and one.is_registered:
            yield from _grown(new, earlier, one)
        elif (
            one.is_registered
            and one.index >= became // 2
            and parent is not None
            and (earlier is not None or was * 2 == became)
        ):
            yield from _registered(new, old.by_index.get(parent.index), parent, one)
    if before.leader != now.leader and old.split_states and new.is_splitting:
        lost = {
            index: state
            for index, state in old.split_states.items()
            if state != "SPLITTING" and (new.split_states or {}).get(index) == "SPLITTING"
        }
        for index, state in lost.items():
            yield _violated(
                "C8", ERROR, new, index,
                f"it was {state} under {before.leader}; the new leader {now.leader} has forgotten this and goes on "
                "with the split.",
                "Pause or cancel the split again: only the leader's memory has pauses, so a new leader "
                "loses them.", before=before.where,
            )  # fmt: skip


def _grown(table: PegasusTable, old: PartitionState, new: PartitionState) -> Iterator[FindingRow]:
    """Checks C6 for a partition that was registered in both states."""
    if new.ballot < old.ballot:
        yield _violated(
            "C6", ERROR, table, new.index,
            f"its ballot went back from {old.ballot} to {new.ballot}: an older configuration was written over it.",
            _KEEP, before=old.ballot, after=new.ballot,
        )  # fmt: skip
    elif new.ballot == old.ballot + 1 and (old.primary, old.secondaries) == (new.primary, new.secondaries):
        yield _violated(
            "C6", WARNING, table, new.index,
            f"its ballot went from {old.ballot} to {new.ballot}, and no replica joined or left.",
            "Look at the meta server's log: a replica may have left and come back in between.", ballot=new.ballot,
        )  # fmt: skip


def _registered(
    table: PegasusTable, parent_before: PartitionState | None, parent: PartitionState, child: PartitionState
) -> Iterator[FindingRow]:
    """Checks C5 for a newly registered child.

    Its ballot is the parent's ballot + 1, or higher if it has changed since: a move of the primary adds two.
    """
    known = [one.ballot for one in (parent_before, parent) if one is not None and one.is_registered]
    if not known:
        return
    least = min(known) + 1
    exact = len(set(known)) == 1 and child.members == parent.members
    if child.ballot < least or (exact and child.primary == parent.primary and child.ballot != least):
        yield _violated(
            "C5", ERROR, table, child.index,
            f"it was registered with ballot {child.ballot}; it should be {least}, one above its parent {parent.index}.",
            _KEEP, child_ballot=child.ballot, parent_ballots=known,
        )  # fmt: skip
    if exact and child.primary != parent.primary:
        yield _violated(
            "C5", WARNING, table, child.index,
            f"its primary is {child.primary}, its parent's {parent.primary}: at registration they must be equal.",
            "Nothing needs to be done if the balancer has run since.",
        )  # fmt: skip


def _split_states(table: PegasusTable) -> Iterator[FindingRow]:
    """Checks C8: compares meta's split states with the children that are not registered."""
    if table.split_states is None:
        return
    half = table.partition_count // 2
    waiting = {one.index - half for one in table.unregistered if one.index >= half}
    differing = sorted(waiting ^ set(table.split_states))
    if differing:
        yield rule_violation(
            "C8", ERROR, _subject(table),
            f"Table {table.name}: meta reports {len(table.split_states)} splitting parents, but {len(waiting)} "
            "children wait; "
            f"they differ in {', '.join(map(str, differing[:10]))}.",
            "Restart the split of these parents (partition-split restart), then look again.",
            states=dict(table.split_states), waiting=sorted(waiting),
        )  # fmt: skip


def _violated(
    rule: str, severity: str, table: PegasusTable, index: int, message: str, remedy: str, **evidence: object
) -> FindingRow:
    return rule_violation(
        rule, severity, f"{table.app_id}.{index}", f"Partition {table.name} {table.app_id}.{index}: {message}", remedy,
        **evidence,
    )  # fmt: skip


def _subject(table: PegasusTable) -> str:
    return str(table.app_id)
