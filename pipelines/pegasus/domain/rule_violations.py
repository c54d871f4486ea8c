"""Builds the findings of the split jobs: rows of the shared findings table, one for each violated rule and subject."""

import json
from collections.abc import Iterable

from pipelines.lake.findings import ERROR, SEVERITIES
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.partitions import is_power_of_two

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


def lost_env_remedy(count: int) -> str:
    """Returns what to do with a split table whose replica.split.validate_partition_hash is not true.

    Args:
        count: the number of partitions of the table.
    """
    if not is_power_of_two(count):
        return (
            "Leave the env off: with it, compaction deletes rows from the partitions to which they belong. Move the "
            "data to a table with a power of two."
        )
    return (
        "First prove the split with split-verify: until a compaction, a parent may have the only copy of a row. Then "
        "see with split-stale --validate-env true what compaction will delete. Then set the env to true again (backup "
        "and restore lose it, Pegasus issue #1964), and compact."
    )


def most_severe(rows: Iterable[FindingRow]) -> list[FindingRow]:
    """Returns one finding for each key: the most severe, and of those the last."""
    found: dict[str, FindingRow] = {}
    for row in rows:
        other = found.get(row.key)
        if other is None or SEVERITIES.index(row.severity) <= SEVERITIES.index(other.severity):
            found[row.key] = row
    return list(found.values())


def proven(rows: Iterable[FindingRow]) -> list[FindingRow]:
    """Returns the errors that are not acknowledged; with one of them, the run must end with exit code 3."""
    return [row for row in rows if row.severity == ERROR and not row.acknowledged]
