"""Registers all tables of the lake."""

from schemas.claim_plans import CLAIM_PLANS
from schemas.cleanups import CLEANUPS
from schemas.deletions import DELETIONS
from schemas.dumped_hfile_refs import DUMPED_HFILE_REFS
from schemas.dumped_peers import DUMPED_PEERS
from schemas.dumped_queues import DUMPED_QUEUES
from schemas.dumped_wals import DUMPED_WALS
from schemas.findings import FINDINGS
from schemas.migration_checks import MIGRATION_CHECKS
from schemas.migration_rows import MIGRATION_ROWS
from schemas.peers import PEERS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.quality_results import QUALITY_RESULTS
from schemas.queue_audits import QUEUE_AUDITS
from schemas.queue_claims import QUEUE_CLAIMS
from schemas.queue_edits import QUEUE_EDITS
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.remote_wals import REMOTE_WALS
from schemas.runs import RUNS
from schemas.split_diff import SPLIT_DIFF
from schemas.split_logs import SPLIT_LOGS
from schemas.split_manifest import SPLIT_MANIFEST
from schemas.split_mutations import SPLIT_MUTATIONS
from schemas.split_partitions import SPLIT_PARTITIONS
from schemas.split_plan import SPLIT_PLAN
from schemas.split_preflight import SPLIT_PREFLIGHT
from schemas.split_routes import SPLIT_ROUTES
from schemas.split_stale import SPLIT_STALE
from schemas.split_verify import SPLIT_VERIFY
from schemas.sync_peers import SYNC_PEERS
from schemas.syncup_peers import SYNCUP_PEERS
from schemas.syncup_queues import SYNCUP_QUEUES
from schemas.syncup_wals import SYNCUP_WALS
from schemas.table import Table
from schemas.verdict_changes import VERDICT_CHANGES
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_files import WAL_FILES
from schemas.wal_tables import WAL_TABLES
from schemas.wal_verdicts import WAL_VERDICTS

DECISION_TABLES: tuple[Table, ...] = (
    RUNS,
    WAL_VERDICTS,
    VERDICT_TOTALS,
    VERDICT_CHANGES,
    PEERS,
    QUEUE_OFFSETS,
    PINNED_BYTES,
    FINDINGS,
    QUALITY_RESULTS,
)
"""Tables that reconcile writes."""
SYNC_TABLES: tuple[Table, ...] = (REMOTE_WALS, SYNC_PEERS)
"""Tables that reconcile also writes for clusters with synchronous replication."""
CLEANUP_TABLES: tuple[Table, ...] = (CLEANUPS, DELETIONS)
"""The audit tables of clean, restore and purge; the first night creates them, so that views find them."""
INSPECTION_TABLES: tuple[Table, ...] = (WAL_FILES, WAL_TABLES, QUEUE_EDITS)
"""Tables that inspect-wals writes, besides findings."""
SYNCUP_TABLES: tuple[Table, ...] = (SYNCUP_QUEUES, SYNCUP_WALS, SYNCUP_PEERS)
"""Tables that plan-syncup writes, besides findings."""
AUDIT_TABLES: tuple[Table, ...] = (QUEUE_AUDITS, QUEUE_CLAIMS, CLAIM_PLANS)
"""Tables that audit-queues writes, besides findings."""
DUMP_TABLES: tuple[Table, ...] = (DUMPED_PEERS, DUMPED_QUEUES, DUMPED_WALS, DUMPED_HFILE_REFS)
"""Tables that dump-queues writes."""
MIGRATION_TABLES: tuple[Table, ...] = (MIGRATION_ROWS, MIGRATION_CHECKS)
"""Tables that plan-migration and verify-migration write, besides findings."""
SPLIT_ROW_TABLES: tuple[Table, ...] = (SPLIT_VERIFY, SPLIT_DIFF, SPLIT_STALE)
"""Tables that the jobs on the rows of a Pegasus table write, besides findings."""
SPLIT_AUDIT_TABLES: tuple[Table, ...] = (
    SPLIT_PREFLIGHT,
    SPLIT_PARTITIONS,
    SPLIT_LOGS,
    SPLIT_MUTATIONS,
    SPLIT_MANIFEST,
    SPLIT_ROUTES,
    SPLIT_PLAN,
)
"""Tables that the jobs on Pegasus's states, logs and keys write, besides findings."""
TABLES: tuple[Table, ...] = (
    *DECISION_TABLES,
    *SYNC_TABLES,
    *CLEANUP_TABLES,
    *INSPECTION_TABLES,
    *AUDIT_TABLES,
    *DUMP_TABLES,
    *MIGRATION_TABLES,
    *SYNCUP_TABLES,
    *SPLIT_ROW_TABLES,
    *SPLIT_AUDIT_TABLES,
)
