"""The Great Expectations gate: refuses each cluster whose numbers do not add up.

Great Expectations validates one frame with one row of aggregates per cluster, so a fleet of 2,000 clusters takes one
validation and no Spark job. Importing it takes seconds, so `preload` imports it while Spark works.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.decide.gate.gate_metrics import ClusterMetrics, ExpectationResult
from pipelines.decide.gate.validation import ColumnAtMost, ColumnsEqual, documents_of, great_expectations, validate

SUITE = "gate"
"""The name of the gate's suite in the documents of Great Expectations."""
SHARE = "deletable_share_below_limit"
ACCEPTABLE = frozenset({SHARE})
"""Expectations that the operator can overrule with `--accept`: these are judgements.

The others are proofs; overruling one could lose data.
"""


def expectations(max_deletable_share: float) -> tuple[ColumnsEqual | ColumnAtMost, ...]:
    """Returns all expectations by name (docs/tables.md, quality_results), in the order in which people read them."""
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


def preload() -> threading.Thread:
    """Imports Great Expectations in the background. `check` waits for the import itself."""
    thread = threading.Thread(target=great_expectations, name="gate-import", daemon=True)
    thread.start()
    return thread


def check_acceptances(accepted: Mapping[str, str], max_deletable_share: float) -> None:
    """Checks that `--accept` names only expectations that can be overruled. Call it before any work is done.

    Raises:
        UsageError: an expectation is unknown, is a proof of safety, or is accepted without a reason.
    """
    known = [one.name for one in expectations(max_deletable_share)]
    for name, reason in accepted.items():
        if name not in known:
            raise UsageError(f"--accept {name}: no such expectation; --accept takes {', '.join(sorted(ACCEPTABLE))}")
        if name not in ACCEPTABLE:
            raise UsageError(
                f"--accept {name}: this expectation proves that no needed file is listed and cannot be overruled; "
                f"look at its rows in quality_results. --accept takes {', '.join(sorted(ACCEPTABLE))}"
            )
        if not reason.strip():
            raise UsageError(f"--accept {name}: say why, as {name}=REASON; it is kept in runs and quality_results")


def check(
    metrics: Sequence[ClusterMetrics],
    accepted: Mapping[str, str],
    max_deletable_share: float,
    documents: dict[str, object] | None = None,
) -> list[ExpectationResult]:
    """Checks every expectation for every cluster.

    Args:
        metrics: one per cluster; cluster names are unique.
        accepted: why the operator overruled an expectation, for every cluster of the run; a result records the reason
            only if the expectation failed.
        max_deletable_share: largest allowed share of all bytes under oldWALs, 0 to 1.
        documents: gets `suite` and `validation` as Great Expectations writes them; None = nobody wants them.

    Returns:
        One result per cluster and expectation, in the order of `metrics`. A cluster is refused if one `refuses`.

    Raises:
        UsageError: see `check_acceptances`.
        RefusedError: Great Expectations itself failed, so nothing is proven.
    """
    check_acceptances(accepted, max_deletable_share)
    if not metrics:
        return []
    rules = expectations(max_deletable_share)
    broken = _broken(metrics, rules, documents)
    return [_result(one, rule, one.cluster in broken[rule.name], accepted) for one in metrics for rule in rules]


def _result(
    one: ClusterMetrics, rule: ColumnsEqual | ColumnAtMost, broken: bool, accepted: Mapping[str, str]
) -> ExpectationResult:
    reason = accepted.get(rule.name) if broken else None
    return ExpectationResult(
        cluster=one.cluster,
        expectation=rule.name,
        description=rule.description,
        success=not broken,
        observed=_observed(one, rule),
        unexpected_count=_unexpected(one, rule) if broken else 0,
        accepted=reason is not None,
        accepted_reason=reason,
    )


def _observed(one: ClusterMetrics, rule: ColumnsEqual | ColumnAtMost) -> str:
    if isinstance(rule, ColumnsEqual):
        return f"{rule.left}={getattr(one, rule.left)}, {rule.right}={getattr(one, rule.right)}"
    value = getattr(one, rule.column)
    return f"{rule.column}={value:.6f}" if isinstance(value, float) else f"{rule.column}={value}"


def _unexpected(one: ClusterMetrics, rule: ColumnsEqual | ColumnAtMost) -> int:
    if isinstance(rule, ColumnsEqual):
        return abs(int(getattr(one, rule.left)) - int(getattr(one, rule.right)))
    value = getattr(one, rule.column)
    return one.listed_files if rule.name == SHARE else int(value)


def _broken(
    metrics: Sequence[ClusterMetrics],
    rules: Sequence[ColumnsEqual | ColumnAtMost],
    documents: dict[str, object] | None,
) -> Mapping[str, frozenset[str]]:
    """Returns the clusters that break each expectation, as Great Expectations reports them.

    Raises:
        RefusedError: Great Expectations could not evaluate an expectation, gave no answer for one, or contradicts
            itself: it reports failure without failed rows, or success with failed rows.
    """
    outcome = _validate(metrics, rules)
    if documents is not None:
        documents |= documents_of(outcome, rules, SUITE)
    broken: dict[str, frozenset[str]] = {}
    for result in outcome.results:
        name = result.expectation_config.meta["name"]
        answer = result.result or {}
        if answer.get("element_count") != len(metrics) or "unexpected_index_list" not in answer:
            raise RefusedError(
                Condition.GATE_NOT_EVALUATED,
                f"the gate could not evaluate {name}: {result.exception_info}; nothing is emitted. "
                "Check that the installed great_expectations is the pinned one",
            )
        clusters = frozenset(str(row["cluster"]) for row in answer["unexpected_index_list"])
        if result.success == bool(clusters):
            raise RefusedError(
                Condition.GATE_NOT_EVALUATED,
                f"the gate contradicts itself on {name}: success={result.success}, {len(clusters)} rows",
            )
        broken[name] = clusters
    missing = [rule.name for rule in rules if rule.name not in broken]
    if missing:
        raise RefusedError(
            Condition.GATE_NOT_EVALUATED, f"the gate gave no answer for {', '.join(missing)}; nothing is emitted"
        )
    return broken


def _validate(metrics: Sequence[ClusterMetrics], rules: Sequence[ColumnsEqual | ColumnAtMost]) -> Any:  # noqa: ANN401 - GX ships no types
    names = [field.name for field in fields(ClusterMetrics)] + ["deletable_share"]
    columns = {name: [getattr(one, name) for one in metrics] for name in names}
    return validate(columns, rules, SUITE, ("cluster",))
