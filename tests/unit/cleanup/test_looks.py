"""What clean, restore and purge conclude from single answers of a file system, and what they leave open."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import Action, FileOutcome
from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.lease import Lease
from pipelines.cleanup.ports import Move, Seen
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.quarantine import runs_in
from pipelines.cleanup.request import CleanupPorts
from pipelines.cleanup.restore import RestoreRequest, restore
from pipelines.cleanup.stores.store_failures import parse_failure
from pipelines.common.errors import EXIT_UNAVAILABLE, RefusedError, UnavailableError, WalsafeError
from pipelines.common.instants import DAY_MS
from pipelines.common.outcome import Outcome
from tests.labs.cleanup.memory import Behind, Process
from tests.labs.cleanup.world import LEASE_MS, PLACE, ROOT, World, cleaning, purging, restoring

RUN = "n1"
A, B, C = (f"oldWALs/h1/wal.{number}" for number in (1, 2, 3))
BROKEN = "SocketTimeoutException: 60000 millis timeout while waiting for channel to be ready for read"
REFUSED = "NSQuotaExceededException: The NameSpace quota is exceeded"


@dataclass
class Odd:
    """A store with one odd call.

    Attributes:
        hides: paths that a look does not show, in files that were renamed or stay after their deletion.
        answers: what a call about that path answers, in the place of its own answer.
        does: whether the call does its work nevertheless.
        call: which.
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

    def seen(self, uris: Sequence[str]) -> list[Seen | None]:
        found: list[Seen | None] = self.inner.seen(uris)
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


def attempt(world: World, action: Action, change: Callable[[CleanupPorts], CleanupPorts]) -> Outcome:
    place, ports = world.edges(Process())
    place, ports = replace(place, batch=3), change(ports)
    if action is Action.CLEAN:
        return clean(CleanRequest(RUN, execute=True), place, ports)
    if action is Action.RESTORE:
        return restore(RestoreRequest(RUN), place, ports)
    return purge(PurgeRequest(RUN, "the disk is full", execute=True), place, ports)


def odd(**how: Any) -> Callable[[CleanupPorts], CleanupPorts]:  # noqa: ANN401 - of `Odd`
    return lambda ports: replace(ports, store=Odd(ports.store, **how))  # type: ignore[arg-type]


def open_paths(world: World) -> set[str]:
    return {row.subject.path for row in world.lake.unsettled(world.lake.decided[RUN].run)}


def outcomes(world: World, action: Action) -> dict[str, str]:
    rows = [row for row in world.lake.deletions if row.action is action and row.result]
    return {row.subject.path: row.result.outcome.value for row in rows if row.result}


DONE = {Action.CLEAN: "MOVED", Action.RESTORE: "RESTORED", Action.PURGE: "PURGED"}
WORK = {
    Action.CLEAN: ("moving", "clean --resume"),
    Action.RESTORE: ("putting back", "The same command"),
    Action.PURGE: ("deleting", "The next restore, or purge --execute,"),
}
AGAIN = {Action.CLEAN: cleaning(RUN), Action.RESTORE: restoring(RUN), Action.PURGE: purging()}


@pytest.mark.promise("unseen-gets-no-outcome")
@pytest.mark.parametrize(
    ("action", "how"),
    [
        pytest.param(Action.CLEAN, {"hides": ".at-work-"}, id="clean: acknowledged, not seen"),
        pytest.param(Action.RESTORE, {"hides": f"{ROOT}/oldWALs"}, id="restore: acknowledged, not seen"),
        pytest.param(Action.CLEAN, {"answers": BROKEN, "does": False}, id="clean: connection broken, not done"),
        pytest.param(
            Action.CLEAN, {"answers": BROKEN, "hides": ".at-work-"}, id="clean: connection broken, done, not seen"
        ),
        pytest.param(Action.RESTORE, {"answers": BROKEN, "does": False}, id="restore: connection broken, not done"),
        pytest.param(
            Action.PURGE, {"answers": None, "does": False, "call": "delete"}, id="purge: acknowledged, still there"
        ),
        pytest.param(
            Action.PURGE, {"answers": BROKEN, "does": False, "call": "delete"}, id="purge: connection broken, not done"
        ),
    ],
)
def test_what_may_have_been_done_and_is_not_seen_has_no_outcome_yet(action: Action, how: dict[str, Any]) -> None:
    """The others of the batch have theirs; the next job of the run looks it up, and ends the work."""
    world = night() if action is Action.CLEAN else cleaned()
    work, way_out = WORK[action]
    said = rf"^{work} 1 files was acknowledged, or its answer was lost.*first {A}.* {way_out} looks them up"
    with pytest.raises(UnavailableError, match=said):
        attempt(world, action, odd(**how))
    assert open_paths(world) == {A}
    assert outcomes(world, action) == dict.fromkeys((B, C), DONE[action])
    world.disk.now += LEASE_MS
    AGAIN[action](world, Process())
    assert open_paths(world) == set()
    assert outcomes(world, action) == dict.fromkeys((A, B, C), DONE[action])
    world.check()


