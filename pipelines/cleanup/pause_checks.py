"""Makes clean and purge refuse to work while a finding pauses the clean-up; rehearsals report the pause first."""

from dataclasses import replace

from pipelines.cleanup.request import CleanupPlace, CleanupPorts
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.common.job_result import JobResult
from pipelines.reconcile.pause import Pause, pause_of_cluster


def find_pause(place: CleanupPlace, ports: CleanupPorts) -> Pause | None:
    """Returns why nothing may be moved or deleted now; None = the clean-up is not paused."""
    return pause_of_cluster(place.cluster, ports.findings, ports.clock.now_ms(), place.acknowledged)


def refuse_while_paused(place: CleanupPlace, ports: CleanupPorts) -> None:
    """Refuses to go on if a finding pauses the clean-up.

    Raises:
        RefusedError: a finding pauses the clean-up; the message has its remedy and says how to acknowledge it.
        UsageError, UnavailableError: the lake cannot be read.
    """
    pause = find_pause(place, ports)
    if pause is not None:
        raise RefusedError(Condition.CLEANUP_PAUSED, pause.text)


def say_pause_first(outcome: JobResult, pause: Pause | None, option: str = "--execute") -> JobResult:
    """Returns the outcome with the key `paused` in its result and the pause at the beginning of its text.

    Args:
        outcome: of a rehearsal, or of a job that was not paused.
        pause: why nothing may be moved or deleted now; None = the clean-up is not paused.
        option: with which the job would do what was rehearsed.
    """
    if pause is None:
        return replace(outcome, result={**outcome.result, "paused": None})
    then = f"{option} is refused while the clean-up is paused. After the pause, it would do this:"
    text = f"{pause.text}\n{then}\n\n{outcome.text}"
    return replace(outcome, result={**outcome.result, "paused": pause.document()}, text=text)
