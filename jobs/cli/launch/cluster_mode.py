"""Runs a driver on the cluster, and reads the result that it left for this machine."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.cli.command_line import Invocation
from jobs.cli.launch.child import run_child
from jobs.cli.result_file import local_path
from pipelines.common.errors import UnavailableError


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
        shell: reads the result, unless that is a file of this machine.
        result: where the driver writes it.
        invocation: without `--result`, the file is removed.

    Returns:
        The exit code of the job.

    Raises:
        UnavailableError: there is no result, or it cannot be read; the job may have done its work.
    """
    submitted = run_child(command, environment)
    try:
        document = json.loads(_read(result, shell))
        code = int(document["exit_code"])
    except (UnavailableError, ValueError, KeyError, TypeError) as error:
        raise UnavailableError(
            f"the driver's result cannot be read at {result} (spark-submit ended with {submitted}): {error}; the "
            "driver's log tells what it did, for YARN: yarn logs -applicationId <the id above>"
        ) from None
    if invocation.args.result is None:
        shell("-rm", "-f", "-skipTrash", result)
    indent = None if invocation.args.output == "json" else 2
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=indent) + "\n")
    return code


def _read(uri: str, shell: HadoopShell) -> str:
    """Returns the text of a file on any file system.

    Raises:
        UnavailableError: it could not be read.
    """
    path = local_path(uri) if "://" in uri or uri.startswith("file:") else Path(uri)
    if path is not None:
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            raise UnavailableError(str(error)) from None
    done = shell("-cat", uri)
    if done.returncode != 0:
        from pipelines.files.hadoop_jvm import lacks_ticket, no_ticket

        cause = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no such file"
        raise UnavailableError(no_ticket(cause) if lacks_ticket(cause) else cause)
    return done.stdout
