"""The gate's expectations by name: checks that must pass before anything is emitted (docs/tables.md, quality_results).

Each expectation reads columns of the frame that `pipelines.decide.gate.gate` builds: one row per cluster.
"""

from dataclasses import dataclass

SHARE = "deletable_share_below_limit"
ACCEPTABLE = frozenset({SHARE})
"""Expectations that the operator can overrule with `--accept`: these are judgements.

The others are proofs; overruling one could lose data.
"""


@dataclass(frozen=True, slots=True)
class ColumnsEqual:
    """Requires that two columns are equal in every row."""

    name: str
    description: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class ColumnAtMost:
    """Requires that a column lies between 0 and a limit in every row."""

    name: str
    description: str
    column: str
    limit: float = 0


def expectations(max_deletable_share: float) -> tuple[ColumnsEqual | ColumnAtMost, ...]:
    """Returns all expectations, in the order in which people read them."""
    return (
        ColumnsEqual(
            "listing_is_whole",
            "as many rows of the listing were read as snapshot.json promises",
            "rows_read",
            "rows_promised",
        ),
        ColumnAtMost("paths_are_unique", "no path is listed twice", "duplicate_paths"),
        ColumnAtMost(
            "paths_lie_below_wal_root",
            "paths are relative, without '..', empty elements and control characters",
            "bad_paths",
        ),
        ColumnAtMost(
            "lengths_and_times_are_known", "every file has a length >= 0 and a modification time", "bad_values"
        ),
        ColumnsEqual(
            "every_file_has_one_verdict", "files with a verdict = files under oldWALs", "verdict_files", "files"
        ),
        ColumnsEqual(
            "bytes_reconcile_with_listing", "bytes with a verdict = bytes under oldWALs", "verdict_bytes", "bytes"
        ),
        ColumnAtMost("every_file_is_decided", "no verdict or reason is missing, none is UNDECIDED", "undecided"),
        ColumnAtMost("deletable_lies_under_old_wals", "nothing outside oldWALs is DELETABLE", "deletable_outside"),
        ColumnAtMost("deletable_blocks_nobody", "no DELETABLE file has a holder", "deletable_and_blocking"),
        ColumnAtMost("pending_has_holder", "every PENDING file names who holds it", "held_without_holder"),
        ColumnAtMost(
            "deletable_within_hbase_delete",
            "HBase's own ReplicationLogCleaner would delete every DELETABLE file too",
            "deletable_kept_by_hbase",
        ),
        ColumnAtMost(
            SHARE,
            f"the list holds at most {max_deletable_share:.1%} of all bytes under oldWALs",
            "deletable_share",
            max_deletable_share,
        ),
    )