@pytest.mark.promise("unseen-gets-no-outcome")
@pytest.mark.parametrize("action", list(Action))
def test_what_was_done_though_the_answer_was_lost_is_seen(action: Action) -> None:
    world = night() if action is Action.CLEAN else cleaned()
    call = "delete" if action is Action.PURGE else "move"
    assert attempt(world, action, odd(answers=BROKEN, call=call)).exit_code == 0
    assert outcomes(world, action) == dict.fromkeys((A, B, C), DONE[action])


@pytest.mark.parametrize("action", list(Action))
def test_a_plain_no_of_the_file_system_is_failed_with_its_words(action: Action) -> None:
    world = night() if action is Action.CLEAN else cleaned()
    call = "delete" if action is Action.PURGE else "move"
    done = attempt(world, action, odd(answers=REFUSED, does=False, call=call))
    assert done.exit_code == 4
    assert REFUSED in done.text
    assert outcomes(world, action) == {A: "FAILED", B: DONE[action], C: DONE[action]}


@pytest.mark.parametrize(
    ("text", "perhaps"),
    [
        (BROKEN, True),
        ("ConnectException: Connection refused", True),
        ("EOFException", True),
        ("IOException: Failed on local exception: java.io.IOException: Broken pipe", True),
        ("ConnectionError: ('Connection aborted.', RemoteDisconnected())", True),
        ("HdfsError: <html>504 Gateway Time-out</html>", True),
        ("StandbyException: Operation category WRITE is not supported in state standby", True),
        (REFUSED, False),
        ("SafeModeException: Cannot rename. Name node is in safe mode", False),
        ("NotTried: the file system stopped answering", False),
        ("FileNotFoundException: no such file", False),
        ("AccessControlException: Permission denied", False),
        ("IOException: /hbase/oldWALs/a can't be moved into an encryption zone.", False),
    ],
)
def test_which_failures_may_have_been_done(text: str, *, perhaps: bool) -> None:
    assert parse_failure(text).perhaps_done == perhaps


# the way back


@pytest.mark.parametrize(
    ("answers", "does", "hides", "outcome"),
    [
        ("", True, "", "CHANGED"),
        (BROKEN, True, "", "CHANGED"),
        (REFUSED, False, "", "FAILED"),
        (BROKEN, False, "", None),
        ("", True, f"{ROOT}/oldWALs", None),
    ],
)
def test_a_file_that_took_the_name_goes_back_or_stays_open(
    answers: str, outcome: str | None, hides: str, *, does: bool
) -> None:
    world = night()

    @dataclass
    class Late(Odd):
        """Another file takes the name between the look and the rename; the odd call is the way back."""

        def move(self, moves: Sequence[Move]) -> list[str | None]:
            if moves[0].source.startswith(f"{ROOT}/"):
                world.archives(A, needed=True)
                return list(self.inner.move(moves))
            return super().move(moves)

    ports_of = {"answers": answers, "does": does, "hides": hides}
    error: type[Exception] | None = None
    try:
        attempt(world, Action.CLEAN, lambda ports: replace(ports, store=Late(ports.store, **ports_of)))  # type: ignore[arg-type]
    except WalsafeError as problem:
        error = type(problem)
    told = outcomes(world, Action.CLEAN)
    assert told == {B: "MOVED", C: "MOVED", **({A: outcome} if outcome else {})}
    assert (error is UnavailableError) == (outcome is None)
    assert world.needed <= {one.modification_time for one in (*world.home().values(), *world.resting().values())}
    world.disk.now += LEASE_MS
    cleaning(RUN)(world, Process())
    assert open_paths(world) == set()
    if does is False and outcome is None:
        rows = [row for row in world.lake.deletions if row.subject.path == A and row.result]
        assert rows[0].result is not None
        assert rows[0].result.outcome is FileOutcome.FAILED
        assert "another file of its name rests in the quarantine" in str(rows[0].result.why)


