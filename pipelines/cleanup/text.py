"""Formats the output of clean, restore and purge as text and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from pipelines.cleanup.deletions import CleanupTally, FileOutcome, FileResult
from pipelines.cleanup.request import CleanupPlace
from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_DONE, RefusedError
from pipelines.common.human import human_bytes
from pipelines.common.job_result import JobResult
from pipelines.reconcile.delete_list import list_sha256

if TYPE_CHECKING:
    from pipelines.cleanup.clean import CleanReport

SHOWN = 20
LATE_WAY_OUT = "Capture and reconcile again, and clean that list."


def clean_outcome(place: CleanupPlace, run_id: str, report: "CleanReport", *, executed: bool) -> JobResult:
    """Returns the answer of clean: exit code, JSON result and text."""
    tally = report.tally
    result: dict[str, object] = {
        "cluster": place.cluster,
        "run_id": run_id,
        "status": report.status,
        "executed": executed,
        "option": None if executed else option(report),
        "list_sha256": list_sha256(report.manifest),
        "reason": report.reason,
        "quarantine": report.quarantine,
        "settled_files": report.settled,
        **tally_object(tally),
        "left": [left_object(one) for one in report.left],
    }
    if report.late:
        message = f"{report.reason}; {tally.done_files:,} files were moved, the others stay. {LATE_WAY_OUT}"
        result["error"] = {
            "kind": RefusedError.__name__,
            "message": message,
            "condition": Condition.LIST_EXPIRED.name,
        }
    word = "Moved" if executed else "Would move"
    lines = [
        f"{word} {tally.done_files:,} of {report.manifest.files:,} listed files, {human_bytes(tally.done_bytes)}, to",
        f"  {report.quarantine}",
    ]
    if tally.gone_files:
        lines.append(
            f"{tally.gone_files:,} are gone already: not below oldWALs any more. Who removed them is not known; "
            "HBase's own cleaner does."
            if executed
            else f"{tally.gone_files:,} are not in the listing of the second look, so there would be nothing to move."
        )
    if report.unsettled:
        lines.append(
            f"{report.unsettled:,} files that an earlier job began have no outcome yet; --resume looks them up first, "
            "and these numbers may change."
        )
    if report.settled:
        lines.append(
            f"{report.settled:,} files that an earlier job had begun were looked up, and their outcomes were recorded."
        )
    lines += left_lines(report.left, tally.left_files)
    failed = report.failed if executed else 0
    if report.late:
        lines.append(f"Stopped: {report.reason}. The other files stay where they are. {LATE_WAY_OUT}")
    elif report.reason:
        way_on = "" if failed else f" Go on with {option(report)}." if executed else " The list has more files."
        lines.append(f"Stopped: {report.reason}.{way_on}")
    if failed and not report.late:
        way_on = (
            "restore with their paths, which ends the clean-up of this list; --resume cannot move them."
            if report.resting == report.failed
            else "solve this, then go on with --resume."
        )
        lines.append(f"{failed:,} files could not be moved; {way_on}")
    if not executed:
        lines.append(f"Nothing was touched: this was a rehearsal. Add {option(report)} to move them.")
    elif tally.done_files:
        lines.append(f"Undo with: restore --cluster {place.cluster} --run-id {run_id} …   Free the space with: purge")
    return JobResult(report.exit_code if executed else EXIT_DONE, result, "\n".join(lines))


def option(report: "CleanReport") -> str:
    """Returns the option of clean that moves the files that are left; a list is executed once, then resumed."""
    return "--resume" if report.begun else "--execute"


def tally_object(tally: CleanupTally) -> dict[str, object]:
    """Returns the sums for the JSON output."""
    return asdict(tally)


def left_object(result: FileResult) -> Mapping[str, object]:
    """Returns the JSON object of a file that was left."""
    return {
        "path": result.subject.path,
        "outcome": result.outcome.value,
        "why": result.why,
        "error": result.error,
    }


def left_lines(left: Sequence[FileResult], files: int) -> list[str]:
    """Returns lines about the files that were left; some of the files are named."""
    if not files:
        return []
    lines = [f"{files:,} files stay where they are:"]
    for one in left[:SHOWN]:
        error = f" ({one.error})" if one.error else ""
        lines.append(f"  {one.outcome.value:<8} {one.subject.path}: {one.why or 'not decided'}{error}")
    if files > SHOWN:
        more = f"  … and {files - min(SHOWN, len(left)):,} more: --output json names up to 100 files"
        lines.append(f"{more}; the table deletions has all, but not after a rehearsal")
    return lines


def count_failures(results: Sequence[FileResult]) -> int:
    """Returns the number of failed results."""
    return sum(one.outcome is FileOutcome.FAILED for one in results)
