"""Result of the one pass over the files: totals per bucket, small enough for the driver for a listing of any size."""

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.lake.run_summary import VerdictTotal


@dataclass(frozen=True, slots=True)
class BucketTotal:
    """Totals of the files of one cluster that got the same answer for the same reason.

    Attributes:
        archived: whether the files are below oldWALs; verdicts apply only to these.
        bucket: stretch of the decision table; None if no lookup was needed.
        oldest_timestamp: smallest timestamp in their names, ms.
        oldest_modification: smallest modification time, ms since the epoch.
        overdue_files: files that HBase's own cleaners should have deleted: their age exceeds the TTL by more than three
            cleaner intervals.
    """

    cluster: str
    archived: bool
    verdict: str | None
    reason: str | None
    hbase_verdict: str | None
    bucket: int | None
    files: int
    bytes: int
    oldest_timestamp: int | None
    oldest_modification: int | None
    overdue_files: int
    overdue_bytes: int


def verdict_totals(totals: Iterable[BucketTotal], files_started: int) -> tuple[VerdictTotal, ...]:
    """Sums the archived files of one cluster by verdict, reason and HBase's verdict, most bytes first."""
    sums: dict[tuple[str, str, str | None], tuple[int, int, int | None]] = {}
    for total in totals:
        if total.archived and total.verdict is not None and total.reason is not None:
            key = (total.verdict, total.reason, total.hbase_verdict)
            files, size, oldest = sums.get(key, (0, 0, None))
            sums[key] = (files + total.files, size + total.bytes, _oldest(oldest, total.oldest_modification))
    rows = (
        VerdictTotal(*key, files, size, None if oldest is None else files_started - oldest)
        for key, (files, size, oldest) in sums.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.bytes, row.reason, str(row.hbase_verdict))))


def _oldest(one: int | None, other: int | None) -> int | None:
    return min((value for value in (one, other) if value is not None), default=None)