# looks that are behind


@pytest.mark.promise("look-that-is-behind-counts-for-nothing")
def test_settling_concludes_nothing_from_a_look_that_does_not_show_the_new_name() -> None:
    """Whatever else the look shows: the file of this job's own look too."""
    world = night()
    with pytest.raises(UnavailableError, match="was acknowledged"):
        attempt(world, Action.CLEAN, odd(hides=".at-work-"))
    world.disk.now += LEASE_MS

    class Blind(Odd):
        def seen(self, uris: Sequence[str]) -> list[Seen | None]:
            return [None if ".at-work-" in uri else one for uri, one in zip(uris, self.inner.seen(uris), strict=True)]

    place, ports = world.edges(Process())
    with pytest.raises(UnavailableError, match=r"which this job had just named so.*has no outcome yet"):
        clean(CleanRequest(RUN, resume=True), place, replace(ports, store=Blind(ports.store)))  # type: ignore[arg-type]
    assert open_paths(world) == {A}


@pytest.mark.parametrize("there", [RUN, PLACE.at_work(RUN, 1).rpartition("/")[2]])
def test_a_second_directory_of_a_run_that_was_not_shown_is_not_worked_in(there: str) -> None:
    """The next holder would take the empty one, and the files in the other would be out of sight."""
    world = cleaned()
    _, ports = world.edges(Process())
    if there != RUN:
        ports.store.rename_directory(PLACE.at_rest(RUN), f"{PLACE.home}/{there}")
    resting = world.resting()

    @dataclass
    class Blind(Odd):
        caught_up: bool = False

        def names(self, directory: str) -> list[str]:
            return [one for one in self.inner.names(directory) if one != there or self.caught_up]

        def make_directories(self, uris: Sequence[str]) -> None:
            self.inner.make_directories(uris)
            self.caught_up = uris != [PLACE.leases]

    said = f"shows .*{there}.* for run n1, and this job has just made"
    one = LeaseHolder(Blind(ports.store), PLACE, "one 1", LEASE_MS)  # type: ignore[arg-type]
    with pytest.raises(UnavailableError, match=said), one as holder:
        holder.take_run(RUN, make=True)
    assert runs_in(world.disk.names(PLACE.home)) == {RUN: there}
    assert world.resting() == resting


@pytest.mark.promise("holder-that-overslept-does-nothing")
def test_a_lease_below_another_that_was_taken_meanwhile_is_none() -> None:
    """The job slept between its look and its lease; the next holders have come, gone, and removed the old leases."""
    world = night()
    _, ports = world.edges(Process())

    def others() -> None:
        for number in (1, 2):
            with LeaseHolder(world.edges(Process())[1].store, PLACE, f"other {number}", LEASE_MS):
                pass

    names: list[str] = []
    LeaseHolder(world.edges(process := Process())[1].store, PLACE, "dry run", LEASE_MS).__enter__()
    names += process.steps
    world = night()
    process = Process(meanwhile={names.index("create 0000000001.json"): others})
    _, ports = world.edges(process)
    with pytest.raises(UnavailableError, match="lease 1 expired and another job holds lease 2"):
        LeaseHolder(ports.store, PLACE, "sleeper 9", LEASE_MS).__enter__()
    assert Lease(2, "").file_name in world.disk.names(PLACE.leases)


@pytest.mark.promise("look-that-is-behind-counts-for-nothing")
def test_a_lease_that_cannot_be_proven_is_given_back() -> None:
    world = night()
    _, ports = world.edges(Process(behind=Behind([0] * 6 + [1000] * 50)))
    with pytest.raises(UnavailableError, match="its answers are of an earlier time"):
        LeaseHolder(ports.store, PLACE, "behind 1", LEASE_MS).__enter__()
    with LeaseHolder(world.edges(Process())[1].store, PLACE, "next 2", LEASE_MS) as next_one:
        assert next_one.number == 2


# files that the second look did not list


