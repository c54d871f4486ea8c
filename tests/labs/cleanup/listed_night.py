"""A night whose list has five files, the job that cleans it, and what it leaves in the audit."""

from dataclasses import replace
from typing import Any

from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import CleanupAction
from pipelines.common.job_result import JobResult
from tests.labs.cleanup.memory import Process
from tests.labs.cleanup.memory_audit import Row
from tests.labs.cleanup.world import World

RUN = "n1"
FILES = [f"oldWALs/h1/wal.{number}" for number in (1, 2, 3, 4, 5)]


def night(files: int = 5) -> World:
    """The files have 1, 2, 3 … bytes."""
    world = World()
    for path in FILES[:files]:
        world.archives(path, needed=False)
    world.night(RUN)
    return world


def done(world: World, request: CleanRequest | None = None, **ports: Any) -> JobResult:  # noqa: ANN401 - of CleanupPorts
    place, own = world.edges(Process())
    return clean(request or CleanRequest(RUN, execute=True), place, replace(own, **ports))


def rows(world: World, *, intents: bool = False) -> list[Row]:
    return [row for row in world.lake.deletions if (row.result is None) == intents]


def statuses(world: World) -> list[str]:
    return [status for attempt, status in world.lake.cleanups if attempt.action is CleanupAction.CLEAN]


def answered(outcome: JobResult) -> dict[str, object]:
    return {key: outcome.result[key] for key in ("status", "reason", "done_files", "done_bytes")}
