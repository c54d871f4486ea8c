"""Formats the result of split-verify as JSON and as text."""

from collections.abc import Iterator
from dataclasses import asdict

from pipelines.common.human import human_bytes, human_count
from pipelines.common.text import text_table
from pipelines.pegasus.domain.rows import RowKind
from pipelines.pegasus.domain.verify.compare import AFTER, BEFORE, Comparison, Differences

_SHOWN = 20


def verify_result(compared: Comparison, differences: Differences) -> dict[str, object]:
    """Returns the job's part of the JSON object; the keys are the names of the tables' columns."""
    return {
        "is_equal": not compared.differing,
        "partitions": [asdict(row) for row in compared.partitions],
        "rows": {
            side: {kind.name.lower(): tally.rows for kind, tally in sorted(kinds.items())}
            for side, kinds in compared.kinds.items()
        },
        "differences": [
            {"partition": group, "reason": reason, "side": side, "rows": number}
            for (group, reason, side), number in sorted(differences.counts.items(), key=str)
        ],
        "shown": [
            {name: value for name, value in asdict(row).items() if name != "raw_key"} for row in differences.rows
        ],
    }


def verify_lines(table: str, compared: Comparison, differences: Differences) -> Iterator[str]:
    """Yields the lines of the text for the operator."""
    yield from _head(table, compared)
    yield from _partitions(compared)
    yield from _differences(differences)


def _head(table: str, compared: Comparison) -> Iterator[str]:
    before, after = (sum(getattr(row, f"{side}_rows") for row in compared.partitions) for side in (BEFORE, AFTER))
    live = f"{human_count(before, 'live row')} before, {after:,} after"
    if not compared.differing:
        said = "the same rows in every partition"
    else:
        said = f"{len(compared.differing)} of {human_count(len(compared.partitions), 'partition')} DIFFER"
    yield f"table {table}: {live}: {said}"
    expired = [compared.rows(side, RowKind.OWNED) for side in (BEFORE, AFTER)]
    yield (
        f"  counted apart: expired {expired[0] - before:,} and {expired[1] - after:,}, stale "
        f"{compared.rows(BEFORE, RowKind.STALE):,} and {compared.rows(AFTER, RowKind.STALE):,}, empty writes "
        f"{compared.rows(BEFORE, RowKind.EMPTY_WRITE):,} and {compared.rows(AFTER, RowKind.EMPTY_WRITE):,}"
    )


def _partitions(compared: Comparison) -> Iterator[str]:
    shown = [row for row in compared.partitions if not row.is_equal] or compared.partitions
    yield ""
    heading = ("partition", "before", "after", "bytes after", "stale copies", "")
    rows = []
    for row in shown[:_SHOWN]:
        size, mark = human_bytes(row.after_bytes), "" if row.is_equal else "DIFFERS"
        rows.append((str(row.partition), row.before_rows, row.after_rows, size, row.stale_rows, mark))
    yield from text_table("  {:>9} {:>14} {:>14} {:>12} {:>14}  {:<}", [heading, *rows])
    if len(shown) > _SHOWN:
        yield f"  … and {len(shown) - _SHOWN:,} more; with --lake, table split_verify has every one"


def _differences(differences: Differences) -> Iterator[str]:
    if not differences.counts:
        return
    yield ""
    shown = differences.rows[:_SHOWN]
    for row in shown:
        place = "partition ?" if row.partition is None else f"partition {row.partition}"
        yield f"  {row.reason:<11} {place}  {row.key}"
        yield f"  {'':<11} {row.detail}"
    rest = sum(differences.counts.values()) - len(shown)
    if rest:
        yield f"  … and {rest:,} differences more; with --lake, table split_diff has them, up to its limit"
