"""Findings of every job: how one is made, compared with earlier runs, counted for the exit code, and printed."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.common.text import wrapped
from pipelines.lake.run_summary import FindingRow

ERROR, WARNING, INFO = "error", "warning", "info"
SEVERITIES = (ERROR, WARNING, INFO)
_INDENT = " " * 13


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A known finding of the configuration: until `until` it does not change the exit code. It stays in the tables.

    Attributes:
        key: the finding's key.
        reason: the operator's explanation, as text.
        until: ms since the epoch; after it the finding counts again.
    """

    key: str
    reason: str
    until: int


def finding(
    code: str,
    severity: str,
    subject: str,
    message: str,
    remedy: str,
    *,
    peer_id: str | None = None,
    server: str | None = None,
    files: int | None = None,
    size: int | None = None,
    **evidence: object,
) -> FindingRow:
    """Returns one finding; `evidence` becomes JSON."""
    text = json.dumps(evidence, sort_keys=True, default=str)
    key = f"{code}:{subject}" if subject else code
    return FindingRow(key, code, severity, subject, peer_id, server, message, text, remedy, files, size)


def dated(
    found: Iterable[FindingRow],
    at_ms: int,
    before: Mapping[str, tuple[int, int]],
    acknowledged: Iterable[Acknowledgement],
) -> tuple[FindingRow, ...]:
    """Returns the findings with their history and acknowledgements: errors first, then by bytes, code and subject.

    Args:
        found: findings of this run.
        at_ms: the time of the examined data, ms since the epoch.
        before: first_seen (ms since the epoch) and number of runs by key, from earlier runs.
        acknowledged: from the configuration; of several for one key, the longest counts.
    """
    known = {one.key: one for one in sorted(acknowledged, key=lambda one: one.until) if at_ms <= one.until}
    rows = [
        replace(
            row,
            first_seen=before[row.key][0] if row.key in before else at_ms,
            nights=before[row.key][1] + 1 if row.key in before else 1,
            is_new=row.key not in before,
            acknowledged=row.key in known,
            acknowledged_reason=known[row.key].reason if row.key in known else None,
            acknowledged_until=known[row.key].until if row.key in known else None,
        )
        for row in found
    ]
    return by_urgency(rows)


def by_urgency(rows: Iterable[FindingRow]) -> tuple[FindingRow, ...]:
    """Returns findings in the order of every output: errors first, then by bytes, code and subject."""
    return tuple(sorted(rows, key=_urgency))


def _urgency(row: FindingRow) -> tuple[int, int, str, str]:
    return SEVERITIES.index(row.severity), -(row.bytes or 0), row.code, row.subject


def has_new_error(rows: Iterable[FindingRow]) -> bool:
    """Returns whether a finding makes the run end with exit code 5: an error that is new and not acknowledged."""
    return any(row.severity == ERROR and row.is_new and not row.acknowledged for row in rows)


def finding_lines(findings: Sequence[FindingRow]) -> Iterator[str]:
    """Yields the lines of each finding: an empty line, severity and code, message, remedy.

    An error has its key instead of its code, because a person acknowledges it by the key.
    """
    for row in findings:
        name = row.key if row.severity == ERROR else row.code
        yield ""
        yield f"  {row.severity:<8} {name}{', acknowledged' if row.acknowledged else ''}"
        yield wrapped(row.message, _INDENT)
        yield wrapped(f"-> {row.remedy}", _INDENT)
