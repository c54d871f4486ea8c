"""What clean moves of a list, where it stops, and what it writes and says about it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pipelines.cleanup.audit_ports import UNEXPECTED, AttemptEnd
from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import CleanupTally
from pipelines.cleanup.ports import Move
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, WalsafeError
from pipelines.common.instants import DAY_MS
from tests.labs.cleanup.listed_night import FILES, RUN, answered, done, night, rows, statuses
from tests.labs.cleanup.memory import MemoryStore, Process
from tests.labs.cleanup.world import DIGEST, LEASE_MS, PLACE, ROOT, World, cleaning

# approval


def test_only_the_approved_list_is_cleaned() -> None:
    world = night()
    digest = done(world, CleanRequest(RUN)).result["list_sha256"]
    assert isinstance(digest, str)
    with pytest.raises(RefusedError, match=f"has the digest {digest}, but 0 was approved") as refused:
        done(world, CleanRequest(RUN, execute=True, list_sha256="0"))
    assert refused.value.condition is Condition.LIST_NOT_APPROVED
    assert world.lake.deletions == []
    assert done(world, CleanRequest(RUN, execute=True, list_sha256=digest)).result["done_files"] == len(FILES)


# limits


@pytest.mark.parametrize(
    ("limits", "files", "size"),
    [
        ({}, 5, 15),
        ({"max_files": 0}, 0, 0),
        ({"max_files": 1}, 1, 1),
        ({"max_files": 3}, 3, 6),
        ({"max_files": 5}, 5, 15),
        ({"max_bytes": 0}, 0, 0),
        ({"max_bytes": 1}, 1, 1),
        ({"max_bytes": 3}, 2, 3),
        ({"max_bytes": 4}, 3, 6),
        ({"max_bytes": 15}, 5, 15),
        ({"max_files": 3, "max_bytes": 1}, 1, 1),
        ({"max_files": 1, "max_bytes": 9}, 1, 1),
    ],
)
def test_a_limit_ends_the_clean_up_in_a_rehearsal_as_in_earnest(limits: dict[str, int], files: int, size: int) -> None:
    world = night()
    cut = files < len(FILES)
    reason = "the limit given" if cut else None
    rehearsed = done(world, CleanRequest(RUN, **limits))  # type: ignore[arg-type]
    assert answered(rehearsed) == {"status": "REHEARSAL", "reason": reason, "done_files": files, "done_bytes": size}
    assert (rehearsed.result["executed"], rehearsed.result["settled_files"]) == (False, 0)
    assert ("Stopped: the limit given. The list has more files." in rehearsed.text) == cut
    assert not world.resting()
    outcome = done(world, CleanRequest(RUN, execute=True, **limits))  # type: ignore[arg-type]
    status = "STOPPED" if cut else "DONE"
    assert answered(outcome) == {"status": status, "reason": reason, "done_files": files, "done_bytes": size}
    assert outcome.result["executed"] is True
    assert "an earlier job began" not in rehearsed.text + outcome.text
    assert statuses(world) == ["STARTED", status]
    assert {path for _, path in world.resting()} == set(FILES[:files])
    assert outcome.exit_code == 0


def test_only_what_is_moved_counts_for_a_limit() -> None:
    """The first is needed again, the second is gone: they cost nothing, and are said and counted."""
    world = night()
    world.needed.add(world.home()[FILES[0]].modification_time)
    world.hbase_cleans(FILES[1])
    for execute in (False, True):
        outcome = done(world, CleanRequest(RUN, 2, execute=execute))
        assert answered(outcome)["done_files"] == 2
        assert (outcome.result["left_files"], outcome.result["gone_files"]) == (1, 1)
        assert outcome.result["left_bytes"] == 1
        (left,) = outcome.result["left"]  # type: ignore[misc]
        assert (left["path"], left["outcome"]) == (FILES[0], "REFUSED")
    assert {path for _, path in world.resting()} == {FILES[2], FILES[3]}
    world.check()


def test_what_comes_before_a_limit_is_said_though_nothing_more_is_moved() -> None:
    world = night()
    world.needed.add(world.home()[FILES[1]].modification_time)
    for execute in (False, True):
        outcome = done(world, CleanRequest(RUN, 1, execute=execute))
        assert (outcome.result["done_files"], outcome.result["left_files"]) == (1, 1)


def test_a_rehearsal_names_the_option_that_is_not_refused() -> None:
    world = night()
    paused = "is refused while the clean-up is paused. After the pause, it would do this:"
    for option in ("--execute", "--resume"):
        rehearsed = done(world, CleanRequest(RUN))
        assert rehearsed.text.endswith(f"this was a rehearsal. Add {option} to move them.")
        assert rehearsed.result["option"] == option
        world.decided.status = None
        assert f"\n{option} {paused}\n" in done(world, CleanRequest(RUN)).text
        world.decided.status = "DONE"
        done(world, CleanRequest(RUN, 2, execute=option == "--execute", resume=option == "--resume"))


@pytest.mark.promise("list-is-cleaned-once")
def test_a_list_goes_on_where_a_limit_ended_it() -> None:
    world = night()
    done(world, CleanRequest(RUN, 2, execute=True))
    outcome = done(world, CleanRequest(RUN, resume=True))
    assert answered(outcome) == {"status": "DONE", "reason": None, "done_files": 3, "done_bytes": 12}
    assert outcome.result["settled_files"] == 0
    assert statuses(world) == ["STARTED", "STOPPED", "STARTED", "DONE"]


# what is written and said


@pytest.mark.promise("intent-before-rename")
def test_every_batch_has_its_number_in_the_audit() -> None:
    world = night()
    told: list[str] = []
    done(world, tell=told.append)
    for intents in (True, False):
        assert [(row.batch, row.subject.path) for row in rows(world, intents=intents)] == [
            (1, FILES[0]), (1, FILES[1]), (2, FILES[2]), (2, FILES[3]), (3, FILES[4]),
        ]  # fmt: skip
    assert [line.partition(" (")[0] for line in told] == ["moved 2 files", "moved 4 files", "moved 5 files"]


@pytest.mark.parametrize(
    ("request_", "whole"),
    [
        (CleanRequest(RUN, execute=True), True),
        (CleanRequest(RUN, execute=True, max_files=9), False),
        (CleanRequest(RUN, execute=True, max_bytes=99), False),
        (CleanRequest(RUN, resume=True), False),
    ],
)
def test_the_time_left_is_told_only_if_the_whole_list_is_to_be_moved(request_: CleanRequest, whole: bool) -> None:
    world = night()
    if request_.resume:
        cleaning(RUN, 1)(world, Process())
        world.disk.now += LEASE_MS
    told: list[str] = []
    done(world, request_, tell=told.append)
    assert told
    assert {(" of 5 files" in line, "to go" in line) for line in told} == {(whole, whole)}


def test_a_list_that_fills_its_batches_has_no_empty_one() -> None:
    world = night(4)
    told: list[str] = []
    done(world, tell=told.append)
    assert [line.partition(" (")[0] for line in told] == ["moved 2 files", "moved 4 files"]


def test_the_end_is_written_with_its_sums_and_with_the_second_look() -> None:
    world = night()
    done(world, CleanRequest(RUN, 2, execute=True))
    place, ports = world.edges(Process())
    ports.second_look.at_list = raises(UnavailableError("no answer"))  # type: ignore[method-assign]
    with pytest.raises(UnavailableError):
        clean(CleanRequest(RUN, resume=True), place, ports)
    done(world, CleanRequest(RUN, resume=True))
    assert world.lake.endings == [
        AttemptEnd("STOPPED", 0, CleanupTally(2, 3), "the limit given", DIGEST),
        AttemptEnd("FAILED", 4, CleanupTally(), "no answer"),
        AttemptEnd("DONE", 0, CleanupTally(3, 12), None, DIGEST),
    ]


def test_at_most_a_hundred_files_are_named_and_all_are_counted() -> None:
    world = World()
    names = [f"oldWALs/h1/wal.{number:04d}" for number in range(150)]
    for path in names:
        world.archives(path, needed=False)
    world.night(RUN)
    world.needed |= {entry.modification_time for entry in world.home().values()}
    for execute in (False, True):
        outcome = done(world, CleanRequest(RUN, execute=execute))
        named = [one["path"] for one in outcome.result["left"]]  # type: ignore[attr-defined]
        assert named == names[:100]
        assert outcome.result["left_files"] == 150


def test_what_the_second_look_refused_keeps_its_reason() -> None:
    world = night(2)
    world.needed.add(world.home()[FILES[0]].modification_time)
    outcome = done(world)
    (left,) = outcome.result["left"]  # type: ignore[misc]
    assert (left["outcome"], left["why"]) == ("REFUSED", None)


# how it ends


@pytest.mark.parametrize(("after", "moved", "way_on"), [(0, 0, "--execute"), (1, 2, "--resume")])
def test_a_wish_to_stop_is_heard_before_each_batch(after: int, moved: int, way_on: str) -> None:
    """The first is begun after the second look, which takes minutes."""
    world = night()
    told: list[str] = []
    outcome = done(world, tell=told.append, stop=lambda: len(told) >= after)
    assert answered(outcome) == {
        "status": "STOPPED", "reason": "a person asked for it", "done_files": moved, "done_bytes": 3 * after,
    }  # fmt: skip
    assert f"Stopped: a person asked for it. Go on with {way_on}." in outcome.text
    assert statuses(world) == ["STARTED", "STOPPED"]
    assert outcome.exit_code == 0
    assert len(world.resting()) == len(rows(world, intents=True)) == moved
    resumed = done(world, CleanRequest(RUN, execute=not after, resume=bool(after)), stop=lambda: True)
    assert f"Go on with {way_on}." in resumed.text


def test_a_wish_to_stop_during_the_last_batch_changes_nothing() -> None:
    world = night(4)
    done(world, CleanRequest(RUN, 2, execute=True))
    told: list[str] = []
    outcome = done(world, CleanRequest(RUN, resume=True), tell=told.append, stop=lambda: bool(told))
    assert answered(outcome) == {"status": "DONE", "reason": None, "done_files": 2, "done_bytes": 7}
    assert "Stopped" not in outcome.text
    assert statuses(world) == ["STARTED", "STOPPED", "STARTED", "DONE"]


@dataclass
class Late:
    """Says that the list has ended after so many looks at it."""

    world: World
    looks: int

    def now_ms(self) -> int:
        self.looks -= 1
        return self.world.disk.now + (DAY_MS + 1 if self.looks < 0 else 0)


@pytest.mark.promise("list-ends-in-the-middle")
def test_a_list_that_ends_between_intent_and_rename_is_refused_though_a_person_asked_for_an_end() -> None:
    world = night()
    told: list[str] = []
    outcome = done(world, clock=Late(world, 3), tell=told.append, stop=lambda: bool(told))
    assert (outcome.exit_code, outcome.result["status"]) == (3, "STOPPED")
    assert str(outcome.result["reason"]).startswith("the list was valid until")
    assert [row.result.outcome.value for row in rows(world) if row.result] == ["REFUSED", "REFUSED"]
    assert not world.resting()


class BugError(Exception):
    """What nobody has foreseen."""


@dataclass
class Kept:
    """A second look that remembers whether what it wrote was removed."""

    inner: Any
    then: Callable[[], object]
    kept: list[str] = field(default_factory=list)

    def at_list(self, *args: Any) -> Any:  # noqa: ANN401 - whatever it takes and gives
        self.kept.append("snapshot")
        self.then()
        return self.inner.at_list(*args)

    def forget(self) -> None:
        self.kept.clear()


def raises(error: Exception) -> Callable[..., Any]:
    def then(*_: object) -> None:
        raise error

    return then


@pytest.mark.parametrize("execute", [False, True])
@pytest.mark.parametrize(
    ("then", "error", "status"),
    [
        (lambda: None, None, "DONE"),
        (raises(UnavailableError("no answer")), UnavailableError, "FAILED"),
        (raises(RefusedError(Condition.CLUSTER_NOT_QUIET, "no")), RefusedError, "REFUSED"),
        (raises(BugError()), BugError, "FAILED"),
    ],
)
def test_however_it_ends_it_is_written_and_the_second_look_leaves_nothing(
    then: Callable[[], object], error: type[Exception] | None, status: str, *, execute: bool
) -> None:
    world = night()
    place, ports = world.edges(Process())
    look = Kept(ports.second_look, then)
    raised: type[BaseException] | None = None
    try:
        clean(CleanRequest(RUN, execute=execute), place, replace(ports, second_look=look))  # type: ignore[arg-type]
    except (WalsafeError, BugError) as problem:
        raised = type(problem)
    assert raised is error
    assert look.kept == []
    assert statuses(world) == (["STARTED", status] if execute else [])


def test_the_second_look_leaves_nothing_if_the_lake_does_not_take_the_end() -> None:
    world = night()
    place, ports = world.edges(Process())
    look = Kept(ports.second_look, lambda: None)
    ports.audit.ended = raises(UnavailableError("no answer"))  # type: ignore[method-assign]
    with pytest.raises(UnavailableError, match="no answer"):
        clean(CleanRequest(RUN, execute=True), place, replace(ports, second_look=look))  # type: ignore[arg-type]
    assert look.kept == []


@pytest.mark.parametrize("error", [UnavailableError("no answer"), BugError(), KeyboardInterrupt()])
def test_however_it_fails_the_sums_of_the_batches_before_it_are_written(error: BaseException) -> None:
    world = night()

    def interrupted(_: str) -> None:
        raise error

    with pytest.raises(type(error)):
        done(world, tell=interrupted)
    (ending,) = world.lake.endings
    assert (ending.status, ending.exit_code) == ("FAILED", getattr(error, "exit_code", None))
    assert (ending.tally, ending.reason) == (CleanupTally(2, 3), str(error) or UNEXPECTED)


# files that cannot be moved


class Refuses(MemoryStore):
    """Refuses to move these files, each with its error."""

    def __init__(self, world: World, errors: dict[str, str]) -> None:
        super().__init__(world.disk, Process())
        self._errors = errors

    def move(self, moves: Sequence[Move]) -> list[str | None]:
        found = [self._errors.get(one.source.removeprefix(f"{ROOT}/")) for one in moves]
        moved = iter(super().move([one for one, error in zip(moves, found, strict=True) if error is None]))
        return [error if error is not None else next(moved) for error in found]


FULL, ZONE = "QuotaExceededException: it is full", "IOException: it is in an encryption zone"


@pytest.mark.parametrize(
    ("errors", "held", "tried", "status"),
    [
        ([FULL, FULL, FULL, FULL, FULL], [], 2, "STOPPED"),
        ([FULL, None, FULL, FULL, FULL], [], 4, "STOPPED"),
        ([None, FULL, FULL, FULL, FULL], [1, 3], 4, "STOPPED"),
        ([FULL, ZONE, FULL, FULL, FULL], [], 4, "STOPPED"),
        ([FULL, ZONE, FULL, ZONE, FULL], [], 5, "DONE"),
        ([None, None, None, None, FULL], [], 5, "DONE"),
        ([FULL, None, FULL, None, FULL], [], 5, "DONE"),
    ],
)
def test_a_batch_of_which_no_file_can_be_moved_for_one_reason_is_the_last(
    errors: list[str | None], held: list[int], tried: int, status: str
) -> None:
    """A quota that is full would else cost two rows for each file of the list, in each try."""
    world = night()
    numbers = {path: world.home()[path].modification_time for path in FILES}
    world.needed |= {numbers[FILES[number - 1]] for number in held}
    refused = {path: error for path, error in zip(FILES, errors, strict=True) if error is not None}
    outcome = done(world, store=Refuses(world, refused))
    assert (outcome.exit_code, outcome.result["status"]) == (4, status)
    assert len(rows(world, intents=True)) == tried - len(held)
    assert world.open_intents() == set()
    assert "error" not in outcome.result, "a night goes on to purge, which may make room"
    assert ("Stopped: the last 2 files all failed with QuotaExceeded" in outcome.text) == (status == "STOPPED")
    assert "files could not be moved; solve this, then go on with --resume" in outcome.text
    world.disk.now += LEASE_MS
    world.needed -= set(numbers.values())
    assert done(world, CleanRequest(RUN, resume=True)).exit_code == 0
    assert world.home() == {}


def test_an_empty_list_needs_no_second_look() -> None:
    world = night(0)
    place, ports = world.edges(Process())
    look = Kept(ports.second_look, raises(BugError()))
    outcome = clean(CleanRequest(RUN, execute=True), place, replace(ports, second_look=look))  # type: ignore[arg-type]
    assert answered(outcome) == {"status": "DONE", "reason": None, "done_files": 0, "done_bytes": 0}
    assert [name for name in world.disk.names(PLACE.home) if name != ".leases"] == []
