"""One walsafe job of the nightly DAG: runs it apart from the Airflow task that started it, and reads its answer.

No worker slot is held: `start` starts this file as a process of its own, which runs the job, keeps its log, and ends it
on demand or at its time-out. Everything goes through files in one folder, so the task, the triggerer and the job may be
on different machines that share the folder. It uses only the standard library.

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
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PULSE, STOP, LOG, RESULT, ENDED = "pulse", "stop", "job.log", "result.json", "ended.json"
STOPPED, TIMED_OUT, LOST = "stopped", "timed out", "lost"
APPROVE, REJECT = "Approve", "Reject"
DONE, UNAVAILABLE, NEW_ERROR = 0, 4, 5
_LAST_LINES = 5
_TICK_S = 1.0
_AGAIN_S = 30.0


def program(walsafe: Path) -> str:
    """Returns what starts a job: the `spark-submit.sh` of a clone, or the command of an installed wheel as it is."""
    return str(walsafe / "spark-submit.sh" if walsafe.is_dir() else walsafe)


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
    runner = [sys.executable, str(Path(__file__).resolve()), str(folder), str(timeout_s), str(patience_s)]
    try:
        (folder / PULSE).write_text("0", encoding="utf-8")
        with (folder / LOG).open("wb") as log:
            subprocess.Popen(  # noqa: S603 - built from the configuration, and no shell sees it
                [*runner, *command, "--result", str(folder / RESULT)],
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError:
        (folder / PULSE).unlink(missing_ok=True)  # else the next attempt would wait for a job that never was
        raise


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
    # if a script started the worker in the background, SIGINT is ignored here, and a wrapper script around the job
    # would inherit this and could not be stopped
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began, asked, why, ticks = time.monotonic(), None, None, 0
    try:
        child = subprocess.Popen(command)  # noqa: S603 - from `start`
        code = child.poll()
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error}\n")
        child, code = None, 127
    while child is not None and code is None:
        now, ticks = time.monotonic(), ticks + 1
        with suppress(OSError):  # a full or absent disk is no reason to leave the job
            (folder / PULSE).write_text(str(ticks), encoding="utf-8")
        with suppress(OSError):
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
    code = 128 - code if code is not None and code < 0 else code
    new = folder / f"{ENDED}.new"
    new.write_text(json.dumps({"exit_code": code, "why": why}), encoding="utf-8")
    new.replace(folder / ENDED)


# ---- what its answer means


def night_id(at: datetime) -> str:
    """Returns the run_id of a logical date: the same date gives the same lists, snapshots and quarantine."""
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def reason(result: Mapping[str, Any], log: Sequence[str]) -> str:
    """Returns why a part of a night failed, as its alerts say it, else the end of its log."""
    said = [one["summary"] for one in result.get("alerts") or () if one["name"] in ("REFUSED", "FAILED")]
    error = result.get("error")  # it failed before its first job
    return "; ".join([error["message"]] if error else said) or "\n".join(log[-_LAST_LINES:]) or "it said nothing"


def another_cluster(result: Mapping[str, Any], cluster: str) -> str:
    """Returns what to say if the result is of another cluster than the DAG's configuration names; '' if it is not."""
    found = result.get("cluster", cluster)
    return "" if found == cluster else f"is of cluster {found}, not {cluster}: correct 'clusters' in the configuration"


def decision(result: Mapping[str, Any], report_url: str | None) -> dict[str, Any]:
    """Returns what the tasks after the part `decide` need of its result.

    Args:
        result: of a part that ended with 0 or 5.
        report_url: where browsers find the folder of the pages; None = the address that reconcile tells.
    """
    jobs = {one["job"]: one for one in result.get("jobs") or ()}
    cluster: Mapping[str, Any] = next(iter(jobs.get("reconcile", {}).get("clusters") or ()), {})
    clean = jobs.get("clean", {})
    return {
        "files": clean.get("done_files", 0),
        "list_sha256": clean.get("list_sha256"),
        "automatic": bool(result.get("approved")),
        "text": f"```\n{str(clean.get('text') or '').rstrip()}\n```",
        "new_errors": [
            f"{one['code']} {one['key']}: {one['summary']} {one['remedy']}"
            for one in result.get("alerts") or ()
            if one["name"] == "NEW_ERROR"
        ],
        "page": page(cluster.get("report_uri"), report_url),
    }


def page(report_uri: str | None, report_url: str | None) -> str:
    """Returns the address of a page: the last two names of its URI (cluster and file) below the URL."""
    if report_uri is None or report_url is None:
        return report_uri or ""
    return "/".join([report_url.rstrip("/"), *report_uri.split("/")[-2:]])


def why_nobody_is_asked(decided: Mapping[str, Any], *, rehearse_only: bool) -> str:
    """Returns why the approval is skipped; '' if a person is asked."""
    if rehearse_only:
        return "rehearse_only: nothing is moved, whoever would approve it"
    if not decided.get("files"):
        return "there is nothing to clean"
    return "night.approval is automatic in the configuration of the cluster" if decided["automatic"] else ""


def approved_list(answer: Mapping[str, Any] | None, shown: str | None, decided: Mapping[str, Any]) -> str | None:
    """Returns the digest of the list that may be cleaned; None = none.

    Args:
        answer: of the approval; None if it was skipped.
        shown: the digest of the list that the person was shown.
        decided: what `decision` returned.
    """
    if not decided.get("files"):
        return None
    if decided["automatic"]:
        return str(decided["list_sha256"])
    return shown if answer is not None and list(answer.get("chosen_options") or ()) == [APPROVE] else None


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
