"""Measures how long the demo takes, and after how many seconds its first night is on the screen.

    .venv/bin/python benchmarks/demo_speed.py

It runs `./spark-submit.sh demo` as a newcomer does, several times. The first demo on a machine also keeps Java's loaded
classes for later starts, and downloads packages before that; the record says which demo it is. Each run adds lines to
benchmarks/results/demo.jsonl.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench import say
from benchmarks.records import add, begin, benchmark_parser

PROJECT = Path(__file__).resolve().parent.parent
_FIRST_NIGHT = ": night 1: "


@dataclass(frozen=True)
class Demo:
    """One demo: its number in this run, seconds until the first night was told, seconds until its end."""

    number: int
    first_night_seconds: float
    seconds: float


def demo(number: int, out: Path) -> Demo:
    """Runs the demo with everything on two cores, and returns its times.

    Raises:
        SystemExit: the demo failed, or told no first night.
    """
    environment = {**os.environ, "SPARK_SUBMIT_ARGS": "--master local[2]"}
    command = [str(PROJECT / "spark-submit.sh"), "demo", "--out", str(out)]
    began = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        marks = [time.perf_counter() - began for line in process.stderr if _FIRST_NIGHT in line]
    if process.returncode or not marks:
        raise SystemExit(f"exit code {process.returncode} of {' '.join(command)}")
    return Demo(number, round(marks[0], 1), round(time.perf_counter() - began, 1))


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--times", type=int, default=3, help="demos, one after another (default: 3)")
    args = parser.parse_args()
    run = begin(__file__, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="walsafe-demo-", dir=args.work) as scratch:
        for number in range(1, args.times + 1):
            one = demo(number, Path(scratch, str(number)))
            say(f"demo {number}: first night after {one.first_night_seconds} s, all of it {one.seconds} s")
            add(run, "demo", asdict(one), args.out)


if __name__ == "__main__":
    main()
