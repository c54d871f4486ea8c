"""What reconcile_speed.py measured, as a table, as results.json, and between the markers of README.md."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

MIB, GIB = 1 << 20, 1 << 30
BEGIN, END = "<!-- results: written by reconcile_speed.py -->", "<!-- end of results -->"


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
    """Warm runs of read → decide → count by reason, seconds; `duckdb_seconds`: the same counts by DuckDB."""

    files: int
    by_reason: dict[str, int]
    seconds: list[float]
    hbase_deletes: int
    duckdb_seconds: list[float]

    @property
    def per_second(self) -> float:
        return self.files / min(self.seconds)


@dataclass(frozen=True)
class JobSpeed:
    """One whole job; peaks are resident sets."""

    files: int
    listed: int
    session_seconds: float
    seconds: float
    jvm_peak_bytes: int
    python_peak_bytes: int


@dataclass(frozen=True)
class NightsSpeed:
    """The job night after night, seconds."""

    files: int
    seconds: list[float]

    @property
    def early(self) -> float:
        """Median of the first half, without the night that makes the tables."""
        return median(self.seconds[1 : 1 + len(self.seconds) // 2])

    @property
    def late(self) -> float:
        return median(self.seconds[-(len(self.seconds) // 2) :])


@dataclass(frozen=True)
class Speed:
    """One run of the benchmark.

    Attributes:
        load: the machine's 1-minute load average before it began: what others did to these times.
    """

    cores: int
    load: float
    cleaner: CleanerSpeed
    decision: DecisionSpeed
    jobs: list[JobSpeed]
    nights: NightsSpeed | None

    @property
    def decision_ratio(self) -> float:
        """How many files we decide while HBase's cleaner decides one."""
        return self.decision.per_second / self.cleaner.per_second

    def cleaner_seconds(self, files: int) -> float:
        """What HBase's cleaner needs for that many files at its best speed."""
        return files / self.cleaner.per_second


def table(speed: Speed) -> str:
    """A Markdown table."""
    cleaner, decision = speed.cleaner, speed.decision
    rows = [
        ("", "files", "seconds", "files/s", "against HBase's cleaner", "memory"),
        ("---", "--:", "--:", "--:", "---", "---"),
        (
            "HBase's ReplicationLogCleaner, decision only, 1 thread",
            f"{cleaner.files:,}",
            f"{min(cleaner.seconds):.1f}",
            f"{cleaner.per_second:,.0f}",
            "1",
            f"{cleaner.heap_bytes_per_file:.0f} bytes of heap a file",
        ),
        (
            "walsafe: read, decide, count by reason",
            f"{decision.files:,}",
            f"{min(decision.seconds):.1f}",
            f"{decision.per_second:,.0f}",
            f"{speed.decision_ratio:.1f} times the files/s",
            "",
        ),
    ]
    fastest = min(decision.duckdb_seconds)
    rows.append(
        (
            "yardstick: the same counts by DuckDB, 2 threads",
            f"{decision.files:,}",
            f"{fastest:.1f}",
            f"{decision.files / fastest:,.0f}",
            f"walsafe does {fastest / min(decision.seconds):.2f} of its files/s",
            "",
        )
    )
    for job in speed.jobs:
        needed = speed.cleaner_seconds(job.files)
        rows.append(
            (
                "walsafe: the whole job, cold, fresh lake",
                f"{job.files:,}",
                f"{job.seconds:.1f} + {job.session_seconds:.1f} session",
                f"{job.files / job.seconds:,.0f}",
                f"{(job.seconds + job.session_seconds) / needed:.2f} of its time to decide alone ({needed:.0f} s)",
                f"peak RSS: JVM {job.jvm_peak_bytes / GIB:.1f} GiB, Python {job.python_peak_bytes / MIB:.0f} MiB",
            )
        )
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    if speed.nights:
        nights = speed.nights
        count = len(nights.seconds)
        times = nights.seconds
        lines += [
            "",
            f"{count} nights of {nights.files:,} files in one lake, warm, in seconds:",
            "",
            "| night 1 (makes the tables) | night 2 | last night | median without night 1: first half | last half |",
            "| --: | --: | --: | --: | --: |",
            f"| {times[0]:.1f} | {times[1]:.1f} | {times[-1]:.1f} | {nights.early:.1f} | {nights.late:.1f} |",
        ]
    return "\n".join(lines)


def publish(speed: Speed, command: str, out: Path, template: Path) -> None:
    """Write results.json, and README.md with the table in the place of the one before."""
    out.mkdir(parents=True, exist_ok=True)
    document = {"command": command, "decision_ratio": speed.decision_ratio, **asdict(speed)}
    (out / "results.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    before, _, rest = (template / "README.md").read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{template / 'README.md'} has no lines {BEGIN} and {END}")
    where = f"On {speed.cores} cores, with a load average of {speed.load:.1f} before it began:"
    made = f"{where}\n\n```bash\n{command}\n```\n\n{table(speed)}\n"
    (out / "README.md").write_text(f"{before}{BEGIN}\n{made}{END}{after}", encoding="utf-8")
