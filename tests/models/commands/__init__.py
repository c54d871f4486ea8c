"""Contains the commands of `./tests/run --search`, and the way from a command line to an exit code."""

import sys
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.cli.command_line import Invocation, invocation_of
from jobs.cli.context import JobContext
from jobs.cli.entry import run
from jobs.cli.registry import JobEntry
from pipelines.common.errors import EXIT_DONE, EXIT_USAGE
from tests.labs.spark.local_session import local_session

PROGRAM = "./tests/run --search"
COMMANDS: dict[str, JobEntry] = {
    "capture": JobEntry(
        "tests.models.commands.capture", "try to make the rule lose data: random histories of a model cluster, by seed"
    ),
    "split": JobEntry(
        "tests.models.commands.split",
        "make a model of Pegasus's partition split break: every failure, every order of events",
    ),
}


class LocalContext(JobContext):
    """The environment of a command: its session, if it needs one at all, is a local one."""

    _work: "tempfile.TemporaryDirectory[str] | None" = None

    @cached_property
    def spark(self) -> SparkSession:
        """Returns the session, which is built on first use."""
        self._work = tempfile.TemporaryDirectory(prefix="walsafe-models-")
        return local_session(Path(self._work.name))

    def close(self) -> None:
        """Stops the session if there is one."""
        super().close()
        if self._work is not None:
            self._work.cleanup()


def main(argv: Sequence[str], *, context: JobContext | None = None) -> int:
    """Runs one command.

    Args:
        argv: the command line behind `--search`.
        context: an environment to use instead of a local one.

    Returns:
        The exit code. Wrong usage and `--help` raise SystemExit, as in argparse.
    """
    invocation = parse(argv)
    return run(invocation, context or LocalContext(invocation.name))


def parse(argv: Sequence[str]) -> Invocation:
    """Validates a command line.

    Raises:
        SystemExit: 0 after `--help`, 2 after wrong usage; the message is already written.
    """
    name = argv[0] if argv else ""
    if name in {"-h", "--help", "help"}:
        sys.stdout.write(overview())
        raise SystemExit(EXIT_DONE)
    if name not in COMMANDS:
        problem = f"no such model: {name!r}" if name else "no model named"
        sys.stderr.write(f"{PROGRAM}: {problem}. Models: {', '.join(COMMANDS)}. {PROGRAM} --help explains them.\n")
        raise SystemExit(EXIT_USAGE)
    return invocation_of(PROGRAM, name, COMMANDS[name].load(), argv[1:])


def overview() -> str:
    """Returns the text of `--help` without a model."""
    width = max(map(len, COMMANDS))
    models = "\n".join(f"  {name:<{width}}  {entry.help}" for name, entry in COMMANDS.items())
    return (
        f"usage: {PROGRAM} MODEL [options]\n\n"
        "Searches a model for a history that breaks what walsafe promises. It is a tool of the tests: it needs no\n"
        "cluster, reads and writes no table, and uses all cores of this machine.\n\n"
        f"models:\n{models}\n\n"
        "begin with:\n"
        f"  {PROGRAM} capture --replay 7           # one history, a line for each step\n"
        f"  {PROGRAM} capture --seeds 20000        # many; none may lose data\n"
        f"  {PROGRAM} capture --seeds 1000 --mutant no-directories    # a weaker capture: this must exit with 3\n"
        f"  {PROGRAM} split --rows all             # every order of events with each failure of the table\n\n"
        f"Each one explains itself: {PROGRAM} MODEL --help. What was found: docs/proof.md, docs/split-model.md\n\n"
        "exit codes: 0 nothing breaks · 2 wrong usage · 3 something breaks · 4 unavailable\n"
    )
