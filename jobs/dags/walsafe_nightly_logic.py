"""Commands of the nightly DAG, and the meaning of their exit codes and results.

It uses only the standard library: the file is beside the DAG in Airflow's environment, where walsafe is not installed.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobs.dags.walsafe_nightly_config import Nightly, NightlyCluster

DONE, USAGE, REFUSED, UNAVAILABLE, DONE_WITH_REFUSALS = 0, 2, 3, 4, 5
LIST_ALREADY_CLEANED, SNAPSHOT_EXISTS = "LIST_ALREADY_CLEANED", "SNAPSHOT_EXISTS"
"""Names of conditions (docs/conditions.md); what a job says in words may change."""
APPROVE, REJECT = "Approve", "Reject"


class NextStep(Enum):
    """What the DAG does after an exit code."""

    GO_ON = "go on"
    RETRY = "retry"
    STOP = "stop"


# ---- names and commands of a night


def night_id(at: datetime) -> str:
    """Returns the run_id of a logical date: the same date gives the same lists, snapshots and quarantine."""
    return at.astimezone(timezone.utc).strftime("%Y%m%dT%H%M%SZ")


def snapshot_of(nightly: "Nightly", cluster: str, run_id: str) -> str:
    """Returns the URI of a night's snapshot of a cluster."""
    return f"{nightly.snapshots}/{cluster}/{run_id}"


def result_file(nightly: "Nightly", run_id: str, name: str) -> str:
    """Returns the local path of the result object of one job of a night."""
    return f"{nightly.results}/{run_id}/{name}.json"


def capture_command(nightly: "Nightly", cluster: str, run_id: str) -> list[str]:
    """Returns the `capture` command of one cluster."""
    return ["capture", "--config", nightly.cluster(cluster).config, "--out", snapshot_of(nightly, cluster, run_id)]


def reconcile_command(nightly: "Nightly", clusters: Sequence[str], run_id: str) -> list[str]:
    """Returns the `reconcile` command of clusters that are decided together."""
    config = nightly.fleet_config or nightly.cluster(clusters[0]).config
    command = ["reconcile", "--snapshot", *(snapshot_of(nightly, one, run_id) for one in clusters)]
    command += ["--lake", nightly.lake, "--lists", nightly.lists, "--config", config, "--run-id", run_id]
    command += ["--reports", nightly.reports] if nightly.reports else []
    command += ["--metrics", nightly.metrics] if nightly.metrics else []
    return command


def clean_command(nightly: "Nightly", cluster: str, run_id: str, how: str | None = None) -> list[str]:
    """Returns the `clean` command of a cluster's list: a rehearsal, unless `how` is `--execute` or `--resume`."""
    settings = nightly.cluster(cluster)
    command = ["clean", "--cluster", cluster, "--lists", nightly.lists, "--run-id", run_id, "--lake", nightly.lake]
    command += ["--config", settings.config]
    command += [] if settings.max_files is None else ["--max-files", str(settings.max_files)]
    command += [] if settings.max_bytes is None else ["--max-bytes", str(settings.max_bytes)]
    return command + ([how] if how else [])


def purge_command(nightly: "Nightly", cluster: str) -> list[str]:
    """Returns the `purge` command for every run of a cluster whose grace is over; it never shortens the grace."""
    config = nightly.cluster(cluster).config
    return ["purge", "--cluster", cluster, "--lake", nightly.lake, "--config", config, "--execute"]


def maintain_command(nightly: "Nightly") -> list[str]:
    """Returns the `maintain` command of the common lake."""
    return ["maintain", "--lake", nightly.lake, "--config", nightly.maintain_config, "--execute"]


# ---- exit codes and results


def decide(job: str, exit_code: int) -> NextStep:
    """Returns what to do after an exit code: only 4 is retried, and 5 only continues after reconcile."""
    if exit_code == DONE or (job == "reconcile" and exit_code == DONE_WITH_REFUSALS):
        return NextStep.GO_ON
    return NextStep.RETRY if exit_code == UNAVAILABLE else NextStep.STOP


def error_of(result: Mapping[str, Any] | None) -> str:
    """Returns the error message of a failed job; '' if it left none."""
    error = (result or {}).get("error") or {}
    return str(error.get("message") or "")


def condition_of(result: Mapping[str, Any] | None) -> str:
    """Returns the name of the condition that a job failed with; '' if it left none."""
    error = (result or {}).get("error") or {}
    return str(error.get("condition") or "")


def already_captured(exit_code: int, result: Mapping[str, Any] | None) -> bool:
    """Tell whether capture failed only because this night's snapshot exists; a snapshot is written atomically."""
    return exit_code == USAGE and condition_of(result) == SNAPSHOT_EXISTS


def cleaned_before(exit_code: int, result: Mapping[str, Any] | None) -> bool:
    """Tell whether clean refused only because of an earlier attempt, which `--resume` continues."""
    return exit_code == REFUSED and condition_of(result) == LIST_ALREADY_CLEANED


def why_paused(result: Mapping[str, Any] | None) -> str:
    """Returns why a finding pauses the clean-up, according to the rehearsal; '' if none does."""
    paused = (result or {}).get("paused") or {}
    return str(paused.get("text") or "")


def verdicts(result: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Returns the outcome of reconcile per cluster: status, reason, URI of its list, number of deletable files."""
    return {
        str(one["cluster"]): {
            "status": one.get("status"),
            "reason": one.get("reason"),
            "list_uri": one.get("list_uri"),
            "deletable_files": one.get("deletable_files"),
        }
        for one in (result or {}).get("clusters", ())
    }


def why_not_passed(verdict: Mapping[str, Any] | None) -> str | None:
    """Returns why a cluster is left out of the rest of the night; None = it passed."""
    if verdict is None:
        return "it was not captured, or not decided: see tasks capture and reconcile"
    if verdict.get("status") != "DONE":
        return f"{str(verdict.get('status')).lower()}: {verdict.get('reason') or 'see the table runs'}"
    return None


def is_finished(result: Mapping[str, Any] | None, cluster: "NightlyCluster") -> bool:
    """Tell whether an earlier clean of this date is complete: it moved every file, or reached one of the limits."""
    if result is None or result.get("exit_code") != DONE or not result.get("executed"):
        return False
    if result.get("status") == "DONE":
        return True
    at_limit = [
        (cluster.max_files, result.get("done_files", 0)),
        (cluster.max_bytes, result.get("done_bytes", 0)),
    ]
    return result.get("status") == "STOPPED" and any(most is not None and done >= most for most, done in at_limit)


def is_approved(approval: Mapping[str, Any]) -> bool:
    """Tell whether the answer is exactly `Approve`."""
    return list(approval.get("chosen_options") or ()) == [APPROVE]
