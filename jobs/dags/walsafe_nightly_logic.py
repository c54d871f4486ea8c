"""What the answers of `night` mean for the DAG, and which Airflow it fits.

It uses only the standard library: the file is beside the DAG in Airflow's environment, where walsafe is not installed.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

APPROVE, REJECT = "Approve", "Reject"
DONE, UNAVAILABLE, NEW_ERROR = 0, 4, 5
LOWEST, BELOW = (3, 3), (4,)
_LAST_LINES = 5


def refuse_unfit(version: str) -> None:
    """Refuses an Airflow that this DAG does not fit.

    Raises:
        RuntimeError: in one sentence, which Airflow it fits.
    """
    found = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if not LOWEST <= found < BELOW:
        raise RuntimeError(f"walsafe_nightly fits Airflow 3.3 and later 3.x, and this is Airflow {version}")


def night_id(at: datetime) -> str:
    """Returns the run_id of a logical date: the same date gives the same lists, snapshots and quarantine."""
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def reason(result: Mapping[str, Any], log: Sequence[str]) -> str:
    """Returns why a part of a night failed, as its last job says it, else the end of its log."""
    last = (list(result.get("jobs") or ()) or [{}])[-1]
    refused = [f"{one.get('cluster')}: {one['reason']}" for one in last.get("clusters") or () if one.get("reason")]
    said = [
        (result.get("error") or {}).get("message"),
        result.get("why"),
        (last.get("paused") or {}).get("text"),
        (last.get("error") or {}).get("message"),
        *refused,
    ]
    return "; ".join(filter(None, said)) or "\n".join(log[-_LAST_LINES:]) or "it said nothing"


def decision(result: Mapping[str, Any], report_url: str | None) -> dict[str, Any]:
    """Returns what the tasks after the part `decide` need of its result.

    Args:
        result: of a part that ended with 0 or 5.
        report_url: where browsers find the folder of the pages; None = the address that reconcile tells.
    """
    jobs = {one["job"]: one for one in result.get("jobs") or ()}
    cluster: Mapping[str, Any] = next(iter(jobs.get("reconcile", {}).get("clusters") or ()), {})
    clean, name, run_id = jobs.get("clean", {}), result.get("cluster"), result.get("run_id")
    return {
        "files": clean.get("done_files", 0),
        "list_sha256": clean.get("list_sha256"),
        "automatic": bool(result.get("approved")),
        "subject": f"Clean up oldWALs of {name}, night {run_id}?",
        "body": f"```\n{str(clean.get('text') or '').rstrip()}\n```",
        "new_errors": [
            f"{one['code']} {one['key']}: {one['message']} {one['remedy']}"
            for one in cluster.get("findings") or ()
            if one["severity"] == "error" and one["is_new"] and not one["acknowledged"]
        ],
        "page": page(cluster.get("report_uri"), report_url),
    }


def page(report_uri: str | None, report_url: str | None) -> str:
    """Returns the address of a page: the last two names of its URI (cluster and file) below the URL."""
    if report_uri is None or report_url is None:
        return report_uri or ""
    return "/".join([report_url.rstrip("/"), *report_uri.split("/")[-2:]])


def summary(result: Mapping[str, Any]) -> str:
    """Returns in one line what the part `finish` moved."""
    clean = next((one for one in result.get("jobs") or () if one["job"] == "clean"), None)
    if clean is None:
        return "nothing was cleaned"
    return f"{clean.get('status')}: {clean.get('done_files')} files, {clean.get('done_bytes')} bytes"


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
