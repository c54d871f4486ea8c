"""Builds the page docs/benchmarks.md from the records in benchmarks/results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.records import RESULTS, Run, newest, newest_of_each, recorded
from benchmarks.speed_report import GIB, MIB, JobSpeed, markdown, memory, speed_of, table
from benchmarks.split_pages import split_speeds
from pipelines.common.human import human_bytes

Point = Mapping[str, Any]
HEAD = """\
# Benchmarks

*Generated from `benchmarks/results` by `scripts/generate_benchmarks.py`; measure again, do not edit.*

`benchmarks/README.md` says how each number is measured and what is compared. The times are those of one run on one
machine; on another machine, only the ratios should be similar. "Load" is the machine's 1-minute load average before the
run began; it shows how much other programs may have slowed the run.
"""
FLAT = """\
The first seconds are the same for any size (a cold JVM, tables that do not exist yet). So the last column shows how the
cost grows: it divides the additional files of a size by its additional seconds.
"""

_FEWER_AT_MOST = 0.2


def page(folder: Path = RESULTS) -> str:
    """Returns the text of docs/benchmarks.md."""
    parts = [HEAD]
    for title, name, render in (
        ("The decision and the whole job", "reconcile", lambda run: table(speed_of(run.points[-1]))),
        ("With the number of files", "sizes", sizes),
        ("With the history in the lake", "nights", nights),
        ("Fleets", "fleet", fleet),
        ("A night: where each second goes", "floor", floor),
        ("The demo", "demo", demo),
        ("Questions", "explain", explain),
        ("Clean-up of a real HDFS", "clean", clean),
    ):
        runs = newest_of_each(name, folder)
        parts += [f"## {title}\n"] if runs else []
        for run in runs:
            parts += [where(run), "", render(run), ""]
    captures = recorded("capture", folder)
    if captures:
        parts += ["## Capture\n", capture(captures), ""]
    for title, name in (
        ("Partition splits: hashing, comparing", "split_speed"),
        ("Partition splits: private logs, offline", "split_logs_and_run"),
    ):
        run = newest(name, folder)
        if run is not None:
            parts += [f"## {title}\n", where(run), "", split_speeds(run), ""]
    return "\n".join(parts)


def where(run: Run) -> str:
    """Describes the machine, the time and the command of a run."""
    speed = "" if run.loop_seconds is None else f", Python adds ten million numbers in {run.loop_seconds:.2f} s"
    return f"{run.cores} cores, load {run.load:.1f}{speed}, {run.began}:\n\n```bash\n{run.command}\n```"


def sizes(run: Run) -> str:
    """Returns the section about one cluster with more and more files."""
    jobs = [JobSpeed(**point) for point in run.points]
    rows: list[tuple[str, ...]] = [
        ("files", "seconds", "files/s", "memory", "collector", "files/s of what was added"),
        ("--:", "--:", "--:", "---", "--:", "--:"),
    ]
    for before, job in zip([None, *jobs], jobs, strict=False):
        added = _added(before, job)
        per_second = f"{job.files / job.seconds:,.0f}"
        paused = f"{job.gc_seconds:.1f} s"
        rows.append((f"{job.files:,}", f"{job.seconds:.1f}", per_second, memory(job), paused, added))
    return f"{markdown(rows)}\n\nThe heap is {jobs[0].heap} for all of them.\n{FLAT}{_flat(jobs)}".rstrip()


def _flat(jobs: Sequence[JobSpeed]) -> str:
    """Compares the last step with the one before it."""
    if len(jobs) < 3 or not jobs[-3].seconds < jobs[-2].seconds < jobs[-1].seconds:
        return ""
    before, last = marginal(jobs[-3], jobs[-2]), marginal(jobs[-2], jobs[-1])
    less = 1 - last / before
    told = f"{less:.1%} fewer" if less > 0 else f"{-less:.1%} more"
    return f"In its last step {told} files/s than in the one before; the goal is at most {_FEWER_AT_MOST:.0%} fewer.\n"


def _added(smaller: JobSpeed | None, larger: JobSpeed) -> str:
    if smaller is None:
        return ""
    return "cost no time" if larger.seconds <= smaller.seconds else f"{marginal(smaller, larger):,.0f}"


def marginal(smaller: JobSpeed, larger: JobSpeed) -> float:
    """Returns the files per second for the files that only the larger job has.

    The larger job must have taken longer.
    """
    return (larger.files - smaller.files) / (larger.seconds - smaller.seconds)


def nights(run: Run) -> str:
    """Returns the section about one night after the other."""
    times = [point["seconds"] for point in run.points if point["lake_bytes"] is not None]
    young = [point["seconds"] for point in run.points if point["lake_bytes"] is None]
    half = len(times) // 2
    # the first night creates the tables
    early, late = median(times[1 : 1 + half]), median(times[-half:])
    files, lake = run.points[0]["files"], run.points[len(times) - 1]["lake_bytes"]
    head = ("", "seconds")
    rows = [
        head,
        ("---", "--:"),
        ("night 1, which makes the tables", f"{times[0]:.1f}"),
        ("night 2", f"{times[1]:.1f}"),
        (f"night {len(times)}", f"{times[-1]:.1f}"),
        (f"the files of night {len(times)} in a lake with one night before", f"{young[0]:.1f}" if young else ""),
        (f"median of nights 2 to {1 + half}", f"{early:.1f}"),
        (f"median of the last {half} nights", f"{late:.1f}, {late / early:.2f} times"),
    ]
    return f"{files:,} files a night in one lake, warm; {human_bytes(lake)} in the end.\n\n{markdown(rows)}"


def fleet(run: Run) -> str:
    """Returns the section that compares many clusters in one plan with one cluster of as many files and servers."""
    rows: list[tuple[str, ...]] = [
        ("clusters", "servers", "files", "of the largest", "seconds", "files/s", "memory"),
        ("--:", "--:", "--:", "--:", "--:", "--:", "---"),
    ]
    of_fleet = {"clusters", "servers", "largest_files"}
    for point in run.points:
        job = JobSpeed(**{name: value for name, value in point.items() if name not in of_fleet})
        per_second = f"{job.files / job.seconds:,.0f}"
        servers = f"{point['servers']:,}" if "servers" in point else ""
        sizes = (f"{point['clusters']:,}", servers, f"{job.files:,}", f"{point['largest_files']:,}")
        numbers = (*sizes, f"{job.seconds:.1f}")
        rows.append((*numbers, per_second, memory(job)))
    return f"{markdown(rows)}\n\nThe heap is {job.heap}."


def demo(run: Run) -> str:
    """Returns the section about the demo, one after the other."""
    rows: list[tuple[str, ...]] = [("demo", "first night on the screen", "all of it"), ("--:", "--:", "--:")]
    rows += [(f"{one['number']}", f"{one['first_night_seconds']} s", f"{one['seconds']} s") for one in run.points]
    return markdown(rows)


def floor(run: Run) -> str:
    """Returns the section about the pieces of the last night, beside those of the first."""
    first, last = run.points[0], run.points[-1]
    total = ", ".join(f"night {point['night']} {point['seconds']:.1f} s" for point in run.points)
    rows = [("piece of the last night", "seconds", "Spark jobs", "a job runs, s"), ("---", "--:", "--:", "--:")]
    rows += [(p["name"], f"{p['seconds']:.1f}", str(p["jobs"]), f"{p['job_seconds']:.1f}") for p in last["pieces"]]
    slow = "\n".join(f"- {seconds:.1f} s: `{asked}`" for asked, seconds in last["queries"])
    return (
        f"{first['files']:,} files, a command each: {total}.\n\n{markdown(rows)}\n\n"
        f"The queries of that night that took longest, by who asked:\n\n{slow}"
    )


def explain(run: Run) -> str:
    """Returns the section about the time of each question, process and imports included."""
    places = list(dict.fromkeys(point["place"] for point in run.points))
    seconds = {(point["question"], point["place"]): point["seconds"] for point in run.points}
    rows: list[tuple[str, ...]] = [("`explain`", *places), ("---", *("--:" for _ in places))]
    for question in dict.fromkeys(point["question"] for point in run.points):
        told = (seconds.get((question, place)) for place in places)
        rows.append((question, *("" if one is None else f"{one:.1f} s" for one in told)))
    size = run.points[0]
    best = "Each time is the best of three."
    return f"{size['nights']} nights of {size['files']:,} files in the lake. {best}\n\n{markdown(rows)}"


def clean(run: Run) -> str:
    """Returns the section that compares the clean-up with the quicker run of a client that only renames."""
    rows: list[tuple[str, ...]] = [
        ("", "files", "seconds", "moving", "files/s moving", "of the quicker plain client"),
        ("---", "--:", "--:", "--:", "--:", "--:"),
    ]
    plain = [point for point in run.points if point["step"].startswith("plain client")]
    quickest = max(point["files"] / point["seconds"] for point in plain)
    for point in run.points:
        moving = point["seconds"] if point in plain else point["moving_seconds"]
        speed = point["files"] / (moving or point["seconds"])
        shown = (f"{moving:.1f}", f"{speed:,.0f}", f"{speed / quickest:.2f}") if moving else ("", "", "")
        rows.append((point["step"], f"{point['files']:,}", f"{point['seconds']:.1f}", *shown))
    said = (
        "Moving is from the first intent to the last outcome, with the audit. The plain client only renames as many\n"
        "files, without a look at them and without an audit; purge deletes them."
    )
    return f"{markdown(rows)}\n\n{said}"


def capture(runs: Sequence[Run]) -> str:
    """Returns the section with the newest run of each source and size."""
    latest = {(point["source"], point["files"]): (run, point) for run in runs for point in run.points}
    rows: list[tuple[str, ...]] = [
        ("source", "files", "seconds", "of which the listing", "files/s", "memory", "load", "command"),
        ("---", "--:", "--:", "--:", "--:", "---", "--:", "---"),
    ]
    for (source, files), (run, point) in sorted(latest.items()):
        resident = f"JVM {point['jvm_peak_bytes'] / GIB:.1f} GiB, Python {point['python_peak_bytes'] / MIB:.0f} MiB"
        took = f"heap in use {point['heap_live_bytes'] / MIB:.0f} MiB of {point['heap']}; resident: {resident}"
        numbers = (f"{files:,}", f"{point['seconds']:.1f}", f"{point['listing_seconds']:.1f}")
        per_second = f"{files / point['seconds']:,.0f}"
        rows.append((source, *numbers, per_second, took, f"{run.load:.1f}", f"`{run.command}`"))
    return markdown(rows)
