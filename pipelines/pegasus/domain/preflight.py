"""Checks whether a table can be split now: blockers and warnings (docs/split-rules.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd, lcm
from typing import TypeAlias

from pipelines.common.human import human_bytes, human_count
from pipelines.lake.findings import ERROR, WARNING
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.partitions import is_owner, is_power_of_two
from pipelines.pegasus.domain.rule_violations import MARK, lost_env_remedy, rule_violation
from pipelines.pegasus.domain.state.model import AVAILABLE, VALIDATE_ENV, ClusterState, PegasusTable

DISK_SHARE = 0.9
"""admin-cli refuses a split that would fill a disk beyond this share."""
DISK_COPIES = 3
"""How many times admin-cli counts the table's bytes on a disk."""
RULES = ("C1", "C2", "C7", "C9", "C11", "C12", "F37")
"""In the order in which they are checked."""
OK, WARNED, BLOCKER, UNKNOWN = "OK", "WARNING", "BLOCKER", "UNKNOWN"
"""The verdicts of a rule."""
Judged: TypeAlias = tuple[str, FindingRow]
"""A verdict and the finding that says why."""
_MOST_HASHES = 1 << 18


@dataclass(frozen=True, slots=True)
class PreflightCheck:
    """The result of one rule for one table. verdict: OK, WARNING, BLOCKER or UNKNOWN."""

    app_id: int
    table: str
    rule: str
    verdict: str
    words: str


def preflight(state: ClusterState, table: PegasusTable, to_count: int | None) -> Iterator[Judged]:
    """Yields what prevents the split of one table, or may do so.

    Args:
        state: the newest state.
        table: the table in that state.
        to_count: the requested partition count; None = twice the current count.
    """
    yield from _counts(table, to_count)
    yield from _under_way(table)
    yield from _env(table)
    yield from _health(table, state.unalive_nodes)
    yield from _use(table)
    yield from _disks(state, table)


def preflight_checks(table: PegasusTable, found: Sequence[Judged]) -> list[PreflightCheck]:
    """Returns every rule with its verdict, including rules without a finding."""
    rows = []
    for rule in RULES:
        mine = [(verdict, row.message) for verdict, row in found if row.code == f"{MARK}{rule}"]
        for verdict, words in mine or [(OK, "nothing prevents the split")]:
            rows.append(PreflightCheck(table.app_id, table.name, rule, verdict, words))
    return rows


def deleted_share(count: int) -> float:
    """Returns the share of a table's keys that compaction drops after a split of `count` to `2 · count` partitions.

    The server only requires a positive count at creation, and twice the count at a split. Before the split a key is in
    partition `hash % count`; after it, the owner is `hash & (new count - 1)`, and compaction drops the key from all
    others.

    The result is exact if both formulas repeat within 262,144 hashes, else it is sampled over as many, spread evenly.
    It is 0 for powers of two.

    Args:
        count: the number of partitions before the split.
    """
    if is_power_of_two(count):
        return 0.0
    version = 2 * count - 1
    period = lcm(count, 1 << version.bit_length())
    step = 1 if period <= _MOST_HASHES else period // _MOST_HASHES
    while gcd(step, period) > 1:  # else some remainders are never sampled
        step += 1
    hashes = range(0, period, step)
    kept = sum(any(is_owner(one, index, version) for index in (one % count, one % count + count)) for one in hashes)
    return 1 - kept / len(hashes)


def _counts(table: PegasusTable, to_count: int | None) -> Iterator[Judged]:
    count = table.partition_count
    if not is_power_of_two(count):
        share = deleted_share(count)
        yield _found(
            "C1", BLOCKER, table,
            f"{count} partitions are not a power of two: after a split to {2 * count}, compaction deletes "
            f"{share:.0%} of "
            "its keys. The server allows it.",
            "Do not split it. Create a table with a power of two and copy the data, or use split-run, which "
            "places every "
            "key by its hash.", deleted_share=round(share, 4),
        )  # fmt: skip
    if to_count is not None and to_count != 2 * count:
        yield _found(
            "C2", BLOCKER, table, f"a split goes from {count} to {2 * count} partitions, not to {to_count}.",
            f"Split to {2 * count}, then split again; split-run can double several times in one run."
            if is_power_of_two(count)
            else "Of the jobs, only split-run goes from such a number to a greater power of two.", wanted=to_count,
        )  # fmt: skip


def _under_way(table: PegasusTable) -> Iterator[Judged]:
    half = table.partition_count // 2
    missing = [one.index for one in table.unregistered]
    holes = [index for index in missing if index < half]
    if holes:
        yield _found(
            "C7", BLOCKER, table,
            f"{human_count(len(holes), 'partition')} below {half} without a node, such as {holes[0]}: after a restart "
            "of the meta servers the table would never become available.",
            "Repair the nodes first; do not restart the meta servers before that.", partitions=holes[:20],
        )  # fmt: skip
    if len(missing) > len(holes):
        yield _found(
            "C12", BLOCKER, table,
            f"a split is under way: {human_count(len(missing) - len(holes), 'partition')} not yet registered.",
            "Wait for it, or cancel it; split-audit-config says what is stuck.", children=missing[:20], part="/split",
        )  # fmt: skip


