"""split-plan: predicts the result of a split, and whether it helps."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.common.errors import UsageError
from pipelines.common.human import human_bytes, human_count
from pipelines.common.job_result import JobResult
from pipelines.common.text import text_table
from pipelines.lake.findings import WARNING
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.keys import decode_key, escape_bytes
from pipelines.pegasus.domain.rule_violations import rule_violation
from pipelines.pegasus.domain.split_plan import SplitPlanRow, doublings_for, most_doublings, one_split, split_levels
from pipelines.pegasus.transforms.plan_rows import check_partitions, hashed_keys, hot_hashes, sizes_by_hash_bits
from pipelines.pegasus.use_cases.frame import deliver
from schemas.split_plan import SPLIT_PLAN

MOST_HOT = 20
SKEWED = 1.5
"""A parent is reported from this skew on: its larger half has three quarters of its bytes or more."""
_SHOWN = 16


def run_plan(run: JobRun, rows: DataFrame, lake: JobLake, *, where: str, count: int, target: int) -> JobResult:
    """Plans a split.

    Args:
        run: the run.
        rows: keys and values, see `transforms.plan_rows.hashed_keys`.
        lake: gets the tables.
        where: the name of the rows in messages.
        count: the current number of partitions.
        target: the largest wanted size of a partition in bytes.

    Raises:
        UsageError: the rows have other columns or partitions, or there are none.
    """
    every = hashed_keys(rows, where, count).persist()
    check_partitions(rows, where, count)
    keys = every.where("NOT copy")
    found = sizes_by_hash_bits(keys, count << most_doublings(count))
    if not found:
        raise UsageError(f"{where} contains no row")
    plan = one_split(found, count)
    after = split_levels(found, count)
    needed = doublings_for(after, target)
    hot = hot_hashes(keys, target, MOST_HOT)
    malformed, copies = every.agg(F.count_if("malformed"), F.count_if("copy")).collect()[0]
    every.unpersist()
    findings = [*_hot(hot, target), *_skewed(plan), *_malformed(malformed, where)]
    result = {
        "partitions": count,
        "rows": sum(row.rows for row in plan),
        "bytes": sum(row.bytes for row in plan),
        "malformed": malformed,
        "copies": copies,
        "target_bytes": target,
        "doublings": needed,
        "levels": [asdict(level) for level in after],
        "plan": [asdict(row) for row in plan],
    }
    total = sum(row.bytes for row in plan)
    lines = [
        f"{human_count(count, 'partition')}, {result['rows']:,} rows, {human_bytes(total)}",
        *([f"  not counted: {human_count(copies, 'row')} in partitions that do not own them"] if copies else []),
        *_plan_lines(plan),
        f"  largest partition now {human_bytes(after[0].largest)}, after one split {human_bytes(after[1].largest)}",
        _needed(needed, count, target),
    ]
    return deliver(run, lake, [(SPLIT_PLAN, plan)], findings, result, lines)


def _needed(doublings: int | None, count: int, target: int) -> str:
    size = human_bytes(target)
    if doublings is None:
        return f"  {most_doublings(count)} doublings are not enough to bring every partition to {size}"
    if doublings == 0:
        return f"  no partition is above {size}: no split is needed"
    new = count << doublings
    return f"  {human_count(doublings, 'doubling')} needed for no partition above {size}: {new} partitions"


def _plan_lines(plan: Sequence[SplitPlanRow]) -> Iterator[str]:
    rows = []
    for row in plan[:_SHOWN]:
        keep, move = human_bytes(row.keep_bytes), human_bytes(row.move_bytes)
        rows.append((str(row.parent), str(row.child), row.rows, keep, move, f"{row.skew:.2f}"))
    heading = ("parent", "child", "rows", "keep", "move", "skew")
    yield from text_table("  {:>7} {:>7} {:>12} {:>10} {:>10}  {:<}", [heading, *rows])
    if len(plan) > _SHOWN:
        yield f"  … and {len(plan) - _SHOWN:,} more; with --lake, table split_plan has every one"


def _hot(hot: Sequence[tuple[int, int, int, bytes]], target: int) -> Iterator[FindingRow]:
    for key_hash, rows, size, key in hot:
        name = escape_bytes(decode_key(key).hash_key[:40])
        yield rule_violation(
            "HOT_KEY", WARNING, f"{key_hash & (1 << 64) - 1:016x}",
            f"Hash key \"{name}\" has {human_bytes(size)} in {human_count(rows, 'row')}, more than the "
            f"{human_bytes(target)} that a partition should have: no split divides it.",
            "Spread it over several hash keys.", bytes=size, rows=rows,
        )  # fmt: skip


def _skewed(plan: Sequence[SplitPlanRow]) -> Iterator[FindingRow]:
    worst = [row for row in plan if row.skew >= SKEWED]
    if worst:
        row = max(worst, key=lambda one: one.bytes)
        yield rule_violation(
            "SKEW", WARNING, "",
            f"{human_count(len(worst), 'parent')} would be divided unevenly, such as {row.parent}: "
            f"{human_bytes(row.keep_bytes)} stay and {human_bytes(row.move_bytes)} go.",
            "Look for large hash keys; few keys also fall unevenly by chance.",
            parents=[one.parent for one in worst[:20]],
        )  # fmt: skip


def _malformed(number: int, where: str) -> Iterator[FindingRow]:
    if number:
        yield rule_violation(
            "D6", WARNING, "",
            f"{where} has {human_count(number, 'key')} that Pegasus does not write; not counted here.",
            "Check that the column has raw keys: two bytes of length, hash key, sort key.", keys=number,
        )  # fmt: skip
