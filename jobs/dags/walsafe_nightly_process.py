"""Runs one walsafe job apart from the Airflow task that started it, so that no worker slot is held.

`start` starts this file as a process of its own, which runs the job, keeps its log, and ends it on demand or at its
time-out. Everything goes through files in one folder, so the task, the triggerer and the job may be on different
machines that share the folder. It uses only the standard library.

    pulse      changes every second while the job runs
    stop       whoever creates it asks the job to end
    job.log    what the job writes
    result.json
    ended.json {"exit_code": n, "why": null | "stopped" | "timed out"}, the last file to appear
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PULSE, STOP, LOG, RESULT, ENDED = "pulse", "stop", "job.log", "result.json", "ended.json"
STOPPED, TIMED_OUT, LOST = "stopped", "timed out", "lost"
_TICK_S = 1.0
_AGAIN_S = 30.0


def is_running(folder: Path) -> bool:
    """Tell whether a job was started in the folder and has not ended; it may also have died without a word."""
    return (folder / PULSE).exists() and not (folder / ENDED).exists()


def start(
    folder: Path,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    timeout_s: float,
    patience_s: float,
) -> None:
    """Starts a job and returns at once; files of an earlier job in the folder are removed.

    Args:
        folder: of this job.
        command: the program and its arguments; `--result` is added.
        environment: variables in addition to those of this process.
        timeout_s: s after which the job is ended.
        patience_s: s that a job has for ending after its current batch; 0 = it is ended at once.

    Raises:
        OSError: the folder cannot be written, or the process cannot be started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in (ENDED, STOP, RESULT, PULSE):
        (folder / name).unlink(missing_ok=True)
    (folder / PULSE).write_text("0", encoding="utf-8")
    runner = [sys.executable, str(Path(__file__).resolve()), str(folder), str(timeout_s), str(patience_s)]
    with (folder / LOG).open("wb") as log:
        subprocess.Popen(  # noqa: S603 - built from the configuration, and no shell sees it
            [*runner, *command, "--result", str(folder / RESULT)],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def ask_to_stop(folder: Path) -> None:
    """Asks the job of the folder to end; does nothing if none runs there."""
    if is_running(folder):
        (folder / STOP).touch()


def pulse(folder: Path) -> str:
    """Returns a text that changes while the job runs."""
    return _read(folder / PULSE)


def ended(folder: Path) -> dict[str, Any] | None:
    """Returns how the job ended; None while it runs."""
    return _object(folder / ENDED)


def result(folder: Path) -> dict[str, Any]:
    """Returns the result object of a job that ended; empty if it left none."""
    return _object(folder / RESULT) or {}


def log_lines(folder: Path) -> list[str]:
    """Returns what the job wrote."""
    return _read(folder / LOG).splitlines()


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _object(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(_read(file))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def main(folder: Path, timeout_s: float, patience_s: float, command: Sequence[str]) -> None:
    """Runs the job until it ends, or ends it."""
    began, asked, why, ticks = time.monotonic(), None, None, 0
    try:
        child = subprocess.Popen(command)  # noqa: S603 - from `start`
        code = child.poll()
        while code is None:
            now, ticks = time.monotonic(), ticks + 1
            (folder / PULSE).write_text(str(ticks), encoding="utf-8")
            why = why or (TIMED_OUT if now - began > timeout_s else STOPPED if (folder / STOP).exists() else None)
            if why and asked is None:
                asked = now
                child.send_signal(signal.SIGINT if patience_s else signal.SIGTERM)
            elif asked is not None and now - asked > max(patience_s, _AGAIN_S):
                asked = now
                child.send_signal(signal.SIGTERM)
            try:
                code = child.wait(_TICK_S)
            except subprocess.TimeoutExpired:
                code = None
        code = code if code >= 0 else 128 - code
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error}\n")
        code = 127
    new = folder / f"{ENDED}.new"
    new.write_text(json.dumps({"exit_code": code, "why": why}), encoding="utf-8")
    new.replace(folder / ENDED)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
