"""Measures how cost grows: with the files, with the history in the lake, and over a fleet with one very large cluster.

    .venv/bin/python benchmarks/scaling.py sizes --files 1000000 3000000 10000000 30000000
    .venv/bin/python benchmarks/scaling.py nights --files 1000000 --nights 30
    .venv/bin/python benchmarks/scaling.py fleet --files 10000000 --clusters 50 --largest 0.6 --beside-one

  sizes    the whole job of reconcile over one cluster, each size in a cold JVM with the same heap, into a fresh lake
  nights   the job night after night in one lake, warm; then the last night's files once more into a lake that has one
           night only: what 29 nights of history cost
  fleet    the job over all clusters in one plan; --beside-one: also over one cluster with as many files, and over one
           with as many files and servers

Everything runs on `local[2]`. It takes some 250 bytes of disk a file, and `--work` names a place that has them. Each
point is a line in benchmarks/results; scripts/generate_benchmarks.py makes docs/benchmarks.md of them.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench import HEAP, Ran, alone, bytes_below, job_speed, make_snapshot, reconcile, say, session, shape
from benchmarks.generate import write
from benchmarks.records import RESULTS, Run, add, begin, folder
from tests.models.large import Shape, fleet


def sizes(run: Run, args: argparse.Namespace, work: Path) -> None:
    for files in args.files:
        place = make_snapshot(work, files)
        job = alone(job_speed, work / f"job-{files}", place, args.heap)
        say(f"{files:,} files: {job.seconds:.1f} s, {files / job.seconds:,.0f} files/s")
        add(run, "sizes", asdict(job), args.out)
        shutil.rmtree(place)
        shutil.rmtree(work / f"job-{files}")


def nights(run: Run, args: argparse.Namespace, work: Path) -> None:
    """Measures the seconds of each night, and of the last night's files in a lake without history."""
    for point in alone(night_after_night, work / "nights", args.files, args.nights, args.heap):
        add(run, "nights", point, args.out)


def night_after_night(work: Path, files: int, count: int, heap: str) -> list[dict[str, object]]:
    """Returns the points of `nights`.

    One night in another lake comes first, so that no measured night pays for a cold JVM.
    """
    spark = session(work, heap)
    points: list[dict[str, object]] = []

    def one(night: int, lake: str) -> Ran:
        snapshot = make_snapshot(work, files, night)
        ran = reconcile(spark, snapshot, work / lake, night)
        shutil.rmtree(snapshot)
        return ran

    one(-1, "warm-up")
    for night in range(count):
        seconds = one(night, "lake").seconds
        lake_bytes = bytes_below(work / "lake")
        points.append({"night": night + 1, "files": files, "seconds": seconds, "lake_bytes": lake_bytes})
        say(f"night {night + 1} of {count}: {seconds:.1f} s")
    one(count - 2, "young")
    seconds = one(count - 1, "young").seconds
    points.append({"night": count, "files": files, "seconds": seconds, "lake_bytes": None})
    spark.stop()
    return points


def of_a_fleet(run: Run, args: argparse.Namespace, work: Path) -> None:
    shapes = list(fleet(shape(args.files), args.clusters, args.largest))
    measure_fleet(run, args, work, shapes)
    if args.beside_one:
        one = shape(sum(each.files for each in shapes))
        for servers in (one.servers, sum(each.servers for each in shapes)):
            measure_fleet(run, args, work, [replace(one, servers=servers)])


def measure_fleet(run: Run, args: argparse.Namespace, work: Path, shapes: Sequence[Shape]) -> None:
    """Measures the whole job over these clusters in one plan, and records it."""
    place = work / "fleet"
    for one in shapes:
        write(one, place / one.cluster, None)
    skew = {"clusters": len(shapes), "servers": sum(one.servers for one in shapes), "largest_files": shapes[0].files}
    files = f"{shapes[0].files:,} files in the largest, {shapes[-1].files:,} in the smallest"
    say(f"clusters: {len(shapes):,}, servers: {skew['servers']:,}, {files}")
    job = alone(job_speed, work / "job", place, args.heap, fleet=True)
    say(f"{job.seconds:.1f} s, {job.files / job.seconds:,.0f} files/s")
    add(run, "fleet", skew | asdict(job), args.out)
    shutil.rmtree(place)
    shutil.rmtree(work / "job")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--heap", default=HEAP, help=f"the driver's heap, fixed (default: {HEAP})")
    common.add_argument("--work", type=folder, help="parent of the scratch directory (default: TMPDIR)")
    common.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    commands = parser.add_subparsers(required=True)
    growing = commands.add_parser("sizes", parents=[common], help="the same job over ever more files")
    growing.add_argument("--files", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000, 30_000_000])
    growing.set_defaults(measure=sizes)
    history = commands.add_parser("nights", parents=[common], help="the same job night after night")
    history.add_argument("--files", type=int, default=1_000_000)
    history.add_argument("--nights", type=int, default=30)
    history.set_defaults(measure=nights)
    clusters = commands.add_parser("fleet", parents=[common], help="many clusters in one plan, one of them large")
    clusters.add_argument("--files", type=int, default=10_000_000, help="all clusters together")
    clusters.add_argument("--clusters", type=int, default=50)
    clusters.add_argument("--largest", type=float, default=0.6, help="share of the largest one (default: 0.6)")
    clusters.add_argument("--beside-one", action="store_true", help="also one cluster with as many files")
    clusters.set_defaults(measure=of_a_fleet)
    args = parser.parse_args()
    if getattr(args, "nights", 4) < 4:
        parser.error("--nights must be at least 4")
    if not 0 < getattr(args, "largest", 0.5) < 1:
        parser.error("--largest must lie between 0 and 1")
    run = begin(__file__, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="walsafe-scaling-", dir=args.work) as scratch:
        args.measure(run, args, Path(scratch))


if __name__ == "__main__":
    main()
