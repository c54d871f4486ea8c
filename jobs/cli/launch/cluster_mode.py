"""Runs a driver on the cluster, and reads the result that it left for this machine."""

import json
import logging
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.cli import log
from jobs.cli.command_line import Invocation
from jobs.cli.context import JobContext
from jobs.cli.launch.child import run_child
from jobs.cli.result_file import write_answer, write_result
from pipelines.common.errors import EXIT_DONE, UnavailableError

_STOPPED = tuple(128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM))
_ASK_YARN = "the driver's log tells what it did, for YARN: yarn logs -applicationId <the id above>"


@dataclass(frozen=True)
class HadoopShell:
    """Hadoop's shell with Spark's class path."""

    spark_home: Path
    environment: Mapping[str, str]

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs one command and waits for its end."""
        command = [str(self.spark_home / "bin" / "spark-class"), "org.apache.hadoop.fs.FsShell", *arguments]
        return subprocess.run(command, env=dict(self.environment), capture_output=True, text=True, check=False)


def in_cluster(
    command: Sequence[str], environment: Mapping[str, str], shell: HadoopShell, result: str, invocation: Invocation
) -> int:
    """Runs the driver on the cluster and reads its result file; spark-submit only reports success or failure.

    Args:
        command: of spark-submit.
        environment: of spark-submit.
        shell: reads and removes the result.
        result: where the driver writes it, on a file system that both reach; removed afterwards, unless it is the file
            of `--result`.
        invocation: a `--result` on this machine is written here. An older file of one elsewhere is removed first, so
            that nobody takes it for the answer of this run.

    Returns:
        The exit code of the job; that of spark-submit if it was stopped and there is no result.

    Raises:
        UnavailableError: there is no result, it cannot be read, or spark-submit failed although it says success; the
            job may have done its work. Or an older result cannot be removed; then nothing was started.
    """
    wanted = invocation.args.result
    if result == wanted:
        removed = shell("-rm", "-f", "-skipTrash", result)
        if removed.returncode != 0:
            raise UnavailableError(
                f"an older result at {result} cannot be removed: {_cause(removed)}; the job was not started"
            )
    submitted = run_child(command, environment)
    try:
        text = _read(result, shell)
        document = json.loads(text)
        code = int(document["exit_code"])
    except (UnavailableError, ValueError, KeyError, TypeError) as error:
        if submitted in _STOPPED:  # a scheduler that repeats a job after a 4 would start a second application
            log.say(
                f"walsafe {invocation.name}: spark-submit was stopped, but the application may still be running. "
                "To end it on YARN: yarn application -kill <the id above>",
                logging.ERROR,
            )
            return submitted
        raise UnavailableError(
            f"the driver's result cannot be read at {result} (spark-submit ended with {submitted}): {error}; "
            f"{_ASK_YARN}"
        ) from None
    if code == EXIT_DONE and submitted != 0:  # Spark calls every other code a failure, but never this one
        raise UnavailableError(
            f"the driver's result at {result} says that the job is done, but spark-submit ended with {submitted}: the "
            f"driver may have been started again or ended afterwards; {_ASK_YARN}"
        )
    if result != wanted:
        if wanted is not None:
            try:
                write_result(wanted, text, JobContext(invocation.name))
            except UnavailableError as error:
                log.say(f"walsafe {invocation.name}: {error}", logging.ERROR)
                code = code or error.exit_code
        shell("-rm", "-f", "-skipTrash", result)
    indent = None if invocation.args.output == "json" else 2
    return write_answer(json.dumps(document, ensure_ascii=False, indent=indent) + "\n", code)


def _read(uri: str, shell: HadoopShell) -> str:
    """Returns the text of a file.

    Raises:
        UnavailableError: it could not be read.
    """
    done = shell("-cat", uri)
    if done.returncode != 0:
        raise UnavailableError(_cause(done))
    return done.stdout


def _cause(done: subprocess.CompletedProcess[str]) -> str:
    from pipelines.files.hadoop_jvm import lacks_ticket, no_ticket

    said = done.stderr.strip().splitlines() or ["no such file"]
    cause = next((line for line in said if "Exception" in line), said[-1])
    return no_ticket(cause) if lacks_ticket(cause) else cause
