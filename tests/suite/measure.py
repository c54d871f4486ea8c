"""What a run of the tests costs: `./tests/run --record` writes it down, and docs/testing.md shows it.

    python -m tests.suite.measure PYTEST-ARGUMENT…

runs pytest with this module as its plugin. Orphans of the tests become children of this process, so its CPU seconds are
those of every process that the run has started, JVMs included.
"""

import ctypes
import json
import os
import re
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from subprocess import Popen
from typing import Any

import pytest
from xdist.workermanage import WorkerController

from benchmarks.records import python_loop
from tests.labs.cluster.jvm import STARTED
from tests.suite import sizes

SLOW_SECONDS = 10.0
"""A test of the ordinary size that takes longer says why: `@pytest.mark.slow("why")`."""
_COSTLY_CPU_SECONDS = 0.5
"""What takes more is left out by `--fast`."""
_START_SECONDS = 3.0
_LOOK_SECONDS = 0.3  # between two looks for new JVMs, the shortest of which live for a second
_COSTS_ENV = "WALSAFE_TEST_COSTS"
_BECOME_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
_TICKS = os.sysconf("SC_CLK_TCK")
_WORTH_A_LOOK = 0.02  # seconds; the CPU of what is shorter counts for the next test that is not


# In pytest: the cost of each test and of each fixture that tests share


class _Meter:
    """CPU seconds of this process and of all it has started, from one look to the next."""

    def __init__(self) -> None:
        self._last = _cpu_seconds(os.getpid())
        self.starts: list[tuple[str, float, float, str]] = []

    def since(self) -> float:
        now = _cpu_seconds(os.getpid())
        spent, self._last = now - self._last, now
        return max(spent, 0.0)


_meter: _Meter | None = None
_costs: dict[str, dict[str, Any]] = defaultdict(lambda: {"seconds": 0.0, "cpu": 0.0, "why": ""})
_starts: list[tuple[str, float, float, str]] = []
_clusters: Counter[str] = Counter()


