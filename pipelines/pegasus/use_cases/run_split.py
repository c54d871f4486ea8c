"""split-run: splits all partitions of a table offline."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from pipelines.common.human import human_bytes, human_count
from pipelines.common.instants import format_instant
from pipelines.common.job_result import JobResult
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.offline.plan import PartFile, PartitionCounts, PartitionResult
from pipelines.pegasus.use_cases.frame import deliver, is_refused
from schemas.split_manifest import SPLIT_MANIFEST


@dataclass(frozen=True, slots=True)
class SplitResult:
    """The result of the split.

    Attributes:
        app: the name of the table.
        location: the directory of the output; None = there is none, because it might lack rows.
        doubts: the warnings about the split.
        backup_ms: when the cold backup that was read began; None = it is unknown, or there is none.
        is_earlier: whether an earlier run has written the output.
    """

    app: str
    location: str | None
    counts: PartitionCounts
    parts: Sequence[PartitionResult]
    doubts: Sequence[FindingRow] = ()
    backup_ms: int | None = None
    is_earlier: bool = False


def output_lines(
    what: str, location: str | None, files: Sequence[PartFile], *, is_earlier: bool, is_refused: bool
) -> Iterator[str]:
    """Yields the lines about the output of a split or an export.

    Args:
        what: what was to be written.
        location: the directory of the output; None = there is none.
        files: its files.
        is_earlier: whether an earlier run has written it.
        is_refused: whether this run has an error that is not acknowledged.
    """
    if location is None:
        yield f"{what}: REFUSED, nothing is written"
        yield "  correct the input, or acknowledge the errors below (docs/split-run.md, What is refused); start again"
        return
    yield f"{what} in {location}"
    size = human_bytes(sum(file.bytes for file in files))
    yield f"  {sum(file.rows for file in files):,} rows in {human_count(len(files), 'file')}, {size}"
    if is_earlier:
        yield "  an earlier run has written all of this from the same inputs; this run has written nothing"
    if is_refused:
        yield "  REFUSED: the earlier run had the errors below acknowledged, this one has not; do not use the output"


def tell_split(run: JobRun, split: SplitResult, lake: JobLake) -> JobResult:
    """Writes the manifest table and returns the result; see `deliver` for the exit code."""
    files = [file for part in split.parts for file in part.files] if split.location else []
    sums = {
        name: sum(getattr(part, name) for part in split.parts)
        for name in ("read", "logged", "expired", "stale", "malformed", "empty")
    }
    size, rows = sum(file.bytes for file in files), sum(file.rows for file in files)
    result = {
        "app": split.app,
        "location": split.location,
        "backup_ms": split.backup_ms,
        "old_count": split.counts.old,
        "new_count": split.counts.new,
        "files": len(files),
        "bytes": size,
        "rows": rows,
        "resumed": sum(part.resumed for part in split.parts),
        **sums,
        "parts": [{**asdict(part), "files": len(part.files)} for part in split.parts],
    }
    left_out = ", ".join(f"{sums[name]:,} {name}" for name in ("expired", "stale", "malformed", "empty"))
    what = f"table {split.app}: {split.counts.old} to {split.counts.new} partitions"
    refused = is_refused(run, split.doubts)
    lines = [
        *output_lines(what, split.location, files, is_earlier=split.is_earlier, is_refused=refused),
        f"  read {sums['read']:,} rows, {sums['logged']:,} writes of private logs; left out: {left_out}",
    ]
    if split.backup_ms is not None:
        lines.append(f"  the cold backup began at {format_instant(split.backup_ms)}: it may lack later writes")
    return deliver(run, lake, [(SPLIT_MANIFEST, files)], split.doubts, result, lines)
