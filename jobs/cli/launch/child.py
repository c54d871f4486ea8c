"""Runs spark-submit as a child: its environment, its output without the known noise, and signals passed on."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import IO, cast

from jobs.cli import log
from jobs.cli.launch.places import PROJECT
from jobs.cli.launch.submit import SubmitSettings

# What the JVM and Spark print at every start, before any logging configuration applies.
_NOISE = re.compile(
    rb"WARNING: (?:Using incubator modules: jdk\.incubator\.vector"
    rb"|package sun\.security\.action not in java\.base"
    rb"|(?:A|Use|Please|sun\.misc\.Unsafe|A terminally).*(?:sun\.misc\.Unsafe|restricted method|native access).*)\s*$"
    rb"|1 compiler directives added\s*$"
    rb"|Picked up (?:JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS):"
)


# a bar of `pipelines.common.progress` is a line that begins with a carriage return
_LINE_ENDS = re.compile(rb"(?<=\n)|(?=\r)")
_CHUNK = 65_536
_TO_TELL_S = 30
# spark-submit would read them where no property is given, and `read_settings` does not
_UNKNOWN_TO_SETTINGS = ("MASTER", "DEPLOY_MODE")


def child_environment(
    environ: Mapping[str, str], settings: SubmitSettings, spark_home: Path, java: Path
) -> dict[str, str]:
    """Returns the environment of spark-submit; variables that the user has set are kept, but for `MASTER` and the like.

    Args:
        environ: of this process.
        settings: of this submission.
        spark_home: the Spark that runs the job.
        java: the java command.
    """
    environment = {name: value for name, value in environ.items() if name not in _UNKNOWN_TO_SETTINGS}
    environment["SPARK_HOME"] = str(spark_home)
    environment.setdefault("JAVA_HOME", str(java.resolve().parent.parent))
    environment.setdefault("LOG4J_CONFIGURATION_FILE", str(PROJECT / "conf" / "log4j2.properties"))
    environment.setdefault("PYTHONUTF8", "1")
    locale = next(filter(None, map(environment.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "C")
    if locale in ("C", "POSIX"):
        environment["LC_ALL"] = "C.UTF-8"  # as under cron, Java 17 cannot name a file with an umlaut without it
    # the small JVM that builds Spark's command else opens some two hundred jars to find its class (measured: 0.3 s)
    launcher = next((spark_home / "jars").glob("spark-launcher_*.jar"), None)
    if launcher is not None and " " not in str(launcher):
        environment.setdefault("SPARK_LAUNCHER_OPTS", f"-Xbootclasspath/a:{launcher}")
    if settings.local:
        environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return environment


def run_child(command: Sequence[str], environment: Mapping[str, str], stop: Path | None = None) -> int:
    """Runs spark-submit, copies its output without noise to standard error, and forwards signals to it.

    Args:
        command: the spark-submit command.
        environment: its whole environment.
        stop: a file that the first Ctrl-C creates instead of a signal, for a job that ends after its current batch. A
            second Ctrl-C is passed on, and the first one, too, if the file cannot be created.

    The child runs in a session of its own: a terminal would else signal the JVM in the middle of a batch, and a signal
    to spark-submit alone would leave the Python driver running. Whoever calls this may start the job again when it has
    returned, so nothing of the child is left then.

    Returns:
        The exit code; 128 + the number of the signal that killed it.
    """
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def forward(number: int, _frame: FrameType | None) -> None:
        if child is None:
            early.append(number)
        elif stop is not None and number == signal.SIGINT and _creates(stop):
            # in a thread, because the signal may have come in the middle of a write to standard error
            Thread(
                target=log.say, args=["walsafe: stopping after this batch or job; Ctrl-C again ends at once"]
            ).start()
        else:
            with suppress(ProcessLookupError):  # it has just ended
                os.killpg(child.pid, number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # by nohup: the job is to outlive its terminal
        numbers.append(signal.SIGHUP)
    previous = {number: signal.signal(number, forward) for number in numbers}
    try:
        child = subprocess.Popen(
            command,
            env=dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        for number in early:
            forward(number, None)
        if child.stdout is not None:
            as_json = environment.get(log.LOG_FORMAT_ENV) == log.JSON
            written_as = log.JsonLines() if as_json else None
            with child.stdout as output:
                copy_without_noise(cast("BufferedReader", output), sys.stderr.buffer, written_as)
        code = child.wait()
        _end_rest(child.pid)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _creates(file: Path) -> bool:
    """Creates a file; returns False if it was there before, or cannot be created."""
    try:
        file.touch(exist_ok=False)
    except OSError:
        return False
    return True


def _end_rest(group: int) -> None:
    """Ends what a JVM that was killed has left of its process group: its Python, which may first tell why it failed."""
    with suppress(ProcessLookupError):  # there is nothing left
        until = time.monotonic() + _TO_TELL_S
        while time.monotonic() < until:
            os.killpg(group, 0)
            time.sleep(0.1)
        os.killpg(group, signal.SIGTERM)


def copy_without_noise(
    source: BufferedReader, target: IO[bytes], written_as: Callable[[bytes], bytes] | None = None
) -> None:
    """Copies lines, without the known noise of the JVM and Spark; bars at once. `written_as` changes each line.

    What the target does not take (a full disk, a `tee` that ended) is lost, but the source is read to its end: the job
    would else wait or fail at a full pipe, and its launcher must live as long as the job.
    """
    rest = b""
    while chunk := source.read1(_CHUNK):
        *lines, rest = _LINE_ENDS.split(rest + chunk)
        if rest.startswith(b"\r"):
            lines, rest = [*lines, rest], b""
        _write(target, [written_as(line) if written_as else line for line in lines if not _NOISE.match(line)])
    _write(target, [written_as(rest) if written_as and rest else rest])


def _write(target: IO[bytes], lines: Sequence[bytes]) -> None:
    with suppress(OSError):
        target.writelines(lines)
        target.flush()
