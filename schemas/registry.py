"""All tables of the lake."""

from schemas.cleanups import CLEANUPS
from schemas.deletions import DELETIONS
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.quality_results import QUALITY_RESULTS
from schemas.queue_edits import QUEUE_EDITS
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.simulations import SIMULATIONS
from schemas.table import Table
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_files import WAL_FILES
from schemas.wal_tables import WAL_TABLES
from schemas.wal_verdicts import WAL_VERDICTS

DECISION_TABLES: tuple[Table, ...] = (
    RUNS,
    WAL_VERDICTS,
    VERDICT_TOTALS,
    QUEUE_OFFSETS,
    PINNED_BYTES,
    FINDINGS,
    QUALITY_RESULTS,
)
"""What reconcile writes."""
CLEANUP_TABLES: tuple[Table, ...] = (CLEANUPS, DELETIONS)
"""The audit of clean, restore and purge."""
INSPECTION_TABLES: tuple[Table, ...] = (WAL_FILES, WAL_TABLES, QUEUE_EDITS)
"""What inspect-wals writes, besides findings."""
TABLES: tuple[Table, ...] = (*DECISION_TABLES, *CLEANUP_TABLES, *INSPECTION_TABLES, SIMULATIONS)
