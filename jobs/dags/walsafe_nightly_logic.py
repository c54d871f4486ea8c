"""What the nightly DAG runs, and what an answer means: names, commands, exit codes.

The standard library alone: this file lies beside the DAG in Airflow's own environment, where walsafe is not installed.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobs.dags.walsafe_nightly_config import Cluster, Nightly

DONE, USAGE, REFUSED, UNAVAILABLE, DONE_WITH_REFUSALS = 0, 2, 3, 4, 5
CLEANED_BEFORE = "was cleaned before"
SNAPSHOT_EXISTS = "exists already"
APPROVE, REJECT = "Approve", "Reject"


class Decision(Enum):
    """What follows an exit code."""

    GO_ON = "go on"
    RETRY = "retry"
    STOP = "stop"


# ---- names and commands of a night


def night_id(at: datetime) -> str:
    """The run_id of a logical date: the same date gives the same lists, snapshots and quarantine."""
    return at.astimezone(timezone.utc).strftime("%Y%m%dT%H%M%SZ")


def snapshot_of(nightly: "Nightly", cluster: str, run_id: str) -> str:
    """Where a night's snapshot of a cluster is."""
    return f"{nightly.snapshots}/{cluster}/{run_id}"


def result_file(nightly: "Nightly", run_id: str, name: str) -> str:
    """Where the result object of one job of a night is, on a local disk."""
    return f"{nightly.results}/{run_id}/{name}.json"


def capture_command(nightly: "Nightly", cluster: str, run_id: str) -> list[str]:
    """`capture` of one cluster."""
    return ["capture", "--config", nightly.cluster(cluster).config, "--out", snapshot_of(nightly, cluster, run_id)]


def reconcile_command(nightly: "Nightly", clusters: Sequence[str], run_id: str) -> list[str]:
    """`reconcile` of the captured clusters among those that are decided together."""
    config = nightly.fleet_config or nightly.cluster(clusters[0]).config
    command = ["reconcile", "--snapshot", *(snapshot_of(nightly, one, run_id) for one in clusters)]
    command += ["--lake", nightly.lake, "--lists", nightly.lists, "--config", config, "--run-id", run_id]
    command += ["--reports", nightly.reports] if nightly.reports else []
    command += ["--metrics", nightly.metrics] if nightly.metrics else []
    return command


def clean_command(nightly: "Nightly", cluster: str, run_id: str, how: str | None = None) -> list[str]:
    """`clean` of a cluster's list: a rehearsal, or with `how` = `--execute` or `--resume` the act."""
    settings = nightly.cluster(cluster)
    command = ["clean", "--cluster", cluster, "--lists", nightly.lists, "--run-id", run_id, "--lake", nightly.lake]
    command += ["--config", settings.config]
    command += [] if settings.max_files is None else ["--max-files", str(settings.max_files)]
    command += [] if settings.max_bytes is None else ["--max-bytes", str(settings.max_bytes)]
    return command + ([how] if how else [])


def purge_command(nightly: "Nightly", cluster: str) -> list[str]:
    """`purge` of every run of a cluster whose grace is over; the grace itself is never cut short here."""
    config = nightly.cluster(cluster).config
    return ["purge", "--cluster", cluster, "--lake", nightly.lake, "--config", config, "--execute"]


def maintain_command(nightly: "Nightly") -> list[str]:
    """`maintain` of the common lake."""
    return ["maintain", "--lake", nightly.lake, "--config", nightly.maintain_config, "--execute"]


# ---- what an answer means


def decide(job: str, exit_code: int) -> Decision:
    """What follows: only 4 is worth another try, and only reconcile's 5 is a night that goes on."""
    if exit_code == DONE or (job == "reconcile" and exit_code == DONE_WITH_REFUSALS):
        return Decision.GO_ON
    return Decision.RETRY if exit_code == UNAVAILABLE else Decision.STOP


def error_of(result: Mapping[str, Any] | None) -> str:
    """The sentence of a failed job, '' if it left none."""
    error = (result or {}).get("error") or {}
    return str(error.get("message") or "")


def already_captured(exit_code: int, result: Mapping[str, Any] | None) -> bool:
    """Whether capture only says that this night's snapshot stands, which appears whole or not at all."""
    return exit_code == USAGE and "--out" in error_of(result) and SNAPSHOT_EXISTS in error_of(result)


def cleaned_before(exit_code: int, result: Mapping[str, Any] | None) -> bool:
    """Whether clean refuses only because an attempt was made before, with which `--resume` goes on."""
    return exit_code == REFUSED and CLEANED_BEFORE in error_of(result)


def why_paused(result: Mapping[str, Any] | None) -> str:
    """What the rehearsal says of a finding that pauses the clean-up; '' if nothing does."""
    paused = (result or {}).get("paused") or {}
    return str(paused.get("text") or "")


def verdicts(result: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """What reconcile says of each cluster: status, reason, whether it has a list, how many files are on it."""
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
    """Why a cluster takes no further part in the night; None = it passed."""
    if verdict is None:
        return "it was not captured, or not decided: see tasks capture and reconcile"
    if verdict.get("status") != "DONE":
        return f"{str(verdict.get('status')).lower()}: {verdict.get('reason') or 'see the table runs'}"
    return None


def is_finished(result: Mapping[str, Any] | None, cluster: "Cluster") -> bool:
    """Whether an earlier clean of this date did all that it may: everything, or as much as the limits allow."""
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
    """Whether the answer is that one word and nothing else."""
    return list(approval.get("chosen_options") or ()) == [APPROVE]
