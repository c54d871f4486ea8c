"""split-verify: proves that two copies of a table have the same live rows, or reports the differences and why."""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.common.errors import UnavailableError
from pipelines.common.human import human_bytes, human_count
from pipelines.common.job_result import JobResult
from pipelines.common.text import text_table
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.pegasus.domain.keys import escape_bytes
from pipelines.pegasus.domain.rows import U64_MASK, Placement, RowKind, Tallies
from pipelines.pegasus.domain.verify.compare import (
    AFTER,
    BEFORE,
    Comparison,
    Differences,
    DiffRow,
    buckets_of,
    compare_sums,
    groups_of,
)
from pipelines.pegasus.domain.verify.findings import verify_findings
from pipelines.pegasus.sources.row_files import ParquetRows
from pipelines.pegasus.transforms.row_frames import judged_keys, odd_rows, reason_counts
from pipelines.pegasus.transforms.row_tally import ExamineSettings, check_tallies
from pipelines.pegasus.use_cases.frame import deliver
from schemas.findings import FINDINGS
from schemas.split_diff import SPLIT_DIFF
from schemas.split_verify import SPLIT_VERIFY

_LOG = logging.getLogger(__name__)
_SHOWN = 20
"""The most partitions and differences in the text."""


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side of the comparison.

    Attributes:
        uri: the directory of rows.
        placement: the expected distribution of the rows.
    """

    uri: str
    placement: Placement


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """The input of the job.

    Attributes:
        table: the name of the Pegasus table.
        at_ms: the time that decides which rows have expired, ms since the epoch.
        compacted: whether a manual compaction has finished after the split, so that no stale copy may be left.
        most: the largest number of differences of each reason that are reported one by one.
    """

    table: str
    before: ComparedSide
    after: ComparedSide
    at_ms: int
    compacted: bool = False
    most: int = 1000

    @property
    def inputs(self) -> Mapping[str, str]:
        """Returns everything that distinguishes this run from another run of the same time."""
        return {name: str(getattr(self, name)) for name in ("table", "before", "after", "compacted", "most")}


def split_verify(request: VerifyRequest, rows: ParquetRows, run: JobRun, lake: JobLake) -> JobResult:
    """Compares the copies, reports and writes.

    Returns:
        Exit code 3 if a difference is proven and not acknowledged, else 0.

    Raises:
        UsageError: the rows do not belong to tables with these partition counts.
        UnavailableError: the rows cannot be read, or the lake cannot be written.
    """
    lake.ensure([SPLIT_VERIFY, SPLIT_DIFF, FINDINGS])  # a wrong --lake would cost the whole comparison
    groups = groups_of(request.before.placement, request.after.placement)
    questions = {
        side: ExamineSettings(copy.placement, groups, request.at_ms // 1000, buckets_of(groups))
        for side, copy in ((BEFORE, request.before), (AFTER, request.after))
    }
    before = _tally(rows, request.before, questions[BEFORE])
    after = _tally(rows, request.after, questions[AFTER])
    compared = compare_sums(request.table, groups, before, after)
    differences = _differences(request, rows, questions, compared)
    return deliver(
        run,
        lake,
        [(SPLIT_VERIFY, compared.partitions), (SPLIT_DIFF, differences.rows)],
        verify_findings(request.table, compared, differences.counts),
        verify_result(compared, differences),
        verify_lines(request.table, compared, differences),
    )


def _tally(rows: ParquetRows, copy: ComparedSide, question: ExamineSettings) -> Tallies:
    return check_tallies(rows.tally(copy.uri, question), copy.uri, copy.placement)


def _differences(
    request: VerifyRequest, rows: ParquetRows, questions: Mapping[str, ExamineSettings], compared: Comparison
) -> Differences:
    """Compares single rows only where the sums differ or rows have an unexpected kind."""
    odd = {BEFORE: [RowKind.MALFORMED, RowKind.FOREIGN], AFTER: [RowKind.MALFORMED, RowKind.FOREIGN]}
    if request.compacted:
        odd[AFTER].append(RowKind.STALE)
    copies = {BEFORE: request.before, AFTER: request.after}
    there = {side: [kind for kind in kinds if compared.rows(side, kind)] for side, kinds in odd.items()}

    def details(side: str, buckets: Collection[int], kinds: Collection[RowKind]) -> DataFrame:
        places = compared.places(side, buckets, kinds)
        return rows.details(copies[side].uri, questions[side], buckets, kinds, places)

    frames = []
    if compared.wanted:
        total = questions[AFTER].groups * questions[AFTER].buckets
        _LOG.info("comparing the rows of %d of %d buckets by key", len(compared.wanted), total)
        frames.append(judged_keys(details(BEFORE, compared.wanted, ()), details(AFTER, compared.wanted, ())))
    frames += [odd_rows(details(side, (), kinds), side) for side, kinds in there.items() if kinds]
    if not frames:
        return Differences({}, ())
    whole = reduce(DataFrame.unionByName, frames).persist()
    counts = reason_counts(whole)
    unseen = compared.differing - {group for group, _, _ in counts}
    if unseen:
        raise UnavailableError(
            f"table {request.table}: the sums of partition {min(unseen)} differ, but a second reading finds no "
            "difference: a file has changed meanwhile, or a disk returns wrong bytes. Start again when nobody writes "
            "the files"
        )
    shown = tuple(row for reason in sorted({key[1] for key in counts}) for row in _shown(whole, reason, request))
    whole.unpersist()
    return Differences(counts, shown)


def _shown(frame: DataFrame, reason: str, request: VerifyRequest) -> list[DiffRow]:
    chosen = frame.where(F.col("reason") == reason).orderBy("group", "key", "side").limit(request.most)
    return [
        DiffRow(
            request.table,
            row["group"],
            row["reason"],
            row["side"],
            escape_bytes(bytes(row["key"])),
            bytes(row["key"]),
            None if row["hash"] is None else f"{row['hash'] & U64_MASK:016x}",
            row["before_index"],
            row["after_index"],
            row["before_timetag"],
            row["after_timetag"],
            row["stale_timetag"],
            row["detail"],
        )
        for row in chosen.collect()
    ]


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
    yield from _difference_lines(differences)


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


def _difference_lines(differences: Differences) -> Iterator[str]:
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
