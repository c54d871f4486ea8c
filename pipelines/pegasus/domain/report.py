"""Builds the findings of the split jobs: rows of the shared findings table, one for each violated rule and subject."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pipelines.common.acknowledgement import Acknowledgement
from pipelines.lake.run_summary import FindingRow

ERROR, WARNING, INFO = "error", "warning", "info"
SEVERITIES = (ERROR, WARNING, INFO)
MARK = "SPLIT_"
"""Prefix of the finding codes; the rule's name in docs/split-rules.md follows."""


def rule_violation(rule: str, severity: str, subject: str, message: str, remedy: str, **evidence: object) -> FindingRow:
    """Returns the finding for one violation of a rule.

    Args:
        rule: the name of the rule, such as C5.
        severity: error (a blocker or a proven difference), warning or info.
        subject: the table, partition, replica or log.
        message: the finding in one sentence.
        remedy: what to do.
        evidence: the values that prove the finding; stored as JSON.
    """
    text = json.dumps(evidence, sort_keys=True, default=str)
    code = f"{MARK}{rule}"
    return FindingRow(f"{code}:{subject}", code, severity, subject, None, None, message, text, remedy, None, None)


def in_order(
    rows: Iterable[FindingRow], at_ms: int, before: Mapping[str, tuple[int, int]], known: Sequence[Acknowledgement]
) -> tuple[FindingRow, ...]:
    """Returns each finding once, errors first, with its history and acknowledgement.

    If several findings have the same key, the most severe counts, and of those the last.

    Args:
        rows: the findings of this run.
        at_ms: the time of the examined data, ms since the epoch.
        before: the first_seen (ms) and the number of runs of each finding, by key, from earlier runs.
        known: the acknowledged findings.
    """
    reasons = {one.key: one.reason for one in known if at_ms <= one.until}
    found: dict[str, FindingRow] = {}
    for row in rows:
        other = found.get(row.key)
        if other is None or SEVERITIES.index(row.severity) <= SEVERITIES.index(other.severity):
            found[row.key] = row
    dated = [
        replace(
            row,
            first_seen=before[row.key][0] if row.key in before else at_ms,
            nights=before[row.key][1] + 1 if row.key in before else 1,
            is_new=row.key not in before,
            acknowledged=row.key in reasons,
            acknowledged_reason=reasons.get(row.key),
        )
        for row in found.values()
    ]
    return tuple(sorted(dated, key=lambda row: (SEVERITIES.index(row.severity), row.code, row.subject)))


def is_proven(rows: Iterable[FindingRow]) -> bool:
    """Returns whether the findings have an error that is not acknowledged; the run must then end with exit code 3."""
    return any(row.severity == ERROR and not row.acknowledged for row in rows)
