"""Runs that a clean-up has moved, in memory, and what a purge of them says and writes."""

from dataclasses import replace
from typing import Any

from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.common.job_result import JobResult
from tests.labs.cleanup.memory import Entry, Process
from tests.labs.cleanup.memory_audit import Row
from tests.labs.cleanup.world import PLACE, START, World, cleaning

N1, N2, N3, N4 = "n1", "n2", "n3", "n4"
NAMES = [f"oldWALs/h1/wal.{number}" for number in (1, 2, 3)]
FULL = "the disk is full"


def files(run: str) -> list[str]:
    return NAMES if run == N1 else [f"{name}.{run}" for name in NAMES]


def cleaned(*runs: str) -> World:
    world = World()
    for run in runs or (N1,):
        for path in files(run):
            world.archives(path, needed=False)
        world.night(run)
        cleaning(run)(world, Process())
    return world


def done(world: World, request: PurgeRequest | None = None, **ports: Any) -> JobResult:  # noqa: ANN401 - of CleanupPorts
    place, own = world.edges(Process())
    return purge(request or PurgeRequest(None, FULL, execute=True), place, replace(own, **ports))


def runs_of(outcome: JobResult | None) -> dict[str, dict[str, Any]]:
    assert outcome is not None
    found: list[dict[str, Any]] = outcome.result["runs"]  # type: ignore[assignment]
    return {one["run_id"]: one for one in found}


def statuses(outcome: JobResult | None) -> dict[str, str]:
    return {run: one["status"] for run, one in runs_of(outcome).items()}


def rows(world: World) -> list[Row]:
    return [row for row in world.lake.deletions if row.action is CleanupAction.PURGE]


def outcomes(world: World) -> dict[str, str]:
    return {row.subject.path: row.result.outcome.value for row in rows(world) if row.result}


def put(world: World, run: str, path: str) -> None:
    world.disk.make(f"{PLACE.at_rest(run)}/{path}".rpartition("/")[0])
    world.disk.files[f"{PLACE.at_rest(run)}/{path}"] = Entry(10, START)
