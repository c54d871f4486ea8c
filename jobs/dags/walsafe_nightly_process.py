"""Runs one walsafe job as a child process and reads its result.

It uses only the standard library: the file is beside the DAG in Airflow's environment, where walsafe is not installed.
"""

import json
import logging
import os
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_LAST_LINES = 5


@dataclass(frozen=True)
class ProcessResult:
    """The result of a job that ended.

    Attributes:
        exit_code: of the process; 128 + n after signal n.
        result: the object of `--result`; None if the job wrote none.
        text: its standard output.
        last_words: the last lines of its standard error.
    """

    exit_code: int
    result: Mapping[str, Any] | None
    text: str
    last_words: str


def run_job(
    walsafe: str,
    command: Sequence[str],
    result_file: str,
    environment: Mapping[str, str],
    log: logging.Logger,
    *,
    output: str = "json",
) -> ProcessResult:
    """Runs `spark-submit.sh` and waits for it.

    The child stays in the process group of the task, so that Airflow's signals reach it: an interrupted clean first
    finishes its batch.

    Args:
        walsafe: the folder of `spark-submit.sh`.
        command: the job and its options.
        result_file: a local file; an older one is removed first, so that only this run's result is read.
        environment: variables in addition to those of this process.
        log: receives every line of standard error as it arrives, and standard output at the end.
        output: `json`, or `text` for a person.

    Raises:
        OSError: `spark-submit.sh` cannot be started, or the folder of `result_file` cannot be written.
    """
    result = Path(result_file)
    result.parent.mkdir(parents=True, exist_ok=True)
    result.unlink(missing_ok=True)
    full = [str(Path(walsafe, "spark-submit.sh")), *command, "--output", output, "--result", str(result)]
    log.info("running: %s", " ".join(full))
    together = {**os.environ, **environment}
    with subprocess.Popen(  # noqa: S603 - built from the configuration, and no shell sees it
        full,
        env=together,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        words: deque[str] = deque(maxlen=_LAST_LINES)
        reader = threading.Thread(target=_follow, args=(process.stderr, words, log), daemon=True)
        reader.start()
        text = process.stdout.read().decode("utf-8", "replace") if process.stdout else ""
        code = process.wait()
        reader.join()
    if text.strip():
        log.info("it says:\n%s", text.rstrip("\n"))
    return ProcessResult(code if code >= 0 else 128 - code, read_result(result_file), text, "\n".join(words))


def read_result(result_file: str) -> Mapping[str, Any] | None:
    """Returns the result object of a job that ended; None if there is none or it cannot be read."""
    try:
        found = json.loads(Path(result_file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _follow(stream: IO[bytes] | None, words: deque[str], log: logging.Logger) -> None:
    for line in stream or ():
        said = line.decode("utf-8", "replace").rstrip("\n")
        words.append(said)
        log.info("%s", said)
