"""Records measurements as JSON lines in `benchmarks/results`: a file for each benchmark, a line for each point.

A line names its run by the time at which the run began. docs/benchmarks.md shows the newest run of each file; older
runs stay, so that one can see what became faster.
"""

import argparse
import gc
import json
import os
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jobs.cli.leave import NEW_OBJECTS

gc.set_threshold(NEW_OBJECTS)  # as in the processes of the jobs that are measured
RESULTS = Path(__file__).with_name("results")
_OF_THE_MACHINE = ("--work", "--out")


@dataclass(frozen=True)
class Run:
    """One run of one benchmark.

    Attributes:
        began: UTC, to the second.
        command: the command with which it can be repeated, without the directories of the machine on which it ran.
        load: the machine's 1-minute load average before the run began, as a hint how other programs affected the times.
        points: the measurements, in order.
        loop_seconds: what `python_loop` took before the run began; a virtual machine can take twice as long as an hour
            before. None = not measured.
    """

    began: str
    command: str
    cores: int
    load: float
    points: Sequence[Mapping[str, Any]] = field(default=())
    loop_seconds: float | None = None


def begin(script: str, arguments: Sequence[str]) -> Run:
    """Returns a run that begins now."""
    began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    load = round(os.getloadavg()[0], 1)
    return Run(began, command_line(script, arguments), os.cpu_count() or 1, load, loop_seconds=round(python_loop(), 2))


def python_loop() -> float:
    """Returns the seconds that Python needs to add ten million numbers, as a measure of the machine's speed now."""
    began, total = time.perf_counter(), 0
    for number in range(10_000_000):
        total += number
    return time.perf_counter() - began


def command_line(script: str, arguments: Sequence[str]) -> str:
    """Returns the command without this machine's directories, so that it can be pasted anywhere."""
    words = iter(arguments)
    kept = []
    for word in words:
        name, joined, _ = word.partition("=")
        if name in _OF_THE_MACHINE:
            if not joined:
                next(words, None)
            continue
        kept.append(word)
    return shlex.join([".venv/bin/python", f"benchmarks/{Path(script).name}", *kept])


def add(run: Run, benchmark: str, point: Mapping[str, Any], folder: Path = RESULTS) -> None:
    """Appends one point at once, so that a run that is stopped keeps its points."""
    folder.mkdir(parents=True, exist_ok=True)
    line = {
        "run": run.began,
        "command": run.command,
        "cores": run.cores,
        "load": run.load,
        "loop_seconds": run.loop_seconds,
        "point": dict(point),
    }
    with (folder / f"{benchmark}.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")


def recorded(benchmark: str, folder: Path = RESULTS) -> list[Run]:
    """Returns all runs in a file of results, the oldest first."""
    file = folder / f"{benchmark}.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    runs: dict[str, Run] = {}
    for line in lines:
        known = runs.get(line["run"]) or Run(
            line["run"], line["command"], line["cores"], line["load"], loop_seconds=line.get("loop_seconds")
        )
        runs[line["run"]] = replace(known, points=(*known.points, line["point"]))
    return list(runs.values())


def newest(benchmark: str, folder: Path = RESULTS) -> Run | None:
    """Returns the last run in a file of results; None = there is no run."""
    return next(reversed(recorded(benchmark, folder)), None)


def newest_of_each(benchmark: str, folder: Path = RESULTS) -> list[Run]:
    """Returns the last run of each command in a file of results, the newest first."""
    latest = {run.command: run for run in recorded(benchmark, folder)}
    return sorted(latest.values(), key=lambda run: run.began, reverse=True)


def benchmark_parser(description: str | None, work: str = "") -> argparse.ArgumentParser:
    """Returns a parser with the options `--work` and `--out`.

    Args:
        description: the docstring of the benchmark.
        work: how many bytes the scratch directory needs.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=folder, help=f"parent of the scratch directory{work} (default: TMPDIR)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    return parser


def folder(text: str) -> Path:
    """Returns a folder that was given on the command line, and creates it if it does not exist."""
    path = Path(text)
    path.mkdir(parents=True, exist_ok=True)
    return path
