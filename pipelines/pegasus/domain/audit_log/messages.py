"""Writes the messages about rules that private logs break."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipelines.common.human import human_count
from pipelines.lake.findings import ERROR
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.audit_log.facts import SplitFacts
from pipelines.pegasus.domain.report import rule_violation

_COMPARE = "Keep all logs and data; compare parent and child with split-verify, and copy what is missing."
_WORDS = {
    "GAP": ("L2", "has a gap: {n} between {first} and {last} are in none of its logs", "Let the replica learn again."),
    "CONFLICT": ("L6", "has {n} with two different mutations of one ballot, from {first} to {last}", _COMPARE),
    "LACKING": ("L3", "lacks {n} that its parent had committed when it was registered, {first} to {last}", _COMPARE),
    "OTHER": ("L2", "copied {n} with other content than its parent's, {first} to {last}", _COMPARE),
    "LATE": (
        "L4",
        "accepted {n} with keys of its child after the registration, {first} to {last}: the child's readers miss them",
        _COMPARE,
    ),
    "STRANGE": ("L5", "accepted {n} with keys that are not its own, {first} to {last}", _COMPARE),
    "UNLOGGED": (
        "L6", "acknowledged {n} from {first} to {last} that are in no log and later than all durable data", _COMPARE
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BrokenDecrees:
    """The decrees of one replica that break a rule."""

    node: str
    app_id: int
    partition: int
    kind: str
    number: int
    first: int
    last: int


def broken_rules(rows: Iterable[BrokenDecrees]) -> Iterator[FindingRow]:
    """Yields one finding for each row."""
    for row in rows:
        rule, words, remedy = _WORDS[row.kind]
        where = f"{row.app_id}.{row.partition}" + (f"@{row.node}" if row.node else "")
        said = words.format(n=human_count(row.number, "decree"), first=row.first, last=row.last)
        who = f"Replica {where}" if row.node else f"Partition {where}"
        yield rule_violation(
            rule, ERROR, f"{where}/{row.kind.lower()}", f"{who} {said}.", remedy,
            decrees=row.number, first=row.first, last=row.last,
        )  # fmt: skip


def behind_sync_point(copied: Iterable[tuple[str, int, int, int]], facts: SplitFacts) -> Iterator[FindingRow]:
    """Checks L3: yields a finding for each child whose copied mutations end before the sync point.

    Args:
        copied: node, child, sync point and the largest decree that the child copied.
        facts: the facts of the table.
    """
    for node, child, sync_point, largest in copied:
        if largest < sync_point:
            yield rule_violation(
                "L3", ERROR, f"{facts.app_id}.{child}@{node}/sync",
                f"Replica {facts.app_id}.{child}@{node} copied up to decree {largest}; the sync point is {sync_point}: "
                "it was registered too early.", _COMPARE, copied=largest, sync_point=sync_point,
            )  # fmt: skip
