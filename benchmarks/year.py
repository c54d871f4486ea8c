"""Computes what a year of nights costs.

It writes the part of docs/maintain.md that benchmarks/results/lake_cost.jsonl determines.
"""

from collections.abc import Sequence

from benchmarks.pages import where
from benchmarks.records import Run
from benchmarks.speed_report import markdown
from pipelines.common.human import human_bytes

YEAR, LARGE = 365, 10_000_000
HEAD = [
    ("", "a night", "bytes for each file", "a year without `maintain`", "with it, by default"),
    ("---", "--:", "--:", "--:", "--:"),
]
INTRODUCTION = """\
One cluster of {files:,} files under oldWALs, every file listed anew each night; `local[2]`:

{table}

**{large:,} files a night**, with the same bytes for each file: {never} a year without `maintain`, {kept} with it. The
size of the queues does not depend on the number of files, so a smaller cluster needs more bytes for each file.

In addition, the lake holds files that vacuum removes a week later (a week of nights of `wal_verdicts`, {vacuumed}), and
Delta's own logs ({log} after {nights} nights; when Delta writes a checkpoint, it removes commits of more than 30 days
ago that an earlier checkpoint contains; in a lake on the local file system there is a checkpoint every 50 commits).
`maintain` itself took {seconds:.0f} s in a warm JVM.

{where}
"""


def year(run: Run) -> str:
    """Returns the tables, snapshots and lists of one recorded run, and their size after a year."""
    (point,) = run.points
    files = point["files"]
    costs = [(one["bytes_a_night"], min(one["nights_kept"], YEAR)) for one in point["kinds"]]
    rows = [
        _row(f"`{one['name']}`" if one["is_table"] else one["name"], files, [cost])
        for one, cost in zip(point["kinds"], costs, strict=True)
    ]
    never, kept = in_a_year(costs)
    (verdicts,) = (one["bytes_a_night"] for one in point["kinds"] if one["name"] == "wal_verdicts")
    return INTRODUCTION.format(
        files=files,
        table=markdown([*HEAD, *rows, _row("**all**", files, costs)]),
        large=LARGE,
        never=human_bytes(round(never * LARGE / files)),
        kept=human_bytes(round(kept * LARGE / files)),
        vacuumed=human_bytes(round(verdicts * 7)),
        log=human_bytes(point["log_bytes"]),
        nights=point["nights"],
        seconds=point["maintain_seconds"],
        where=where(run),
    )


def in_a_year(costs: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Returns the bytes after a year: of every night, and of the nights that are kept.

    Args:
        costs: the bytes of a night, and the number of nights that are kept.
    """
    return sum(size * YEAR for size, _ in costs), sum(size * kept for size, kept in costs)


def _row(name: str, files: int, costs: Sequence[tuple[float, int]]) -> tuple[str, ...]:
    nightly, (never, kept) = sum(size for size, _ in costs), in_a_year(costs)
    told = f" ({costs[0][1]} nights)" if len(costs) == 1 and costs[0][1] < YEAR else ""
    sizes = (human_bytes(round(never)), human_bytes(round(kept)) + told)
    return (name, human_bytes(round(nightly)), f"{nightly / files:.1f}", *sizes)
