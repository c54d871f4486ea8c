"""The results of plan-migration and verify-migration, as text and as JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from pipelines.common.human import human_bytes, human_count
from pipelines.lake.run_summary import FindingRow, RunKey
from pipelines.queues.migration.rows import Family, MigrationAction, MigrationCheck, MigrationRow, MigrationRule
from pipelines.reconcile.finding_lines import finding_lines
from pipelines.reconcile.findings.evidence import ERROR, WARNING

_SHOWN = 20


def plan_result(
    key: RunKey,
    go: bool,
    rows: Sequence[MigrationRow],
    enabled: Sequence[str],
    findings: Sequence[FindingRow],
) -> dict[str, object]:
    """Returns the JSON object of plan-migration; keys are the column names of the tables."""
    return {
        "cluster": key.cluster,
        "run_id": key.run_id,
        "go": go,
        "counts": {family.value: _counts(rows, family) for family in Family},
        "enabled_peers": list(enabled),
        "rows": [asdict(row) for row in rows if row.family == Family.QUEUE.value],
        "findings": [asdict(row) for row in findings],
    }


def plan_text(
    key: RunKey,
    go: bool,
    rows: Sequence[MigrationRow],
    enabled: Sequence[str],
    findings: Sequence[FindingRow],
) -> str:
    """Returns the text for the operator before the upgrade."""
    word = "GO" if go else "NO-GO"
    lines = [f"cluster {key.cluster}: the migration to hbase:replication is a {word}{_sums(findings)}"]
    lines += ["", f"  {'':<10} {'written':>9} {'dropped':>9} {'blocking':>9}"]
    for family in Family:
        counts = _counts(rows, family)
        lines.append(f"  {family.value:<10} {counts['WRITE']:>9,} {counts['DROP']:>9,} {counts['BLOCK']:>9,}")
    if enabled:
        lines += ["", f"  disabled meanwhile: {', '.join(enabled)}"]
    queues = [row for row in rows if row.family == Family.QUEUE.value]
    for title, action in (
        ("written", MigrationAction.WRITE),
        ("dropped", MigrationAction.DROP),
        ("blocking", MigrationAction.BLOCK),
    ):
        lines += _planned_lines(title, [row for row in queues if row.action == action.value])
    return "\n".join([*lines, *finding_lines(findings)]) + "\n"


def verify_result(
    key: RunKey,
    verified: bool,
    checks: Sequence[MigrationCheck],
    findings: Sequence[FindingRow],
) -> dict[str, object]:
    """Returns the JSON object of verify-migration: every difference, and how often each rule is true."""
    return {
        "cluster": key.cluster,
        "run_id": key.run_id,
        "verified": verified,
        "rules": {rule.value: _held(checks, rule) for rule in MigrationRule},
        "differences": [asdict(check) for check in checks if check.severity is not None],
        "findings": [asdict(row) for row in findings],
    }


def verify_text(
    key: RunKey,
    verified: bool,
    checks: Sequence[MigrationCheck],
    findings: Sequence[FindingRow],
) -> str:
    """Returns the text for the operator after the upgrade."""
    state = "verified" if verified else "NOT VERIFIED"
    lines = [f"cluster {key.cluster}: the migration to hbase:replication is {state}{_sums(findings)}", ""]
    lines.append(f"  {'rule':<18} {'checked':>9} {'holds':>9}")
    for rule in MigrationRule:
        held = _held(checks, rule)
        lines.append(f"  {rule.value:<18} {held['checked']:>9,} {held['holds']:>9,}")
    different = [check for check in checks if check.severity is not None]
    for check in different[:_SHOWN]:
        place = "/".join(filter(None, (check.subject, check.qualifier)))
        lines += ["", f"  {check.severity:<8} {check.rule} {check.answer}", f"             {place}"]
        lines.append(f"             expected {check.expected or 'nothing'}, found {check.found or 'nothing'}")
    if len(different) > _SHOWN:
        lines += ["", f"  … and {len(different) - _SHOWN:,} more; table migration_checks has every one"]
    return "\n".join(lines) + "\n"


def _counts(rows: Sequence[MigrationRow], family: Family) -> dict[str, int]:
    found = Counter(row.action for row in rows if row.family == family.value)
    return {action.value: found[action.value] for action in MigrationAction}


def _held(checks: Sequence[MigrationCheck], rule: MigrationRule) -> dict[str, int]:
    of_rule = [check for check in checks if check.rule == rule.value]
    return {"checked": len(of_rule), "holds": sum(check.severity is None for check in of_rule)}


def _sums(findings: Sequence[FindingRow]) -> str:
    counts = Counter(row.severity for row in findings)
    said = [human_count(counts[level], level) for level in (ERROR, WARNING) if counts[level]]
    return f": {', '.join(said)}" if said else ""


def _planned_lines(title: str, rows: Sequence[MigrationRow]) -> Iterator[str]:
    if rows:
        yield ""
        yield f"  {title}"
    for row in rows[:_SHOWN]:
        wals = "" if row.wals is None else f", {human_count(row.wals, 'WAL')}, {human_bytes(row.bytes or 0)}"
        doubt = f", {row.reason}" if row.reason else ""
        missing = ", which is GONE" if row.wal_listed is False else ""
        target = (
            f"{row.row} {row.value}{missing}" if row.action == MigrationAction.WRITE.value else row.value or row.row
        )
        yield f"    {target}"
        yield f"      from {row.znode}{wals}{doubt}"
    if len(rows) > _SHOWN:
        yield f"    … and {len(rows) - _SHOWN:,} more; table migration_rows has every one"
