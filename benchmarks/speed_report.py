"""What reconcile_speed.py measured, and its table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MIB, GIB = 1 << 20, 1 << 30


@dataclass(frozen=True)
class CleanerSpeed:
    """HBase's own cleaner: warm runs of `getDeletableFiles`, seconds."""

    files: int
    deletable: int
    seconds: list[float]
    heap_bytes_per_file: float

    @property
    def per_second(self) -> float:
        return self.files / min(self.seconds)


@dataclass(frozen=True)
class DecisionSpeed:
    """Warm runs of read → decide → count by reason, seconds.

    Attributes:
        hbase_deletes: of the names that HBase's cleaner was asked first; `hbase_deletes_of_all` of all.
        duckdb_seconds: the same counts by DuckDB; `polars_seconds` by polars.
        duckdb_rows_seconds: read → decide → Parquet by DuckDB: the rows of `wal_verdicts`.
    """

    files: int
    by_reason: dict[str, int]
    seconds: list[float]
    hbase_deletes: int
    duckdb_seconds: list[float]
    polars_seconds: list[float] = field(default_factory=list)
    duckdb_rows_seconds: list[float] = field(default_factory=list)
    hbase_deletes_of_all: int = 0

    @property
    def per_second(self) -> float:
        return self.files / min(self.seconds)


@dataclass(frozen=True)
class JobSpeed:
    """One whole job.

    Attributes:
        jvm_peak_bytes: resident set, which grows to the heap's size whatever is in it; `python_peak_bytes` too.
        heap_live_bytes: most of the heap that was in use after a collection.
        gc_seconds: the collector had the program stand still.
        heap: its fixed size, as `-Xmx` takes it.
    """

    files: int
    listed: int
    session_seconds: float
    seconds: float
    jvm_peak_bytes: int
    python_peak_bytes: int
    heap_live_bytes: int = 0
    gc_seconds: float = 0.0
    heap: str = "4g"

    @property
    def whole_seconds(self) -> float:
        """With the start of the session."""
        return self.seconds + self.session_seconds


@dataclass(frozen=True)
class Speed:
    """One run of the benchmark.

    Attributes:
        cleaner: before the decision.
        later: between the decision and the whole jobs, and after these: a machine of many changes its speed within
            minutes, so what is compared with the cleaner is compared with the better of its times just before and just
            after.
        every_name: on all names of the listing, where these are more than the first million, which the others are on.
    """

    cleaner: CleanerSpeed
    decision: DecisionSpeed
    jobs: list[JobSpeed]
    later: list[CleanerSpeed] = field(default_factory=list)
    every_name: CleanerSpeed | None = None

    @property
    def decision_ratio(self) -> float:
        """How many files we decide while HBase's cleaner decides one."""
        return self.decision.per_second * _seconds_a_file([self.cleaner, *self.later[:1]])

    def cleaner_seconds(self, files: int) -> float:
        """What HBase's cleaner needs for that many files at its best speed around the jobs."""
        return files * _seconds_a_file(self.later[-2:] or [self.cleaner])

    def by_the_million(self, job: JobSpeed) -> str:
        """Says of `cleaner_seconds` that it is of fewer files than the job had, and what all of them took."""
        if job.files <= self.cleaner.files:
            return ""
        if self.every_name is None or self.every_name.files != job.files:
            return ", by its first million"
        seconds = min(self.every_name.seconds)
        return f", by its first million; {job.whole_seconds / seconds:.2f} of the {seconds:.0f} s for every name"

    def rows_ratio(self, job: JobSpeed) -> float | None:
        """The whole job, session included, by DuckDB's time for the same rows; None where it had other files."""
        if job.files != self.decision.files or not self.decision.duckdb_rows_seconds:
            return None
        return job.whole_seconds / min(self.decision.duckdb_rows_seconds)