@pytest.mark.promise("gone-is-looked-up")
def test_a_file_that_the_second_look_did_not_list_is_looked_up() -> None:
    world = night()
    world.hbase_cleans(B)
    place, ports = world.edges(Process())

    @dataclass
    class Blind:
        inner: Any

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the look has
            return getattr(self.inner, name)

        def at_list(self, *args: Any) -> Any:  # noqa: ANN401
            looked = self.inner.at_list(*args)
            gone = FileOutcome.ALREADY_GONE
            return replace(looked, files=[replace(one, outcome=gone, why="not listed") for one in looked.files])

    done = clean(CleanRequest(RUN, execute=True), place, replace(ports, second_look=Blind(ports.second_look)))  # type: ignore[arg-type]
    assert outcomes(world, Action.CLEAN) == {A: "REFUSED", B: "ALREADY_GONE", C: "REFUSED"}
    assert "the second look did not list it, but it is there" in done.text
    assert "1 are gone already: not below oldWALs any more. Who removed them is not known" in done.text


# a rehearsal changes nothing; a list ends


@pytest.mark.promise("clean-and-purge-rehearse")
def test_a_rehearsal_takes_no_step() -> None:
    world = night()
    for ready in (lambda: None, lambda: cleaning(RUN, 2)(world, Process())):
        ready()
        place, ports = world.edges(process := Process())
        if not world.actions(RUN):
            assert clean(CleanRequest(RUN), place, ports).result["status"] == "REHEARSAL"
        assert purge(PurgeRequest(before_grace="full"), place, ports).exit_code == 0
        assert process.steps == []


def test_a_rehearsal_says_what_is_not_settled_yet() -> None:
    world = night()
    with pytest.raises(UnavailableError):
        attempt(world, Action.CLEAN, odd(hides=".at-work-"))
    before = list(world.lake.deletions)
    said = purging(execute=False)(world, Process())
    assert said is not None
    assert "1 files that an earlier job began have no outcome yet; --execute looks them up first" in said.text
    place, ports = world.edges(Process())
    told = clean(CleanRequest(RUN), place, ports)
    assert "1 that an earlier job began have no outcome yet; --resume looks them up first" in told.text
    assert world.lake.deletions == before


def test_a_rehearsal_of_a_run_that_another_job_takes_says_so() -> None:
    world = cleaned()
    place, ports = world.edges(Process())
    renamed = PLACE.at_work(RUN, 9)
    look = ports.second_look.at_quarantine

    def taken(*args: Any) -> Any:  # noqa: ANN401
        found = look(*args)
        ports.store.rename_directory(PLACE.at_rest(RUN), renamed)
        return found

    ports.second_look.at_quarantine = taken  # type: ignore[method-assign]
    told = purge(PurgeRequest(before_grace="full"), place, ports)
    assert told.exit_code == EXIT_UNAVAILABLE
    assert "another job is at work on run n1" in told.text


@pytest.mark.promise("list-ends-in-the-middle")
def test_the_end_of_a_list_is_looked_at_before_every_batch_and_after_its_intents() -> None:
    """The first look is for a pause, the fifth comes after the second batch's intents, whose files do not move."""
    for looks, moved, refused in ((2, 0, 0), (3, 0, 2), (4, 2, 0), (5, 2, 1)):
        world = night()
        place, ports = world.edges(Process())
        clock = Clock(world, looks)
        done = clean(CleanRequest(RUN, execute=True), place, replace(ports, clock=clock))
        assert (done.exit_code, done.result["status"], done.result["done_files"]) == (3, "STOPPED", moved), looks
        assert done.result["left_files"] == refused, looks
        assert len(world.resting()) == moved
        assert open_paths(world) == set()
        assert f"{moved} files were moved, the others stay" in str(done.result["error"])
        world.disk.now += DAY_MS + 1
        with pytest.raises(RefusedError, match="the list is valid until"):
            cleaning(RUN)(world, Process())
    world = night()
    place, ports = world.edges(Process())
    assert clean(CleanRequest(RUN, execute=True), place, replace(ports, clock=Clock(world, 6))).exit_code == 0


@pytest.mark.promise("settled-by-the-file-system")
def test_past_its_end_a_list_is_settled_before_it_is_refused() -> None:
    world = night()
    with pytest.raises(UnavailableError):
        attempt(world, Action.CLEAN, odd(hides=".at-work-"))
    world.disk.now += DAY_MS + 1
    with pytest.raises(RefusedError, match="the list is valid until"):
        cleaning(RUN)(world, Process())
    assert open_paths(world) == set()
    assert outcomes(world, Action.CLEAN)[A] == "MOVED"


@dataclass
class Clock:
    """Says that the list has ended after so many looks at it; the first is that before the second look."""

    world: World
    looks: int

    def now_ms(self) -> int:
        self.looks -= 1
        return self.world.disk.now + (DAY_MS + 1 if self.looks < 0 else 0)
