"""The results of plan-migration and verify-migration, as text and as JSON."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from pipelines.common.human import human_amount, human_count
from pipelines.common.text import text_table
from pipelines.lake.findings import ERROR, WARNING, finding_lines
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.migration.rows import Family, MigrationAction, MigrationCheck, MigrationRow, MigrationRule

_SHOWN = 20


def plan_result(go: bool, rows: Sequence[MigrationRow], enabled: Sequence[str]) -> dict[str, object]:
    """Returns the own part of plan-migration's JSON object; keys are the column names of the tables."""
    return {
        "go": go,
        "counts": {family.value: _counts(rows, family) for family in Family},
        "enabled_peers": list(enabled),
        "rows": [asdict(row) for row in rows if row.family == Family.QUEUE.value],
    }


def plan_lines(
    cluster: str,
    go: bool,
    rows: Sequence[MigrationRow],
    enabled: Sequence[str],
    findings: Sequence[FindingRow],
) -> Iterator[str]:
    """Yields the text for the operator before the upgrade."""
    word = "GO" if go else "NO-GO"
    yield f"cluster {cluster}: the migration to hbase:replication is a {word}{_sums(row.severity for row in findings)}"
    yield ""
    counts = [
        (family.value, *(_counts(rows, family)[name] for name in ("WRITE", "DROP", "BLOCK"))) for family in Family
    ]
    yield from text_table("  {:<10} {:>9} {:>9} {:>9}", [("", "written", "dropped", "blocking"), *counts])
    if enabled:
        yield ""
        yield f"  disabled meanwhile: {', '.join(enabled)}"
    queues = [row for row in rows if row.family == Family.QUEUE.value]
    for title, action in (
        ("written", MigrationAction.WRITE),
        ("dropped", MigrationAction.DROP),
        ("blocking", MigrationAction.BLOCK),
    ):
        yield from _planned_lines(title, [row for row in queues if row.action == action.value])
    yield from finding_lines(findings)


def verify_result(verified: bool, checks: Sequence[MigrationCheck]) -> dict[str, object]:
    """Returns the own part of verify-migration's JSON object: every difference, and how often each rule is true."""
    return {
        "verified": verified,
        "rules": {rule.value: _held(checks, rule) for rule in MigrationRule},
        "differences": [asdict(check) for check in checks if check.severity is not None],
    }


def verify_lines(
    cluster: str,
    verified: bool,
    checks: Sequence[MigrationCheck],
) -> Iterator[str]:
    """Yields the text for the operator after the upgrade."""
    state = "verified" if verified else "NOT VERIFIED"
    yield f"cluster {cluster}: the migration to hbase:replication is {state}{_sums(check.severity for check in checks)}"
    yield ""
    held = [(rule.value, *_held(checks, rule).values()) for rule in MigrationRule]
    yield from text_table("  {:<18} {:>9} {:>9}", [("rule", "checked", "holds"), *held])
    different = [check for check in checks if check.severity is not None]
    for check in different[:_SHOWN]:
        place = "/".join(filter(None, (check.subject, check.qualifier)))
        yield ""
        yield f"  {check.severity:<8} {check.rule} {check.answer}"
        yield f"             {place}"
        yield f"             expected {check.expected or 'nothing'}, found {check.found or 'nothing'}"
    if len(different) > _SHOWN:
        yield ""
        yield f"  … and {len(different) - _SHOWN:,} more; `differences` in the JSON has every one"


def _counts(rows: Sequence[MigrationRow], family: Family) -> dict[str, int]:
    found = Counter(row.action for row in rows if row.family == family.value)
    return {action.value: found[action.value] for action in MigrationAction}


def _held(checks: Sequence[MigrationCheck], rule: MigrationRule) -> dict[str, int]:
    of_rule = [check for check in checks if check.rule == rule.value]
    return {"checked": len(of_rule), "holds": sum(check.severity is None for check in of_rule)}


def _sums(severities: Iterable[str | None]) -> str:
    counts = Counter(severities)
    said = [human_count(counts[level], level) for level in (ERROR, WARNING) if counts[level]]
    return f": {', '.join(said)}" if said else ""


def _planned_lines(title: str, rows: Sequence[MigrationRow]) -> Iterator[str]:
    if rows:
        yield ""
        yield f"  {title}"
    for row in rows[:_SHOWN]:
        wals = "" if row.wals is None else f", {human_amount(row.wals, row.bytes or 0, 'WAL')}"
        doubt = f", {row.reason}" if row.reason else ""
        missing = ", which is GONE" if row.wal_listed is False else ""
        target = (
            f"{row.row} {row.value}{missing}" if row.action == MigrationAction.WRITE.value else row.value or row.row
        )
        yield f"    {target}"
        yield f"      from {row.znode}{wals}{doubt}"
    if len(rows) > _SHOWN:
        yield f"    … and {len(rows) - _SHOWN:,} more; `rows` in the JSON has every one"
