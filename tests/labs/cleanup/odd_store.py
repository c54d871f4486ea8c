"""Runs clean-up jobs on three files with a store that gives one odd answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.ports import FileState, Move
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.request import CleanupPorts
from pipelines.cleanup.restore import RestoreRequest, restore
from pipelines.common.job_result import JobResult
from tests.labs.cleanup.memory import Process
from tests.labs.cleanup.world import LEASE_MS, World, cleaning

RUN = "n1"
A, B, C = (f"oldWALs/h1/wal.{number}" for number in (1, 2, 3))
BROKEN = "SocketTimeoutException: 60000 millis timeout while waiting for channel to be ready for read"


@dataclass
class Odd:
    """A store with one odd call.

    Attributes:
        hides: the paths that a read does not show, of files that were renamed, or that stay after their deletion.
        answers: the answer of the call about that path, instead of its own.
        does: whether the call does its work nevertheless.
        call: the name of the odd call.
    """

    inner: Any
    hides: str = ""
    answers: str | None = ""
    does: bool = True
    call: str = "move"
    path: str = A
    happened: bool = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self.inner, name)

    def seen(self, uris: Sequence[str]) -> list[FileState | None]:
        found: list[FileState | None] = self.inner.seen(uris)
        return [
            None if self.happened and self.hides and uri.endswith(self.path) and self.hides in uri else one
            for uri, one in zip(uris, found, strict=True)
        ]

    def move(self, moves: Sequence[Move]) -> list[str | None]:
        return [self._call("move", move.source, lambda move=move: self.inner.move([move])[0]) for move in moves]

    def delete(self, uris: Sequence[str]) -> list[str | None]:
        return [self._call("delete", uri, lambda uri=uri: self.inner.delete([uri])[0]) for uri in uris]

    def _call(self, call: str, uri: str, effect: Callable[[], str | None]) -> str | None:
        if call != self.call or not uri.endswith(self.path):
            return effect()
        self.happened = True
        own = effect() if self.does else None
        return own if self.answers == "" else self.answers


def night(*needed: str) -> World:
    world = World()
    for path in (A, B, C):
        world.archives(path, needed=path in needed)
    world.night(RUN)
    return world


def cleaned() -> World:
    world = night()
    cleaning(RUN)(world, Process())
    world.disk.now += LEASE_MS
    return world


def attempt(world: World, action: CleanupAction, change: Callable[[CleanupPorts], CleanupPorts]) -> JobResult:
    place, ports = world.edges(Process())
    place, ports = replace(place, batch=3), change(ports)
    if action is CleanupAction.CLEAN:
        return clean(CleanRequest(RUN, execute=True), place, ports)
    if action is CleanupAction.RESTORE:
        return restore(RestoreRequest(RUN), place, ports)
    return purge(PurgeRequest(RUN, "the disk is full", execute=True), place, ports)


def odd(**how: Any) -> Callable[[CleanupPorts], CleanupPorts]:  # noqa: ANN401 - of `Odd`
    return lambda ports: replace(ports, store=Odd(ports.store, **how))  # type: ignore[arg-type]


def open_paths(world: World) -> set[str]:
    return {row.subject.path for row in world.lake.unsettled(world.lake.decided[RUN].run)}


def outcomes(world: World, action: CleanupAction) -> dict[str, str]:
    rows = [row for row in world.lake.deletions if row.action is action and row.result]
    return {row.subject.path: row.result.outcome.value for row in rows if row.result}
