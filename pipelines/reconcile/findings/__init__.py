"""The findings of a run: what an operator should know, with evidence and remedy (docs/findings.md).

A false alarm is a defect. A key consists of code and subject and stays the same from night to night; it contains
nothing that changes with the files of the day.
"""

from pipelines.lake.findings import dated
from pipelines.lake.run_summary import FindingRow
from pipelines.reconcile.findings.evidence import ODD_REASONS, Evidence, OddDirectory, OffsetWal
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

__all__ = ["ODD_REASONS", "Evidence", "OddDirectory", "OffsetWal", "findings"]


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
    past = evidence.past[0].findings if evidence.past else {}
    before = {key: (one.first_seen, one.nights) for key, one in past.items()}
    return dated(found, evidence.view.files_started, before, evidence.settings.acknowledged)
