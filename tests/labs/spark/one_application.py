"""Runs the commands of walsafe one after the other in one application of Spark, submitted as an operator submits it.

Each command would otherwise start a JVM of its own.
"""

import io
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from tests.labs.places import PROJECT
from tests.labs.spark.submitter import clean_environment


@dataclass(frozen=True)
class Done:
    """A command that has ended: its exit code, and all that it printed."""

    exit_code: int
    text: str


class OneApplication:
    """The driver, in a process of its own."""

    def __init__(self, connection: "Connection[Any, Any]", process: int) -> None:
        self._connection = connection
        self._process = process

    def __call__(self, *words: str) -> Done:
        """Runs one command, such as `clean --execute …`; the driver's log says why it has died, if it has."""
        self._connection.send(words)
        return Done(*self._connection.recv())

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """Meanwhile the driver's Python process is stopped; its JVM goes on."""
        os.kill(self._process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process, signal.SIGCONT)


@contextmanager
def one_application(log: Path, options: Sequence[str], environment: Mapping[str, str]) -> Iterator[OneApplication]:
    """Starts an application; it ends with the block.

    Args:
        log: the file for the output of Spark.
        options: of spark-submit.
        environment: variables, in addition to those of this process.
    """
    submit = {"PYSPARK_SUBMIT_ARGS": shlex.join([*options, "pyspark-shell"]), "PYSPARK_PYTHON": sys.executable}
    ours, theirs = Pipe()
    with ours, log.open("w", encoding="utf-8") as output:
        with theirs:
            driver = subprocess.Popen(
                [sys.executable, "-m", "tests.labs.spark.one_application", str(theirs.fileno())],
                env={**clean_environment(), **submit, **environment},
                cwd=PROJECT,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno()],
            )
        try:
            yield OneApplication(ours, driver.pid)
        finally:
            ours.close()
            driver.wait()


def serve(connection: "Connection[Any, Any]") -> None:
    """Runs the commands that come, until the other end is closed."""
    context = JobContext("test")
    while True:
        try:
            words = connection.recv()
        except EOFError:
            break
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            code = main(words, context=JobContext(words[0], spark=context.spark))
        connection.send((code, said.getvalue()))
    context.close()


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
