"""split-run: splits all partitions of a table offline."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from pipelines.common.human import human_bytes, human_count
from pipelines.common.instants import format_instant
from pipelines.common.job_result import JobResult
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.offline.model import PartFile, PartitionCounts, PartitionResult
from pipelines.pegasus.use_cases.frame import deliver, refusals
from schemas.split_manifest import SPLIT_MANIFEST


@dataclass(frozen=True, slots=True)
class OfflineResult:
    """The result of a split or an export.

    Attributes:
        app: the name of the table.
        location: the directory of the output; None = there is none, because it might lack rows.
        doubts: the findings about it.
        backup_ms: when the cold backup that was read began; None = it is unknown, or there is none.
        is_earlier: whether an earlier run has written the output.
    """

    app: str
    location: str | None
    parts: Sequence[PartitionResult]
    doubts: Sequence[FindingRow] = ()
    backup_ms: int | None = None
    is_earlier: bool = False

    @property
    def files(self) -> Sequence[PartFile]:
        """The files of the output."""
        return [file for part in self.parts for file in part.files] if self.location else []

    def count(self, name: str) -> int:
        """Returns the sum of one number of the partitions."""
        return sum(getattr(part, name) for part in self.parts)


def output_lines(run: JobRun, done: OfflineResult, what: str, left_out: str = "") -> Iterator[str]:
    """Yields the lines about a split or an export.

    Args:
        run: whose errors may be acknowledged.
        done: its result.
        what: what was to be written.
        left_out: what is said beside the rows that were read.
    """
    if done.location is None:
        yield f"{what}: REFUSED, nothing is written"
        yield "  correct the input, or acknowledge the errors below (docs/split-run.md, What is refused); start again"
    else:
        yield f"{what} in {done.location}"
        size = human_bytes(sum(file.bytes for file in done.files))
        yield f"  {sum(file.rows for file in done.files):,} rows in {human_count(len(done.files), 'file')}, {size}"
        if done.is_earlier:
            yield "  an earlier run has written all of this from the same inputs; this run has written nothing"
        if refusals(run, done.doubts):
            had = "the earlier run had the errors below acknowledged, this one has not"
            yield f"  REFUSED: {had}; do not use the output"
    yield f"  read {done.count('read'):,} rows, {done.count('logged'):,} writes of private logs{left_out}"
    if done.backup_ms is not None:
        yield f"  the cold backup began at {format_instant(done.backup_ms)}: it may lack later writes"


def tell_split(run: JobRun, counts: PartitionCounts, split: OfflineResult, lake: JobLake) -> JobResult:
    """Writes the manifest table and returns the result; see `deliver` for the exit code."""
    sums = {name: split.count(name) for name in ("read", "logged", "expired", "stale", "malformed", "empty")}
    result = {
        "app": split.app,
        "location": split.location,
        "backup_ms": split.backup_ms,
        "old_count": counts.old,
        "new_count": counts.new,
        "files": len(split.files),
        "bytes": sum(file.bytes for file in split.files),
        "rows": sum(file.rows for file in split.files),
        "resumed": split.count("resumed"),
        **sums,
        "parts": [{**asdict(part), "files": len(part.files)} for part in split.parts],
    }
    left_out = ", ".join(f"{sums[name]:,} {name}" for name in ("expired", "stale", "malformed", "empty"))
    what = f"table {split.app}: {counts.old} to {counts.new} partitions"
    lines = output_lines(run, split, what, f"; left out: {left_out}")
    return deliver(run, lake, [(SPLIT_MANIFEST, split.files)], split.doubts, result, lines)
