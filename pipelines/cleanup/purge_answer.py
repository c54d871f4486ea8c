"""Builds the answer of purge from the outcome of every run in the quarantine."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.cleanup.deletions import CleanupTally, FileResult
from pipelines.cleanup.request import CleanupPlace
from pipelines.cleanup.text import count_failures, left_lines, left_object, tally_object
from pipelines.common.errors import (
    EXIT_DONE,
    EXIT_PARTIAL,
    EXIT_REFUSED,
    EXIT_UNAVAILABLE,
    WalsafeError,
)
from pipelines.common.human import human_bytes
from pipelines.common.instants import HOUR_MS
from pipelines.common.job_result import JobResult
from pipelines.lake.run_summary import FAILED, REFUSED, STOPPED

WAITING, REHEARSAL, NOT_BEGUN = "WAITING", "REHEARSAL", "NOT_BEGUN"


@dataclass
class RunPurge:
    """The outcome of one quarantined run.

    Attributes:
        status: WAITING, REHEARSAL, DONE, STOPPED; REFUSED, FAILED or NOT_BEGUN with a `reason`.
        waits_ms: the remaining grace, in ms.
        unsettled: in a rehearsal, the number of files that an earlier job began and that have no outcome yet.
        reason: why the run was not purged, or not completely.
        error: the exception; None = there was none. NOT_BEGUN without one: a person asked for an end.
    """

    run_id: str
    status: str = REHEARSAL
    tally: CleanupTally = field(default_factory=CleanupTally)
    left: list[FileResult] = field(default_factory=list)
    waits_ms: int = 0
    unsettled: int = 0
    reason: str | None = None
    error: WalsafeError | None = None

    @property
    def exit_code(self) -> int:
        """Returns the exit code that the job would have if this were its only run."""
        if self.error is not None:
            return self.error.exit_code
        return EXIT_UNAVAILABLE if count_failures(self.left) else EXIT_DONE

    def ended(self, error: WalsafeError) -> None:
        """Records that the run was refused or failed; the tally says how far the purge of this run came."""
        self.status = REFUSED if error.exit_code == EXIT_REFUSED else FAILED
        self.reason, self.error = str(error), error

    def lines(self) -> list[str]:
        """Returns the lines of the run's text output."""
        if self.status == WAITING:
            size, hours = human_bytes(self.tally.left_bytes), self.waits_ms / HOUR_MS
            files = f"{self.run_id}: {self.tally.left_files:,} files, {size}, rest for another {hours:.1f} h "
            return [*self._unsettled(), f"{files}(--before-grace REASON frees them at once)"]
        lines = self._unsettled()
        if self.reason is not None:
            lines.append(f"{self.run_id}: {self.status}: {self.reason}")
        if self.reason is None or self.tally.files:
            word = "would be deleted; add --execute" if self.status == REHEARSAL else "deleted for good"
            size = human_bytes(self.tally.done_bytes)
            lines.append(f"{self.run_id}: {self.tally.done_files:,} files, {size}, {word}")
        if self.status == STOPPED:
            lines.append("Stopped because a person asked for it; the same command goes on.")
        return lines + left_lines(self.left, self.tally.left_files)

    def _unsettled(self) -> list[str]:
        if not self.unsettled:
            return []
        text = f"{self.run_id}: {self.unsettled:,} files that an earlier job began have no outcome yet; "
        return [f"{text}--execute looks them up first, and these numbers may change"]


def purge_outcome(place: CleanupPlace, runs: Sequence[RunPurge]) -> JobResult:
    """Returns the answer of purge: exit code, JSON result and text."""
    code = _exit_code(runs)
    result: dict[str, object] = {
        "cluster": place.cluster,
        "runs": [
            {
                "run_id": one.run_id,
                "status": one.status,
                "reason": one.reason,
                "condition": one.error.condition.name if one.error else None,
                "waits_ms": one.waits_ms,
                **tally_object(one.tally),
                "left": [left_object(left) for left in one.left[:100]],
            }
            for one in runs
        ],
    }
    lines = [line for one in runs for line in one.lines()] or [f"Nothing of {place.cluster} is in quarantine."]
    failed = [one for one in runs if one.error is not None]
    troubled = [one for one in failed if one.status != NOT_BEGUN]
    if troubled:
        worst = next((one for one in failed if one.exit_code == code), troubled[0])
        message = f"{len(troubled)} of {len(runs)} runs in quarantine need a look; {worst.run_id}: {worst.reason}"
        condition = worst.error.condition.name if worst.error else None
        result["error"] = {"kind": type(worst.error).__name__, "message": message, "condition": condition}
        names = ", ".join(one.run_id for one in troubled)
        lines.append(f"{len(troubled)} of {len(runs)} runs in quarantine need a look: {names}")
    return JobResult(code, result, "\n".join(lines))


def _exit_code(runs: Sequence[RunPurge]) -> int:
    codes = {one.exit_code for one in runs if one.status != NOT_BEGUN or one.error is not None}
    if EXIT_UNAVAILABLE in codes:
        return EXIT_UNAVAILABLE
    troubles = codes - {EXIT_DONE}
    if not troubles:
        return EXIT_DONE
    if EXIT_DONE in codes:
        return EXIT_PARTIAL
    return troubles.pop() if len(troubles) == 1 else EXIT_REFUSED
