"""How a purge ends: without a lease, by a person's wish, with an error."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pipelines.cleanup.audit_ports import UNEXPECTED, CleanupAttempt
from pipelines.cleanup.deletions import CleanupAction, CleanupTally, FileResult
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.quarantine import runs_in
from pipelines.cleanup.request import CleanupPorts
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError
from tests.labs.cleanup.memory import MemoryStore, Process
from tests.labs.cleanup.memory_audit import MemoryAudit
from tests.labs.cleanup.purges import FULL, N1, N2, N3, N4, cleaned, done, runs_of, statuses
from tests.labs.cleanup.world import PLACE


class Lost(MemoryStore):
    """A file system that stops answering at the files of one run, and at all that come after."""

    gone = False

    def delete(self, uris: Sequence[str]) -> list[str | None]:
        if any(f"-{N2}/" in uri for uri in uris):
            self.gone = True
            raise UnavailableError("the data nodes do not answer")
        return super().delete(uris)

    def names(self, directory: str) -> list[str]:
        if self.gone:
            raise UnavailableError("the leases cannot be read")
        return super().names(directory)


def test_no_run_is_begun_without_a_lease() -> None:
    world = cleaned(N1, N2, N3, N4)
    answer = done(world, store=Lost(world.disk, Process()))
    said = {run: (one["status"], one["reason"]) for run, one in runs_of(answer).items()}
    assert said == {
        N1: ("DONE", None),
        N2: ("FAILED", "the data nodes do not answer"),
        N3: ("NOT_BEGUN", "the leases cannot be read"),
        N4: ("NOT_BEGUN", "the leases cannot be read"),
    }
    assert not {attempt.run.run_id for attempt, _ in world.lake.cleanups if attempt.action is CleanupAction.PURGE} & {
        N3,
        N4,
    }


def test_a_lease_that_was_lost_is_told_also_where_every_run_before_it_was_refused() -> None:
    """The runs that were not begun are a reason to repeat the command."""
    world = cleaned(N1, N2, N3)
    store = Lost(world.disk, Process())

    def loses_the_lease() -> None:
        store.gone = True
        raise RefusedError(Condition.CLUSTER_NOT_QUIET, "the cluster moved")

    look: Any = Kept(world.edges(Process())[1], loses_the_lease)
    answer = done(world, store=store, second_look=look)
    assert statuses(answer) == {N1: "REFUSED", N2: "NOT_BEGUN", N3: "NOT_BEGUN"}
    assert answer.exit_code == 4
    assert [one["condition"] for one in runs_of(answer).values()] == ["CLUSTER_NOT_QUIET", *["UNAVAILABLE"] * 2]
    assert f"{N2}: the leases cannot be read" in str(answer.result["error"])
    assert answer.text.splitlines()[-1] == f"1 of 3 runs in quarantine need a look: {N1}"


class Full(MemoryAudit):
    """A lake that cannot take the outcomes of a run's last batch."""

    def record(
        self, attempt: CleanupAttempt, batch: int, results: Sequence[FileResult], *, lease: int | None = None
    ) -> None:
        if attempt.run.run_id == N1 and batch == 2:
            raise UnavailableError("the lake does not answer")
        super().record(attempt, batch, results, lease=lease)


def test_an_empty_run_that_failed_stays_until_its_files_have_an_outcome() -> None:
    """The other runs are purged; only a run that is there is looked up by the next job."""
    world = cleaned(N1, N2)
    audit = Full(world.lake, world.disk, Process(), world.places)
    assert statuses(done(world, audit=audit)) == {N1: "FAILED", N2: "DONE"}
    assert world.resting() == {}
    assert runs_in(world.disk.names(PLACE.home)) == {N1: N1}
    assert world.lake.unsettled(world.lake.decided[N1].run)
    assert statuses(done(world)) == {N1: "DONE"}
    assert runs_in(world.disk.names(PLACE.home)) == {}
    world.check()
    assert not world.lake.unsettled(world.lake.decided[N1].run)


def test_a_wish_to_stop_holds_for_all_runs_after_it() -> None:
    world = cleaned(N1, N2, N3)
    asked = iter([True])
    answer = done(world, stop=lambda: next(asked, False))
    assert statuses(answer) == {N1: "STOPPED", N2: "NOT_BEGUN", N3: "NOT_BEGUN"}
    assert {one["reason"] for run, one in runs_of(answer).items() if run != N1} == {"a person asked for an end"}


