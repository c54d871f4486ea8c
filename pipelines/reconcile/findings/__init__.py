"""The findings of a run: what an operator should know, with evidence and remedy (docs/findings.md).

A false alarm is a defect. A key consists of code and subject and stays the same from night to night; it contains
nothing that changes with the files of the day.
"""

from collections.abc import Iterable
from dataclasses import replace

from pipelines.lake.run_summary import FindingRow
from pipelines.reconcile.findings.evidence import ERROR, INFO, ODD_REASONS, WARNING, Evidence, OddDirectory, OffsetWal
from pipelines.reconcile.findings.files import (
    bad_names,
    cleaner_not_running,
    leaked_rep_wals,
    leftover_directories,
    whole_cluster,
)
from pipelines.reconcile.findings.history import growth, rewound, stalled
from pipelines.reconcile.findings.neighbours import backups, orphan_hfile_refs, serial_peers
from pipelines.reconcile.findings.queues import duplicate_queues, missing_wals, orphan_queues
from pipelines.reconcile.findings.sync_replication import remote_wals, sync_states

__all__ = ["ODD_REASONS", "Evidence", "OddDirectory", "OffsetWal", "counts_for_exit_code", "findings"]


def findings(evidence: Evidence) -> tuple[FindingRow, ...]:
    """Returns all findings of one cluster, errors first, with first night and acknowledgement."""
    found = [
        *orphan_queues(evidence),
        *duplicate_queues(evidence),
        *bad_names(evidence),
        *leaked_rep_wals(evidence),
        *leftover_directories(evidence),
        *missing_wals(evidence),
        *rewound(evidence),
        *stalled(evidence),
        *growth(evidence),
        *remote_wals(evidence),
        *sync_states(evidence),
        *backups(evidence),
        *serial_peers(evidence),
        *orphan_hfile_refs(evidence),
        *cleaner_not_running(evidence),
        *whole_cluster(evidence),
    ]
    severities = (ERROR, WARNING, INFO)
    dated = (_dated(finding, evidence) for finding in found)
    return tuple(sorted(dated, key=lambda row: (severities.index(row.severity), -(row.bytes or 0), row.key)))


def counts_for_exit_code(rows: Iterable[FindingRow]) -> bool:
    """Whether a finding makes the run end with exit code 5: an error that is new and not acknowledged."""
    return any(row.severity == ERROR and row.is_new and not row.acknowledged for row in rows)


def _dated(finding: FindingRow, evidence: Evidence) -> FindingRow:
    now = evidence.view.files_started
    before = evidence.past[0].findings.get(finding.key) if evidence.past else None
    known = [one for one in evidence.settings.acknowledged if one.key == finding.key and now <= one.until]
    longest = max(known, key=lambda one: one.until, default=None)
    return replace(
        finding,
        first_seen=before.first_seen if before else now,
        nights=before.nights + 1 if before else 1,
        is_new=before is None,
        acknowledged=longest is not None,
        acknowledged_reason=longest.reason if longest else None,
        acknowledged_until=longest.until if longest else None,
    )
