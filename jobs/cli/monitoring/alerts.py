"""What a person should be told about the result of a job."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_DONE, EXIT_PARTIAL, EXIT_REFUSED

NIGHT = "night"
TELLING = frozenset({NIGHT, "capture", "reconcile", "clean", "purge"})
"""The jobs that tell a person; of `maintain` only `night` tells, and who asks another job reads its answer anyway."""

LISTS_OVER = {
    Condition.LIST_EXPIRED.name: "the list has expired",
    Condition.LIST_RESTORED_OR_PURGED.name: "files of the list were restored or purged already",
}
"""Why nothing more of a list is cleaned, by the condition of the refusal."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that needs a person.

    Attributes:
        name: NEW_ERROR, REFUSED, FAILED or APPROVAL_WAITS.
        job: which one had this result.
        cluster: name of the cluster; "" if the result names none.
        run_id: of the night; "" if the result names none.
        code: of the finding, or name of the condition; "" if there is none.
        key: of the finding; "" if there is none.
        summary: what has happened.
        remedy: what to do; "" if the summary says it.
    """

    name: str
    job: str
    cluster: str
    run_id: str
    code: str
    key: str
    summary: str
    remedy: str = ""


def alerts_of(job: str, exit_code: int, result: Mapping[str, object]) -> list[Alert]:
    """Returns what a result tells a person: new error findings, refusals, failures, and an approval that waits.

    Args:
        job: its name.
        exit_code: of the job.
        result: its JSON object.
    """
    if job == NIGHT:
        jobs = objects_of(result.get("jobs"))
        alerts = [alert for one in jobs for alert in _of_job(one, result)]
        # a job that fails need not end the night, and the night may end with another code than its last job
        causes = [one for one in jobs if one["exit_code"] == exit_code and not _needs_nobody(one)] or jobs[-1:]
        told = causes and all(_says_why(one, result) for one in causes)
        if exit_code not in (EXIT_DONE, EXIT_PARTIAL) and not told:
            name, error = "REFUSED" if exit_code == EXIT_REFUSED else "FAILED", result.get("error")
            why = error.get("message") if isinstance(error, Mapping) else result.get("why")
            alerts.append(_alert(name, NIGHT, result, f"the night ended with exit code {exit_code}: {why}"))
        return alerts
    return list(_of_job({"job": job, "exit_code": exit_code, **result}, result))


def _of_job(one: Mapping[str, object], around: Mapping[str, object]) -> Iterator[Alert]:
    job, code = str(one["job"]), one["exit_code"]
    for cluster in objects_of(one.get("clusters")):
        yield from _of_cluster(job, cluster)
    error = one.get("error")
    if isinstance(error, Mapping) and not _needs_nobody(one):
        if code == EXIT_REFUSED:
            yield _alert("REFUSED", job, around, f"{job}: {error.get('message')}", str(error.get("condition") or ""))
        elif "jobs" in around or (job, code) == ("purge", EXIT_PARTIAL):  # at a terminal a person reads what is wrong
            yield _alert("FAILED", job, around, f"{job}: {error.get('message')}", str(error.get("condition") or ""))
    elif code == EXIT_REFUSED and not objects_of(one.get("clusters")) and "jobs" not in around:
        yield _alert("REFUSED", job, around, f"{job} ended with exit code 3: {one.get('reason') or 'see its answer'}")
    paused = one.get("paused")
    if "jobs" in around and isinstance(paused, Mapping):  # clean and purge would refuse, whoever approves
        yield _alert("REFUSED", job, around, str(paused.get("text")), Condition.CLEANUP_PAUSED.name)
    elif "jobs" in around and one.get("status") == "REHEARSAL" and one.get("done_files") and not around.get("approved"):
        how = (
            "approve it in the scheduler"
            if around.get("part") == "decide"
            else f"start it with {one.get('option', '--execute')}"
        )
        yield _alert(
            "APPROVAL_WAITS", job, around, f"clean would move {one['done_files']} files; a person has to {how}"
        )


def _says_why(one: Mapping[str, object], around: Mapping[str, object]) -> bool:
    """Tells whether an alert of this job says why the night ended."""
    return any(alert.name not in ("NEW_ERROR", "APPROVAL_WAITS") for alert in _of_job(one, around))


def _needs_nobody(one: Mapping[str, object]) -> bool:
    """Tells whether a job failed only because a night was started again, which then goes on."""
    error = one.get("error")
    condition = error.get("condition") if isinstance(error, Mapping) else None
    rehearsal_of_old_list = condition in LISTS_OVER and one.get("executed") is False
    return condition == Condition.SNAPSHOT_EXISTS.name or rehearsal_of_old_list


def _of_cluster(job: str, cluster: Mapping[str, object]) -> Iterator[Alert]:
    status = cluster.get("status")
    if status in ("REFUSED", "FAILED"):
        yield _alert(
            str(status), job, cluster, f"reconcile: {cluster.get('reason')}", str(cluster.get("condition") or "")
        )
    for finding in objects_of(cluster.get("findings")):
        if finding.get("is_new") and finding.get("severity") == "error" and not finding.get("acknowledged"):
            yield Alert(
                "NEW_ERROR",
                job,
                str(cluster.get("cluster")),
                str(cluster.get("run_id") or ""),
                str(finding["code"]),
                str(finding["key"]),
                str(finding["message"]),
                str(finding["remedy"]),
            )


def _alert(name: str, job: str, around: Mapping[str, object], summary: str, code: str = "") -> Alert:
    return Alert(name, job, str(around.get("cluster") or ""), str(around.get("run_id") or ""), code, "", summary)


def objects_of(values: object) -> list[Mapping[str, Any]]:
    """Returns the objects of an array in a result; none if it is no array."""
    return [one for one in values if isinstance(one, Mapping)] if isinstance(values, Sequence) else []