def _env(table: PegasusTable) -> Iterator[Judged]:
    if table.init_partition_count in {-1, table.partition_count}:  # it has never been split
        return
    if table.envs is None:
        yield _found(
            "C9", UNKNOWN, table, "its envs are not known.",
            "Add the output of get_app_envs as 'envs' (in 'app_info', if the state has it).",
        )  # fmt: skip
    elif table.envs.get(VALIDATE_ENV) == "true":
        return
    elif table.init_partition_count is not None:
        yield _found(
            "C9", WARNED, table,
            f"it has been split before, and {VALIDATE_ENV} is {table.envs.get(VALIDATE_ENV, 'not set')}: scans "
            "see rows twice, and no compaction removes the stale rows.",
            lost_env_remedy(table.partition_count),
        )  # fmt: skip
    else:
        yield _found(
            "C9", UNKNOWN, table,
            f"{VALIDATE_ENV} is {table.envs.get(VALIDATE_ENV, 'not set')}, and it is not known whether the table has "
            "been split before.",
            "A state file with 'app_info' shows it. If it has been split: " + lost_env_remedy(table.partition_count),
        )  # fmt: skip


def _health(table: PegasusTable, unalive: frozenset[str]) -> Iterator[Judged]:
    thin = [
        one.index
        for one in table.partitions
        if one.is_registered and len(one.members - unalive) < table.max_replica_count
    ]
    headless = [one.index for one in table.partitions if one.is_registered and one.primary in {None, *unalive}]
    if thin or headless:
        yield _found(
            "C11", BLOCKER, table,
            f"{human_count(len({*thin, *headless}), 'partition')} with fewer than {table.max_replica_count} replicas, "
            f"such as {min([*thin, *headless])}: a split would wait forever.",
            "Let the cluster heal (ls -d, app -d); then try again.", partitions=sorted({*thin, *headless})[:20],
        )  # fmt: skip
    if table.learning:
        yield _found(
            "C11", BLOCKER, table, f"{human_count(len(table.learning), 'partition')} with a learner.",
            "Wait until it has learned.", partitions=sorted(table.learning)[:20], part="/learning",
        )  # fmt: skip


def _use(table: PegasusTable) -> Iterator[Judged]:
    if table.status != AVAILABLE:
        yield _found("C12", BLOCKER, table, f"it is {table.status}.", "Only an available table can be split.")
    if table.bulk_loading is None or table.duplicating is None:
        yield _found(
            "C12", UNKNOWN, table, "it is not known whether it is being bulk-loaded or duplicated.",
            "Ask Pegasus's shell (query_bulk_load_status, query_dup), or give a state file with 'app_info'.",
            part="/unknown",
        )  # fmt: skip
    if table.bulk_loading:
        yield _found(
            "C12", BLOCKER, table, "a bulk load is under way.", "Wait for its end, or cancel it.", part="/bulk-load"
        )
    if table.duplicating:
        yield _found(
            "C12", WARNED, table, "it is being duplicated: the other cluster keeps its own count, and its logs are "
            "held until both have what they need.",
            "Split the table of the other cluster too; split-audit-log says which logs can be deleted.",
            part="/duplication",
        )  # fmt: skip


def _disks(state: ClusterState, table: PegasusTable) -> Iterator[Judged]:
    disks = state.disks or ()
    known = {disk.node for disk in disks if table.app_id in (disk.apps or {})}
    known -= {disk.node for disk in disks if disk.apps is None}
    unknown = sorted({node for one in table.partitions for node in one.members} - known)
    if unknown or not known:
        which = f" of {human_count(len(unknown), 'server')}, such as {unknown[0]}," if disks and unknown else ""
        yield _found(
            "F37",
            UNKNOWN,
            table,
            f"the use of the disks{which} is not known.",
            "Compare the disks yourself, or write 'disks' into a state file, with the bytes of the table in 'apps'; a "
            "capture cannot have it (docs/split-state.md).",
        )
    for disk in disks:
        size = (disk.apps or {}).get(table.app_id, 0)
        if size and disk.used + DISK_COPIES * size > DISK_SHARE * disk.capacity:
            yield BLOCKER, rule_violation(
                "F37", ERROR, f"{table.app_id}@{disk.node}/{disk.name}",
                f"Table {table.name}: {disk.node} {disk.name} has {human_bytes(disk.used)} of "
                f"{human_bytes(disk.capacity)} in use, and {DISK_COPIES} times the table's {human_bytes(size)} there "
                f"would fill more than {DISK_SHARE:.0%} of it.",
                "Free space on that disk or move replicas away (migrate_disk) first.",
                used=disk.used, capacity=disk.capacity, table_bytes=size,
            )  # fmt: skip


def _found(
    rule: str, verdict: str, table: PegasusTable, message: str, remedy: str, *, part: str = "", **evidence: object
) -> Judged:
    """Returns the finding about a table.

    Args:
        rule: the name of the rule.
        verdict: WARNING, BLOCKER or UNKNOWN.
        table: the table.
        message: what is wrong with it.
        remedy: what to do.
        part: the part of the rule, at the end of the subject: who acknowledges that a table is split does not mean a
            bulk load of it.
        evidence: the values that prove the finding.
    """
    severity = ERROR if verdict == BLOCKER else WARNING
    if verdict == UNKNOWN:
        evidence["unknown"] = True
    said = f"Table {table.name}: {message}"
    return verdict, rule_violation(rule, severity, f"{table.app_id}{part}", said, remedy, **evidence)