def _here() -> _Meter:
    global _meter  # noqa: PLW0603
    _meter = _meter or _Meter()
    return _meter


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    """What is shared is no cost of the test that came first."""
    if fixturedef.scope == "function":
        return (yield)
    meter, begun = _here(), time.monotonic()
    meter.since()
    try:
        return (yield)
    finally:
        seconds = time.monotonic() - begun
        says = (fixturedef.func.__doc__ or "").strip().partition("\n")[0]
        meter.starts.append((fixturedef.argname, seconds, meter.since(), says))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The cost goes with the report, also from a process of xdist."""
    report = yield
    meter, slow = _here(), item.get_closest_marker("slow")
    report.cpu = meter.since() if call.duration > _WORTH_A_LOOK else 0.0
    report.starts, meter.starts = meter.starts, []
    report.why = slow.args[0] if slow else ""
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds the parts of a test up."""
    cost = _costs[report.nodeid]
    cost["seconds"] += max(report.duration - sum(seconds for _, seconds, *_ in report.starts), 0.0)
    cost["cpu"] += report.cpu
    cost["why"] = report.why
    _starts.extend(report.starts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """A process of xdist has ended."""
    _clusters.update(getattr(node, "workeroutput", {}).get("clusters", {}))


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """Written by the process that heard of all tests, after the others have ended."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["clusters"] = dict(STARTED)
    yield
    if output is None and _COSTS_ENV in os.environ:
        _clusters.update(STARTED)
        config = session.config
        found = {
            "size": config.option.size,
            "whole": not (
                config.option.keyword
                or config.option.markexpr != sizes.SIZES[config.option.size].markers
                or config.args_source is pytest.Config.ArgsSource.ARGS
                or session.shouldfail
            ),
            "tests": _costs,
            "starts": _starts,
            "clusters": _clusters,
        }
        Path(os.environ[_COSTS_ENV]).write_text(json.dumps(found), encoding="utf-8")


# Around pytest: the whole run


def _stat(pid: int) -> tuple[int, float]:
    """The parent of a process, and the CPU seconds of itself and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return int(fields[1]), sum(map(int, fields[11:15])) / _TICKS


def _family(pid: int) -> Iterator[tuple[int, float]]:
    """A process and all that descend from it, with their CPU seconds."""
    children, seconds = defaultdict(list), {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parent, seconds[int(name)] = _stat(int(name))
            except (OSError, IndexError):
                continue  # it has just ended
            children[parent].append(int(name))
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one, seconds.get(one, 0.0)
        waiting += children[one]


def _cpu_seconds(pid: int) -> float:
    return sum(seconds for _, seconds in _family(pid))


def _kind_of_jvm(pid: int) -> str | None:
    """What a JVM is for; None for any other process."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return None
    if Path(words[0]).name != "java":
        return None
    line = " ".join(words)
    named = re.search(r"-Dwalsafe\.tests=(\S+)", line) or re.search(r" org\.apache\.[\w.]*\.(\w+)", line)
    return named.group(1) if named else "other"


def _count_jvms(jvms: dict[int, str], over: threading.Event) -> None:
    while not over.wait(_LOOK_SECONDS):
        for pid, _ in _family(os.getpid()):
            if pid not in jvms and (kind := _kind_of_jvm(pid)):
                jvms[pid] = kind


def _run(arguments: list[str], costs: Path) -> int:
    """Pytest's exit code, after all that it left behind and that has ended was counted."""
    ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
    command = [sys.executable, "-m", "pytest", "-p", "tests.suite.measure", *arguments]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal tells pytest too, which ends in good order
    child = Popen(command, env={**os.environ, _COSTS_ENV: str(costs)}, preexec_fn=_interruptible)  # noqa: PLW1509
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    code: int | None = None
    while code is None:
        pid, status = os.wait()
        if pid == child.pid:
            code = child.returncode = os.waitstatus_to_exitcode(status)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    return code


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _summary(found: Mapping[str, Any], jvms: Mapping[int, str], wall: float) -> dict[str, Any]:
    usage = getrusage(RUSAGE_CHILDREN)
    tests: dict[str, dict[str, Any]] = found["tests"]
    slow = sorted(((name, cost) for name, cost in tests.items() if cost["seconds"] > SLOW_SECONDS), key=_longest)
    starts = sorted((start for start in found["starts"] if start[1] > _START_SECONDS), key=lambda start: -start[1])
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cores": len(os.sched_getaffinity(0)),
        "wall_seconds": round(wall),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime),
        "tests": len(tests),
        "jvms": dict(sorted(Counter(jvms.values()).items())),
        "clusters": dict(sorted(found["clusters"].items())),
        "slow": [[name, round(cost["seconds"]), round(cost["cpu"]), cost["why"]] for name, cost in slow],
        "starts": [[name, round(seconds), round(cpu), says] for name, seconds, cpu, says in starts],
    }


def _longest(test: tuple[str, Mapping[str, Any]]) -> float:
    return -float(test[1]["seconds"])


def main(arguments: list[str]) -> int:
    """Runs pytest and writes the record of its size.

    Returns:
        pytest's exit code; 1 where a slow test of an ordinary size does not say why.
    """
    costs, jvms, over = sizes.RECORD.with_suffix(".tmp"), dict[int, str](), threading.Event()
    watching = threading.Thread(target=_count_jvms, args=(jvms, over), daemon=True)
    watching.start()
    loops, begun = [python_loop()], time.monotonic()
    try:
        code = _run(arguments, costs)
    finally:
        over.set()
        watching.join()
    if not costs.exists():
        return code or 1
    found = json.loads(costs.read_text(encoding="utf-8"))
    costs.unlink()
    if not found["whole"] or code != pytest.ExitCode.OK:
        sys.stderr.write("tests failed, or this was not a whole size of the suite: nothing is recorded\n")
        return code
    wall = time.monotonic() - begun
    loops.append(python_loop())
    record = _summary(found, jvms, wall) | {"loop_seconds": [round(loop, 2) for loop in loops]}
    if found["size"] == "ordinary":
        record["costly"] = sorted(name for name, cost in found["tests"].items() if cost["cpu"] > _COSTLY_CPU_SECONDS)
    known = json.loads(sizes.RECORD.read_text(encoding="utf-8")) if sizes.RECORD.exists() else {}
    known[found["size"]] = record
    sizes.RECORD.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    silent = [one for one in record["slow"] if not one[3]] if sizes.SIZES[found["size"]].more else []
    for name, seconds, *_ in silent:
        sys.stderr.write(f"{name} took {seconds} s: mark it slow(why), or long\n")
    return code or (1 if silent else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
