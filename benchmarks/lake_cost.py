"""What a year of nights costs in the lake: bytes a file and night, and what maintain makes of it.

    .venv/bin/python benchmarks/lake_cost.py --files 200000 --nights 6

reconcile itself writes the tables, on the listings of generate.py, one night after the other in one lake. Then
maintain runs twice with --execute: by the clock of the last night, and as if more than `maintain.keep.wal_verdicts`
had passed. "live" is what the newest version of a table needs, "on disk" has the files that VACUUM removes a week later
too, and "log" is Delta's own. The year is extrapolated from the live bytes of a night, with the default times of the
configuration: wal_verdicts 90 nights, lists and snapshots 30, the other tables more than the year. What is recorded in
benchmarks/results/lake_cost.jsonl becomes the table in docs/maintain.md.
"""

import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench import At, bytes_below, make_snapshot, reconcile
from benchmarks.records import add, begin, benchmark_parser
from benchmarks.year import year
from jobs.cli.config.configuration import Config
from jobs.cli.context import JobContext
from jobs.maintain.retention import retention_policy
from jobs.maintain.wiring import run_maintain
from pipelines.common.human import human_bytes
from pipelines.common.instants import DAY_MS
from pipelines.lake.maintenance import LakeMaintenance
from schemas.registry import DECISION_TABLES
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.spark.local_session import local_session


@dataclass(frozen=True)
class Cost:
    """The cost of one table, in bytes."""

    name: str
    nights: int
    live_files: int
    live_bytes: int
    disk_bytes: int
    log_bytes: int


def costs(keeper: LakeMaintenance, lake: Path) -> list[Cost]:
    """Returns the bytes of every table of the lake, by its log and on the disk."""
    found = []
    for table in DECISION_TABLES:
        partitions = keeper.partitions(table)
        everything = [file for file in (lake / table.name).rglob("*") if file.is_file()]
        logged = [file for file in everything if "_delta_log" in file.parts]
        found.append(
            Cost(
                table.name,
                len(partitions),
                sum(one.size.files for one in partitions),
                sum(one.size.bytes for one in partitions),
                sum(file.stat().st_size for file in everything) - sum(file.stat().st_size for file in logged),
                sum(file.stat().st_size for file in logged),
            )
        )
    return found


def table(title: str, found: list[Cost], files: int) -> str:
    lines = [
        f"\n{title}",
        f"{'':18}{'nights':>7}{'files':>7}{'live':>12}{'on disk':>12}{'log':>12}{'a night':>12}{'B/file':>9}",
    ]
    for one in found:
        nightly = one.live_bytes / max(one.nights, 1)
        sizes = "".join(f"{human_bytes(size):>12}" for size in (one.live_bytes, one.disk_bytes, one.log_bytes))
        counts = f"{one.name:18}{one.nights:>7}{one.live_files:>7}"
        lines.append(f"{counts}{sizes}{human_bytes(round(nightly)):>12}{nightly / files:>9.2f}")
    return "\n".join(lines)


def measure(spark: SparkSession, work: Path, files: int, nights: int) -> dict[str, object]:
    lake, snapshot_bytes = work / "lake", 0
    for night in range(nights):
        snapshot = make_snapshot(work, files, night)
        snapshot_bytes = bytes_below(snapshot)
        seconds = reconcile(spark, snapshot, lake, night).seconds
        shutil.rmtree(snapshot)
        print(f"night {night + 1} of {nights}: {seconds:.1f} s", file=sys.stderr, flush=True)
    keeper = LakeMaintenance(spark, f"file:{lake}")
    before = costs(keeper, lake)
    print(table(f"{files:,} files a night, as reconcile leaves them", before, files))
    list_bytes = bytes_below(work / "lake-lists") // nights
    print(f"a snapshot: {human_bytes(snapshot_bytes)}; a list: {human_bytes(list_bytes)}")
    policy = retention_policy(Config())
    keep_days = {name: time // DAY_MS for name, time in policy.tables_ms.items()}
    for title, night in (
        ("after maintain on the last night", nights),
        (
            f"after maintain {keep_days[WAL_VERDICTS.name]} nights after the third night",
            keep_days[WAL_VERDICTS.name] + 3,
        ),
    ):
        started = time.perf_counter()
        outcome = run_maintain(JobContext("maintain", At(night), spark), Config(), f"file:{lake}", execute=True)
        seconds = time.perf_counter() - started
        if outcome.exit_code:
            raise SystemExit(outcome.text)
        print(table(f"{title} ({seconds:.1f} s)", costs(keeper, lake), files))
    days = {**keep_days, "lists": policy.lists_ms // DAY_MS, "snapshots": policy.snapshots_ms // DAY_MS}
    nightly = {one.name: one.live_bytes / max(one.nights, 1) for one in before}
    kinds = [
        {"name": name, "bytes_a_night": a_night, "nights_kept": days[name], "is_table": name in keep_days}
        for name, a_night in {**nightly, "snapshots": snapshot_bytes, "lists": list_bytes}.items()
    ]
    log_bytes = sum(one.log_bytes for one in before)
    return {"files": files, "nights": nights, "kinds": kinds, "log_bytes": log_bytes, "maintain_seconds": seconds}


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--files", type=int, default=200_000, help="files under oldWALs (default: 200,000)")
    parser.add_argument("--nights", type=int, default=12, help="nights (default: 12)")
    args = parser.parse_args()
    if args.nights < 5:
        parser.error("--nights: at least 5, for the newest four are always kept")
    run = begin(__file__, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="walsafe-cost-", dir=args.work) as scratch:
        work = Path(scratch)
        spark = local_session(work, memory="4g", quick_start=False)
        try:
            point = measure(spark, work, args.files, args.nights)
        finally:
            spark.stop()
    add(run, "lake_cost", point, args.out)
    print(year(replace(run, points=(point,))))


if __name__ == "__main__":
    main()
