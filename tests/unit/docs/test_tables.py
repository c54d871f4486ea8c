"""docs/tables.md is what the schemas say, and the row classes are what the tables hold."""

from dataclasses import fields

import pytest

from pipelines.decide.gate.gate_metrics import ExpectationResult
from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.decide.rule.verdict import Reason
from pipelines.lake.lake_records import Blocker, FileVerdict
from pipelines.lake.run_summary import FindingRow, PinnedRow, QueueOffsetRow, RunKey, VerdictTotal
from pipelines.lake.twins import twins_of
from pipelines.pegasus.domain.stale import StaleRow
from pipelines.pegasus.domain.verify.compare import DiffRow, SplitVerifyRow
from pipelines.queues.audit.rows import AuditRow, ClaimPlanRow, ClaimRow, SeenRow
from pipelines.queues.migration.rows import MigrationCheck, MigrationRow
from pipelines.queues.syncup.rows import SyncUpPeerRow, SyncUpQueueRow, SyncUpWalRow
from pipelines.queues.wals.rows import QueueEditsRow, WalFileRow, WalTableRow
from schemas.claim_plans import CLAIM_PLANS
from schemas.findings import FINDINGS
from schemas.migration_checks import MIGRATION_CHECKS
from schemas.migration_rows import MIGRATION_ROWS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.quality_results import QUALITY_RESULTS
from schemas.queue_audits import QUEUE_AUDITS
from schemas.queue_claims import QUEUE_CLAIMS
from schemas.queue_edits import QUEUE_EDITS
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.registry import TABLES
from schemas.split_diff import SPLIT_DIFF
from schemas.split_stale import SPLIT_STALE
from schemas.split_verify import SPLIT_VERIFY
from schemas.syncup_peers import SYNCUP_PEERS
from schemas.syncup_queues import SYNCUP_QUEUES
from schemas.syncup_wals import SYNCUP_WALS
from schemas.table import Table
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_files import WAL_FILES
from schemas.wal_tables import WAL_TABLES
from schemas.wal_verdicts import BLOCKING, WAL_VERDICTS
from scripts.generate_tables import TARGET, tables_page

IDENTITY = [field.name for field in fields(RunKey)]


@pytest.mark.promise("every-column-is-explained")
def test_page_is_generated_from_the_schemas() -> None:
    assert TARGET.read_text(encoding="utf-8") == tables_page(), "run: python -m scripts.generate_tables"


@pytest.mark.promise("every-column-is-explained")
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_begins_with_the_identity_and_explains_every_column(table: Table) -> None:
    assert table.schema.names[:3] == IDENTITY
    assert list(table.partitioned_by) == ["run_date"]
    assert table.comment
    assert all(field.metadata.get("comment") for field in table.schema)


@pytest.mark.parametrize(
    ("row", "table"),
    [
        (VerdictTotal, VERDICT_TOTALS),
        (PinnedRow, PINNED_BYTES),
        (QueueOffsetRow, QUEUE_OFFSETS),
        (FindingRow, FINDINGS),
        (SplitVerifyRow, SPLIT_VERIFY),
        (DiffRow, SPLIT_DIFF),
        (StaleRow, SPLIT_STALE),
        (AuditRow, QUEUE_AUDITS),
        (ClaimRow, QUEUE_CLAIMS),
        (ClaimPlanRow, CLAIM_PLANS),
        (WalFileRow, WAL_FILES),
        (WalTableRow, WAL_TABLES),
        (QueueEditsRow, QUEUE_EDITS),
        (SyncUpQueueRow, SYNCUP_QUEUES),
        (SyncUpWalRow, SYNCUP_WALS),
        (SyncUpPeerRow, SYNCUP_PEERS),
        (MigrationRow, MIGRATION_ROWS),
        (MigrationCheck, MIGRATION_CHECKS),
    ],
)
def test_row_classes_have_the_columns_of_their_table(row: type, table: Table) -> None:
    own = [name for name in table.schema.names[3:] if name not in twins_of(table)]
    assert [field.name for field in fields(row)] == own


def test_results_of_the_gate_fit_their_table() -> None:
    own = {field.name for field in fields(ExpectationResult)} - {"cluster"}
    assert own == set(QUALITY_RESULTS.schema.names[3:]) - {"examples"}


def test_rows_that_are_read_in_part_have_columns() -> None:
    assert {field.name for field in fields(SeenRow)} <= set(QUEUE_AUDITS.schema.names)
    assert {field.name for field in fields(FileVerdict)} <= set(WAL_VERDICTS.schema.names)
    assert [field.name for field in fields(Blocker)] == BLOCKING.elementType.names


@pytest.mark.promise("every-file-is-explained")
def test_every_reason_has_words_and_held_ones_a_way_out() -> None:
    assert set(REASON_TEXTS) == {reason.value for reason in Reason}
    by_queue = {"REPLICATED", "DEAD_NO_QUEUE", "NOT_QUEUED"}
    deletable = {"PROCEDURE_WAL", "MASTER_LOCAL_WAL", "NO_PEERS", "META_WAL", *by_queue}
    assert {name for name, words in REASON_TEXTS.items() if not words.way_out} == deletable