def _seconds_a_file(cleaners: Sequence[CleanerSpeed]) -> float:
    """The best of them: other work on the machine must not make us look faster."""
    return min(1 / cleaner.per_second for cleaner in cleaners)


def speed_of(point: Mapping[str, Any]) -> Speed:
    """A recorded run; what an older one lacks is left out."""
    return Speed(
        CleanerSpeed(**point["cleaner"]),
        DecisionSpeed(**point["decision"]),
        [JobSpeed(**job) for job in point["jobs"]],
        [CleanerSpeed(**later) for later in point.get("later", ())],
        CleanerSpeed(**point["every_name"]) if point.get("every_name") else None,
    )


def markdown(rows: list[tuple[str, ...]]) -> str:
    """A Markdown table; the first two rows are its head."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def memory(job: JobSpeed) -> str:
    """What a job took."""
    resident = f"resident: JVM {job.jvm_peak_bytes / GIB:.1f} GiB, Python {job.python_peak_bytes / MIB:.0f} MiB"
    return f"heap in use {job.heap_live_bytes / MIB:.0f} MiB; {resident}" if job.heap_live_bytes else resident


def table(speed: Speed) -> str:
    """A Markdown table."""
    decision = speed.decision
    cleaners = dict(zip(("first", "before the jobs", "after the jobs"), [speed.cleaner, *speed.later], strict=False))
    rows = [
        ("", "files", "seconds", "files/s", "against HBase's cleaner", "memory"),
        ("---", "--:", "--:", "--:", "---", "---"),
        *(_cleaner(when, cleaner, "1") for when, cleaner in cleaners.items()),
        (
            "walsafe: read, decide, count by reason",
            f"{decision.files:,}",
            f"{min(decision.seconds):.1f}",
            f"{decision.per_second:,.0f}",
            f"{speed.decision_ratio:.1f} times the files/s",
            "",
        ),
    ]
    if speed.every_name:
        compared = f"walsafe does {decision.per_second / speed.every_name.per_second:.1f} times its files/s"
        rows.insert(2 + len(cleaners), _cleaner("on every name, last", speed.every_name, compared))
    for name, seconds in (("DuckDB", decision.duckdb_seconds), ("polars", decision.polars_seconds)):
        if seconds:
            compared = f"walsafe does {min(seconds) / min(decision.seconds):.2f} of its files/s"
            rows.append(_yardstick(f"the same counts by {name}", decision.files, min(seconds), compared))
    if decision.duckdb_rows_seconds:
        rows.append(
            _yardstick("read, decide, Parquet by DuckDB", decision.files, min(decision.duckdb_rows_seconds), "")
        )
    for job in speed.jobs:
        needed, ratio = speed.cleaner_seconds(job.files), speed.rows_ratio(job)
        compared = (
            f"{job.whole_seconds / needed:.2f} of its time to decide alone ({needed:.0f} s{speed.by_the_million(job)})"
        )
        rows.append(
            (
                "walsafe: the whole job, cold, fresh lake",
                f"{job.files:,}",
                f"{job.seconds:.1f} + {job.session_seconds:.1f} session",
                f"{job.files / job.seconds:,.0f}",
                compared + (f"; {ratio:.1f} times DuckDB's for the same rows" if ratio else ""),
                memory(job),
            )
        )
    return markdown(rows)


def _cleaner(when: str, cleaner: CleanerSpeed, compared: str) -> tuple[str, ...]:
    return (
        f"HBase's ReplicationLogCleaner, decision only, 1 thread, {when}",
        f"{cleaner.files:,}",
        f"{min(cleaner.seconds):.1f}",
        f"{cleaner.per_second:,.0f}",
        compared,
        f"{cleaner.heap_bytes_per_file:.0f} bytes of heap a file",
    )


def _yardstick(what: str, files: int, seconds: float, compared: str) -> tuple[str, ...]:
    return (f"yardstick: {what}, 2 threads", f"{files:,}", f"{seconds:.1f}", f"{files / seconds:,.0f}", compared, "")
