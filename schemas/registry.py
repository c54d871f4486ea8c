"""All tables of the lake."""

from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.quality_results import QUALITY_RESULTS
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.table import Table
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS

TABLES: tuple[Table, ...] = (
    RUNS,
    WAL_VERDICTS,
    VERDICT_TOTALS,
    QUEUE_OFFSETS,
    PINNED_BYTES,
    FINDINGS,
    QUALITY_RESULTS,
)
