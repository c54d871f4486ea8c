"""What purge deletes, of which run, and what it writes and says about it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.quarantine import runs_in
from pipelines.cleanup.quarantined_files import resting_files
from pipelines.cleanup.request import CleanupPorts
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from pipelines.files.file_batch import FileBatch
from tests.labs.cleanup.memory import Entry, MemoryStore, Process
from tests.labs.cleanup.memory_audit import Row
from tests.labs.cleanup.world import LEASE_MS, PLACE, START, World, cleaning, purging

N1, N2, N3, N4 = "n1", "n2", "n3", "n4"
NAMES = [f"oldWALs/h1/wal.{number}" for number in (1, 2, 3)]
FULL = "the disk is full"
NO = "NSQuotaExceededException: The NameSpace quota is exceeded"


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


# what is asked for


@pytest.mark.promise("purge-after-seven-days-or-with-a-reason")
@pytest.mark.parametrize("execute", [False, True])
@pytest.mark.parametrize("words", ["", " ", "\n\t"])
def test_a_reason_without_a_word_is_none(words: str, *, execute: bool) -> None:
    world = cleaned()
    process = Process()
    place, ports = world.edges(process)
    with pytest.raises(UsageError, match="--before-grace needs a reason in your own words"):
        purge(PurgeRequest(None, words, execute=execute), place, ports)
    assert process.steps == []
    assert len(world.resting()) == len(NAMES)


@pytest.mark.promise("purge-after-seven-days-or-with-a-reason")
def test_the_reason_of_a_person_is_in_the_audit() -> None:
    world = cleaned()
    purging(words=FULL)(world, Process())
    assert [attempt.words for attempt, _ in world.lake.cleanups if attempt.action is CleanupAction.PURGE] == [
        FULL,
        FULL,
    ]


def test_without_a_reason_the_audit_has_none() -> None:
    world = cleaned()
    world.disk.now += 8 * DAY_MS
    purging(words=None)(world, Process())
    assert [attempt.words for attempt, _ in world.lake.cleanups if attempt.action is CleanupAction.PURGE] == [
        None,
        None,
    ]


@pytest.mark.parametrize("execute", [False, True])
def test_a_run_that_is_asked_for_is_the_only_one(*, execute: bool) -> None:
    world = cleaned(N1, N2, N3)
    outcome = purging(N2, execute=execute)(world, Process())
    assert list(runs_of(outcome)) == [N2]
    assert {run for run, _ in world.resting()} == ({N1, N3} if execute else {N1, N2, N3})
    assert {row.run.run_id for row in rows(world)} == ({N2} if execute else set())


def test_a_run_that_is_not_there_is_named_with_those_that_are() -> None:
    world = cleaned(N1, N2)
    with pytest.raises(UsageError, match=rf"run n3 of prod has nothing in {PLACE.root}; there are: n1, n2$"):
        purging(N3)(world, Process())
    with pytest.raises(UsageError, match=r"there are: none$"):
        purging(N1)(World(), Process())


def test_a_run_that_vanishes_before_it_is_taken_is_named() -> None:
    world = cleaned()

    class Late(MemoryStore):
        def names(self, directory: str) -> list[str]:
            found = super().names(directory)
            if N1 in found and directory == PLACE.home:
                self._rename(PLACE.at_rest(N1), f"{PLACE.root}/elsewhere")
            return found

    for execute in (True, False):
        world = cleaned()
        with pytest.raises(UsageError, match=f"run n1 vanished from {PLACE.home}; try again"):
            done(world, PurgeRequest(N1, FULL, execute=execute), store=Late(world.disk, Process()))


def test_a_run_that_an_older_walsafe_decided_without_an_id_is_purged() -> None:
    world = cleaned()
    world.lake.decided[N1] = replace(world.lake.decided[N1], cluster_id=None)
    assert statuses(purging()(world, Process())) == {N1: "DONE"}


def test_a_rehearsal_names_the_runs_in_order_whoever_works_on_them() -> None:
    world = cleaned(N1, N2)
    MemoryStore(world.disk, Process()).rename_directory(PLACE.at_rest(N2), PLACE.at_work(N2, 9))
    assert list(runs_of(purging(execute=False)(world, Process()))) == [N1, N2]


def test_the_files_of_a_run_are_in_order_however_they_are_listed() -> None:
    class Backwards(MemoryStore):
        def walk(self, directory: str) -> Iterator[FileBatch]:
            for batch in super().walk(directory):
                yield FileBatch(batch.paths[::-1], batch.lengths[::-1], batch.modification_times[::-1])

    world = cleaned()
    found = resting_files(Backwards(world.disk, Process()), PLACE.at_rest(N1))
    assert [(one.path, one.length) for one in found] == [*zip(NAMES, (1, 2, 3), strict=True)]


# what waits


@pytest.mark.promise("only-purge-deletes")
def test_what_waits_is_counted_and_says_for_how_long() -> None:
    world = cleaned()
    world.disk.now += 5 * DAY_MS
    for execute in (False, True):
        world.disk.now += LEASE_MS
        outcome = purging(words=None, execute=execute)(world, Process())
        (run,) = runs_of(outcome).values()
        size = sum(entry.length for entry in world.resting().values())
        assert (run["status"], run["left_files"], run["left_bytes"], run["done_files"]) == ("WAITING", 3, size, 0)
        assert run["waits_ms"] == START + 7 * DAY_MS - world.disk.now
        assert outcome is not None
        assert "n1: 3 files, 6 B, rest for another 48.0 h" in outcome.text
        assert outcome.exit_code == 0


def test_where_nothing_was_moved_nothing_waits() -> None:
    """What rests there was put there by somebody else: it is named, and stays."""
    world = World()
    world.night(N1)
    put(world, N1, "oldWALs/h1/wal.9")
    outcome = purging(words=None)(world, Process())
    (run,) = runs_of(outcome).values()
    assert (run["status"], run["waits_ms"], run["left_files"], run["left_bytes"]) == ("DONE", 0, 1, 10)
    assert {path for _, path in world.resting()} == {"oldWALs/h1/wal.9"}


# what is left, and what is written


@pytest.mark.promise("purge-deletes-what-was-moved")
def test_what_may_not_be_deleted_is_written_and_said() -> None:
    world = cleaned()
    put(world, N1, "oldWALs/h1/wal.9")
    for execute in (False, True):
        outcome = purging(execute=execute)(world, Process())
        (run,) = runs_of(outcome).values()
        assert [(one["path"], one["outcome"]) for one in run["left"]] == [("oldWALs/h1/wal.9", "REFUSED")]
        assert (run["done_files"], run["done_bytes"], run["left_files"], run["left_bytes"]) == (3, 6, 1, 10)
        assert run["status"] == ("DONE" if execute else "REHEARSAL")
    written = [(row.batch, row.subject.path, row.result.outcome.value) for row in rows(world) if row.result]
    assert written == [
        (0, "oldWALs/h1/wal.9", "REFUSED"),
        (1, NAMES[0], "PURGED"),
        (1, NAMES[1], "PURGED"),
        (2, NAMES[2], "PURGED"),
    ]
    assert [(row.batch, row.subject.path) for row in rows(world) if not row.result] == [
        (1, NAMES[0]),
        (1, NAMES[1]),
        (2, NAMES[2]),
    ]
    assert [status for attempt, status in world.lake.cleanups if attempt.action is CleanupAction.PURGE] == [
        "STARTED",
        "DONE",
    ]


def test_the_progress_is_told_after_every_batch() -> None:
    world = cleaned()
    told: list[str] = []
    done(world, tell=told.append)
    assert [line.partition(" (")[0] for line in told] == [
        "purged 2 files",
        "purged 3 files",
        "n1: 3 files, 6 B, deleted for good",
    ]


class Odd(MemoryStore):
    """Deletes the first file oddly."""

    def __init__(self, world: World, answer: str | None, *, does: bool) -> None:
        super().__init__(world.disk, Process())
        self._answer = answer
        self._does = does

    def delete(self, uris: Sequence[str]) -> list[str | None]:
        return [self._one(uri) if uri.endswith(NAMES[0]) else super(Odd, self).delete([uri])[0] for uri in uris]

    def _one(self, uri: str) -> str | None:
        if self._does:
            super().delete([uri])
        return self._answer


@pytest.mark.parametrize(("does", "outcome", "code"), [(True, "ALREADY_GONE", 0), (False, "FAILED", 4)])
def test_what_was_not_deleted_by_this_job_is_not_called_purged(outcome: str, code: int, *, does: bool) -> None:
    """The file system refused, and then the file is there, or somebody else has taken it."""
    world = cleaned()
    answer = done(world, store=Odd(world, NO, does=does))
    assert outcomes(world) == {NAMES[0]: outcome, NAMES[1]: "PURGED", NAMES[2]: "PURGED"}
    (error,) = (row.result.error for row in rows(world) if row.result and row.subject.path == NAMES[0])
    assert error == NO
    assert answer.exit_code == code


@dataclass
class Cold:
    """An archive that cannot keep one of the files."""

    problem: str = "its checksum differs"
    path: str = NAMES[1]
    kept: list[str] = field(default_factory=list)

    def place(self, name: str) -> str:
        return f"hdfs://cold/archive/{name}"

    def keep(self, sources: Sequence[str], names: Sequence[str]) -> list[tuple[str, str | None]]:
        assert [uri.partition("/oldWALs/")[2] for uri in sources] == [name.partition("/oldWALs/")[2] for name in names]
        good = [name for name in names if not (self.problem and name.endswith(self.path))]
        self.kept += good
        return [(self.place(name), None if name in good else self.problem) for name in names]


@pytest.mark.promise("archive-is-compared")
def test_only_what_is_in_the_archive_is_deleted_and_its_place_is_written() -> None:
    world = cleaned()
    answer = done(world, archive=(cold := Cold()))
    assert cold.kept == [f"prod/n1/{NAMES[0]}", f"prod/n1/{NAMES[2]}"]
    assert outcomes(world) == {NAMES[0]: "ARCHIVED", NAMES[1]: "FAILED", NAMES[2]: "ARCHIVED"}
    placed = {row.subject.path: row.result.place for row in rows(world) if row.result}
    assert placed == {path: f"hdfs://cold/archive/prod/n1/{path}" for path in (NAMES[0], NAMES[2])} | {NAMES[1]: None}
    intended = {row.subject.path: row.archive for row in rows(world) if not row.result}
    assert intended == {path: f"hdfs://cold/archive/prod/n1/{path}" for path in NAMES}
    assert {path for _, path in world.resting()} == {NAMES[1]}
    (run,) = runs_of(answer).values()
    (left,) = run["left"]
    assert left == {
        "path": NAMES[1],
        "outcome": "FAILED",
        "why": "it was not archived, so it stays",
        "error": "its checksum differs",
    }
    assert (answer.exit_code, run["done_files"], run["left_files"]) == (4, 2, 1)


@pytest.mark.promise("archive-is-compared")
def test_where_nothing_can_be_archived_nothing_is_deleted() -> None:
    world = cleaned()
    answer = done(world, archive=Cold(path=""))
    assert answer.exit_code == 4
    assert outcomes(world) == dict.fromkeys(NAMES, "FAILED")
    assert len(world.resting()) == len(NAMES)


# how it ends


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


def test_a_wish_to_stop_holds_for_all_runs_after_it() -> None:
    world = cleaned(N1, N2, N3)
    asked = iter([True])
    answer = done(world, stop=lambda: next(asked, False))
    assert statuses(answer) == {N1: "STOPPED", N2: "NOT_BEGUN", N3: "NOT_BEGUN"}
    assert {one["reason"] for run, one in runs_of(answer).items() if run != N1} == {"a person asked for an end"}


def test_a_wish_to_stop_during_the_last_batch_changes_nothing() -> None:
    world = cleaned()
    place, ports = world.edges(Process())
    answer = purge(PurgeRequest(N1, FULL, execute=True), replace(place, batch=3), replace(ports, stop=lambda: True))
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