def test_a_wish_to_stop_during_the_second_look_deletes_nothing() -> None:
    """What is deleted cannot come back, and there was no batch to finish."""
    world = cleaned(N1, N2)
    resting = world.resting()
    answer = done(world, stop=lambda: True)
    assert statuses(answer) == {N1: "STOPPED", N2: "NOT_BEGUN"}
    assert world.resting() == resting
    assert [row for row in world.lake.deletions if row.action is CleanupAction.PURGE] == []


def test_a_wish_to_stop_during_the_last_batch_changes_nothing() -> None:
    world = cleaned()
    place, ports = world.edges(Process())
    told: list[str] = []
    ports = replace(ports, tell=told.append, stop=lambda: bool(told))
    answer = purge(PurgeRequest(N1, FULL, execute=True), replace(place, batch=3), ports)
    assert statuses(answer) == {N1: "DONE"}
    assert [status for attempt, status in world.lake.cleanups if attempt.action is CleanupAction.PURGE] == [
        "STARTED",
        "DONE",
    ]


def test_what_was_done_is_not_said_to_wait_for_a_finding_that_came_up_meanwhile() -> None:
    world = cleaned()
    answer = done(world, tell=lambda _: setattr(world.decided, "status", None))
    assert answer.result["paused"] is None
    assert answer.text.startswith("n1: 3 files")
    rehearsed = done(world, PurgeRequest(None, FULL))
    assert rehearsed.result["paused"] is not None
    assert rehearsed.text.startswith("Clean-up is paused")


class BugError(Exception):
    """What nobody has foreseen."""


class Kept:
    """A second look that remembers whether what it wrote was removed."""

    def __init__(self, ports: CleanupPorts, then: Callable[[], object] = lambda: None) -> None:
        self._inner = ports.second_look
        self._then = then
        self.kept = 0

    def at_quarantine(self, *args: Any) -> Any:  # noqa: ANN401 - whatever it takes and gives
        self.kept += 1
        self._then()
        return self._inner.at_quarantine(*args)

    def forget(self) -> None:
        self.kept = 0


def raise_bug() -> None:
    raise BugError


def raise_unavailable() -> None:
    raise UnavailableError("no answer")


@pytest.mark.parametrize("execute", [False, True])
@pytest.mark.parametrize(
    ("then", "error", "status"),
    [(lambda: None, None, "DONE"), (raise_unavailable, UnavailableError, "FAILED"), (raise_bug, BugError, "FAILED")],
)
def test_however_it_ends_it_is_written_and_the_second_look_leaves_nothing(
    then: Callable[[], object], error: type[Exception] | None, status: str, *, execute: bool
) -> None:
    world = cleaned()
    place, ports = world.edges(Process())
    look = Kept(ports, then)
    raised: type[BaseException] | None = None
    try:
        purge(PurgeRequest(N1, FULL, execute=execute), place, replace(ports, second_look=look))  # type: ignore[arg-type]
    except (UnavailableError, BugError) as problem:
        raised = type(problem)
    assert raised is error
    assert look.kept == 0
    written = [status for attempt, status in world.lake.cleanups if attempt.action is CleanupAction.PURGE]
    assert written == (["STARTED", status] if execute else [])
    assert runs_in(world.disk.names(PLACE.home)) == ({} if execute and error is None else {N1: N1})


def test_the_second_look_leaves_nothing_if_the_lake_does_not_take_the_end() -> None:
    world = cleaned()
    place, ports = world.edges(Process())
    look = Kept(ports)
    ports.audit.ended = lambda *_: raise_unavailable()  # type: ignore[method-assign]
    with pytest.raises(UnavailableError, match="no answer"):
        purge(PurgeRequest(N1, FULL, execute=True), place, replace(ports, second_look=look))  # type: ignore[arg-type]
    assert look.kept == 0


@pytest.mark.parametrize("error", [UnavailableError("no answer"), BugError(), KeyboardInterrupt()])
def test_however_it_fails_the_sums_of_the_batches_before_it_are_written(error: BaseException) -> None:
    world = cleaned()

    def interrupted(_: str) -> None:
        raise error

    with pytest.raises(type(error)):
        done(world, PurgeRequest(N1, FULL, execute=True), tell=interrupted)
    ending = world.lake.endings[-1]
    assert (ending.status, ending.exit_code) == ("FAILED", getattr(error, "exit_code", None))
    assert (ending.tally, ending.reason) == (CleanupTally(2, 3), str(error) or UNEXPECTED)
