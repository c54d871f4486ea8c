"""What clean, restore and purge conclude from single answers of a file system, and what they leave open."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pipelines.cleanup.deletions import CleanupAction, FileOutcome
from pipelines.cleanup.ports import Move
from pipelines.cleanup.stores.store_failures import parse_failure
from pipelines.common.errors import UnavailableError, WalsafeError
from tests.labs.cleanup.memory import Process
from tests.labs.cleanup.odd_store import BROKEN, RUN, A, B, C, Odd, attempt, cleaned, night, odd, open_paths, outcomes
from tests.labs.cleanup.world import LEASE_MS, ROOT, cleaning, purging, restoring

REFUSED = "DSQuotaExceededException: The DiskSpace quota is exceeded"
DONE = {CleanupAction.CLEAN: "MOVED", CleanupAction.RESTORE: "RESTORED", CleanupAction.PURGE: "PURGED"}
WORK = {
    CleanupAction.CLEAN: ("moving", "clean --resume"),
    CleanupAction.RESTORE: ("putting back", "The same command"),
    CleanupAction.PURGE: ("deleting", "The next restore, or purge --execute,"),
}
AGAIN = {CleanupAction.CLEAN: cleaning(RUN), CleanupAction.RESTORE: restoring(RUN), CleanupAction.PURGE: purging()}


@pytest.mark.promise("unseen-gets-no-outcome")
@pytest.mark.parametrize(
    ("action", "how"),
    [
        pytest.param(CleanupAction.CLEAN, {"hides": ".at-work-"}, id="clean: acknowledged, not seen"),
        pytest.param(
            CleanupAction.RESTORE, {"answers": None, "does": False}, id="restore: acknowledged, still in the quarantine"
        ),
        pytest.param(CleanupAction.CLEAN, {"answers": BROKEN, "does": False}, id="clean: connection broken, not done"),
        pytest.param(
            CleanupAction.CLEAN,
            {"answers": BROKEN, "hides": ".at-work-"},
            id="clean: connection broken, done, not seen",
        ),
        pytest.param(
            CleanupAction.RESTORE, {"answers": BROKEN, "does": False}, id="restore: connection broken, not done"
        ),
        pytest.param(
            CleanupAction.PURGE,
            {"answers": None, "does": False, "call": "delete"},
            id="purge: acknowledged, still there",
        ),
        pytest.param(
            CleanupAction.PURGE,
            {"answers": BROKEN, "does": False, "call": "delete"},
            id="purge: connection broken, not done",
        ),
    ],
)
def test_what_may_have_been_done_and_is_not_seen_has_no_outcome_yet(action: CleanupAction, how: dict[str, Any]) -> None:
    """The others of the batch have theirs; the next job of the run looks it up, and ends the work."""
    world = night() if action is CleanupAction.CLEAN else cleaned()
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
@pytest.mark.parametrize("action", list(CleanupAction))
def test_what_was_done_though_the_answer_was_lost_is_seen(action: CleanupAction) -> None:
    world = night() if action is CleanupAction.CLEAN else cleaned()
    call = "delete" if action is CleanupAction.PURGE else "move"
    assert attempt(world, action, odd(answers=BROKEN, call=call)).exit_code == 0
    assert outcomes(world, action) == dict.fromkeys((A, B, C), DONE[action])


@pytest.mark.parametrize("action", list(CleanupAction))
def test_a_plain_no_of_the_file_system_is_failed_with_its_words(action: CleanupAction) -> None:
    world = night() if action is CleanupAction.CLEAN else cleaned()
    call = "delete" if action is CleanupAction.PURGE else "move"
    done = attempt(world, action, odd(answers=REFUSED, does=False, call=call))
    assert done.exit_code == 4
    assert REFUSED in done.text
    assert ("solve this, then go on with --resume." in done.text) == (action is CleanupAction.CLEAN)
    assert outcomes(world, action) == {A: "FAILED", B: DONE[action], C: DONE[action]}


@pytest.mark.parametrize("action", list(CleanupAction))
def test_no_job_begins_while_the_quarantine_takes_no_new_file(action: CleanupAction) -> None:
    """As with a full name quota, which also refuses the files that prove a look."""
    world = night() if action is CleanupAction.CLEAN else cleaned()
    before = dict(world.disk.files)

    class Full(Odd):
        def replace(self, uri: str, text: str) -> None:
            raise UnavailableError(f"creating {uri}: NSQuotaExceededException, instead of {text!r}")

    with pytest.raises(UnavailableError, match="NSQuotaExceededException"):
        attempt(world, action, lambda ports: replace(ports, store=Full(ports.store)))  # type: ignore[arg-type]
    assert world.disk.files == before
    assert attempt(world, action, lambda ports: ports).exit_code == 0
    assert outcomes(world, action) == dict.fromkeys((A, B, C), DONE[action])


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
        attempt(world, CleanupAction.CLEAN, lambda ports: replace(ports, store=Late(ports.store, **ports_of)))  # type: ignore[arg-type]
    except WalsafeError as problem:
        error = type(problem)
    told = outcomes(world, CleanupAction.CLEAN)
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
