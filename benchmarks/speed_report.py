"""Holds the measurements of reconcile_speed.py, and formats them as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MIB, GIB = 1 << 20, 1 << 30


@dataclass(frozen=True)
class CleanerSpeed:
    """The seconds of warm runs of `getDeletableFiles` of HBase's own cleaner."""

    files: int
    deletable: int
    seconds: list[float]
    heap_bytes_per_file: float

    @property
    def per_second(self) -> float:
        return self.files / min(self.seconds)


@dataclass(frozen=True)
class DecisionSpeed:
    """The seconds of warm runs of reading, deciding and counting by reason.

    Attributes:
        hbase_deletes: the deletable files among the names on which HBase's cleaner ran first; `hbase_deletes_of_all`:
            among all names.
        duckdb_seconds: the seconds of the same counts by DuckDB; `polars_seconds`: by polars.
        duckdb_rows_seconds: the seconds in which DuckDB reads, decides and writes the rows of `wal_verdicts` as
            Parquet.
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
    """The measurements of one whole job.

    Attributes:
        jvm_peak_bytes: the resident set of the JVM, which grows to the heap's size whatever it contains;
            `python_peak_bytes`: the resident set of Python.
        heap_live_bytes: the most heap that was in use after a collection.
        gc_seconds: how long collections stopped the program.
        heap: the fixed size of the heap, in the form of `-Xmx`.
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
        """Returns the seconds of the job including the start of the session."""
        return self.seconds + self.session_seconds


@dataclass(frozen=True)
class Speed:
    """One run of the benchmark.

    Attributes:
        cleaner: the cleaner's runs before the decision.
        later: the cleaner's runs between the decision and the whole jobs, and after the jobs. A shared machine changes
            its speed within minutes, so a measurement is compared with the better of the cleaner's times just before
            and just after it.
        every_name: the cleaner's runs on all names of the listing, if there are more than the first million, on which
            the other runs work.
    """

    cleaner: CleanerSpeed
    decision: DecisionSpeed
    jobs: list[JobSpeed]
    later: list[CleanerSpeed] = field(default_factory=list)
    every_name: CleanerSpeed | None = None

    @property
    def decision_ratio(self) -> float:
        """Returns how many files we decide while HBase's cleaner decides one."""
        return self.decision.per_second * _seconds_a_file([self.cleaner, *self.later[:1]])

    def cleaner_seconds(self, files: int) -> float:
        """Returns the seconds that HBase's cleaner needs for so many files at its best speed around the jobs."""
        return files * _seconds_a_file(self.later[-2:] or [self.cleaner])

    def by_the_million(self, job: JobSpeed) -> str:
        """Returns a note if `cleaner_seconds` rests on fewer files than the job had, with the time of all files."""
        if job.files <= self.cleaner.files:
            return ""
        if self.every_name is None or self.every_name.files != job.files:
            return ", by its first million"
        seconds = min(self.every_name.seconds)
        return f", by its first million; {job.whole_seconds / seconds:.2f} of the {seconds:.0f} s for every name"

    def rows_ratio(self, job: JobSpeed) -> float | None:
        """Returns the time of the whole job, session included, divided by DuckDB's time.

        None if DuckDB had other files.
        """
        if job.files != self.decision.files or not self.decision.duckdb_rows_seconds:
            return None
        return job.whole_seconds / min(self.decision.duckdb_rows_seconds)


def _seconds_a_file(cleaners: Sequence[CleanerSpeed]) -> float:
    """Returns the cleaner's best seconds per file, so that other work on the machine cannot make us look faster."""
    return min(1 / cleaner.per_second for cleaner in cleaners)


def speed_of(point: Mapping[str, Any]) -> Speed:
    """Parses a recorded run; values that an older run lacks are left out."""
    return Speed(
        CleanerSpeed(**point["cleaner"]),
        DecisionSpeed(**point["decision"]),
        [JobSpeed(**job) for job in point["jobs"]],
        [CleanerSpeed(**later) for later in point.get("later", ())],
        CleanerSpeed(**point["every_name"]) if point.get("every_name") else None,
    )


def markdown(rows: list[tuple[str, ...]]) -> str:
    """Formats a Markdown table; the first two rows are its head."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def memory(job: JobSpeed) -> str:
    """Describes the memory that a job used."""
    resident = f"resident: JVM {job.jvm_peak_bytes / GIB:.1f} GiB, Python {job.python_peak_bytes / MIB:.0f} MiB"
    return f"heap in use {job.heap_live_bytes / MIB:.0f} MiB; {resident}" if job.heap_live_bytes else resident


def table(speed: Speed) -> str:
    """Formats the run as a Markdown table."""
    decision = speed.decision
    cleaners = dict(zip(("first", "before the jobs", "after the jobs"), [speed.cleaner, *speed.later], strict=False))
    rows = [
        ("", "files", "seconds", "files/s", "against HBase's cleaner", "memory"),
        ("---", "--:", "--:", "--:", "---", "---"),
        *(_cleaner(when, cleaner, "1") for when, cleaner in cleaners.items()),
        (
            "walsafe: read, decide, count by reason, 2 threads",
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
