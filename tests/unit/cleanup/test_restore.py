"""What restore puts back, where it stops, and what it writes and says about it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from pipelines.cleanup.deletions import CleanupAction, CleanupFile, CleanupTally, FileOutcome
from pipelines.cleanup.ports import Move
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.quarantined_files import STRAY
from pipelines.cleanup.restore import RestoreRequest, restore
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.common.job_result import JobResult
from tests.labs.cleanup.memory import Entry, MemoryStore, Process
from tests.labs.cleanup.world import LEASE_MS, PLACE, ROOT, World, cleaning

RUN = "n1"
FILES = [f"oldWALs/h1/wal.{number}" for number in (1, 2, 3)]
STRANGER = "oldWALs/h1/wal.9"


def night() -> World:
    """The files have 1, 2 and 3 bytes."""
    world = World()
    for path in FILES:
        world.archives(path, needed=False)
    world.night(RUN)
    return world


def cleaned() -> World:
    world = night()
    cleaning(RUN)(world, Process())
    world.disk.now += LEASE_MS
    return world


def done(world: World, *paths: str, **ports: Any) -> JobResult:  # noqa: ANN401 - of CleanupPorts
    place, own = world.edges(Process())
    return restore(RestoreRequest(RUN, paths), place, replace(own, **ports))


def written(world: World, *, intents: bool = False) -> list[tuple[int, str, FileOutcome | None]]:
    rows = [
        row for row in world.lake.deletions if row.action is CleanupAction.RESTORE and (row.result is None) == intents
    ]
    return [(row.batch, row.subject.path, row.result and row.result.outcome) for row in rows]


def statuses(world: World) -> list[str]:
    return [status for attempt, status in world.lake.cleanups if attempt.action is CleanupAction.RESTORE]


@pytest.mark.promise("restore-brings-back")
def test_every_batch_is_written_and_told() -> None:
    world = cleaned()
    told: list[str] = []
    outcome = done(world, tell=told.append)
    assert (outcome.result["status"], outcome.result["done_files"], outcome.result["done_bytes"]) == ("DONE", 3, 6)
    back = FileOutcome.RESTORED
    assert written(world, intents=True) == [(1, FILES[0], None), (1, FILES[1], None), (2, FILES[2], None)]
    assert written(world) == [(1, FILES[0], back), (1, FILES[1], back), (2, FILES[2], back)]
    assert [line.partition(" (")[0] for line in told] == ["restored 2 files", "restored 3 files"]
    assert statuses(world) == ["STARTED", "DONE"]
    assert set(world.home()) == set(FILES)


def test_a_run_without_files_is_refused_with_the_names_of_those_that_have_some() -> None:
    world = cleaned()
    world.night("n2")
    place, ports = world.edges(Process())
    with pytest.raises(UsageError, match=r"run n2 of prod has no files in .*Quarantined runs: n1$"):
        restore(RestoreRequest("n2"), place, ports)


@pytest.mark.promise("restore-gives-back-what-was-taken")
def test_what_is_not_put_back_is_written_with_its_reason() -> None:
    world = cleaned()
    world.disk.files[f"{PLACE.at_rest(RUN)}/{STRANGER}"] = Entry(10, 1)
    outcome = done(world)
    (left,) = outcome.result["left"]  # type: ignore[misc]
    assert (left["path"], left["outcome"]) == (STRANGER, "REFUSED")
    assert str(left["why"]).startswith("no audit row says that walsafe moved it here")
    assert (outcome.result["done_files"], outcome.result["left_files"], outcome.result["left_bytes"]) == (3, 1, 10)
    assert written(world)[0] == (0, STRANGER, FileOutcome.REFUSED)
    assert (outcome.exit_code, outcome.result["status"]) == (0, "DONE")


def test_a_restore_that_leaves_every_file_has_ended() -> None:
    world = cleaned()
    world.disk.files[f"{PLACE.at_rest(RUN)}/{STRANGER}"] = Entry(10, 1)
    for back in (3, 0):
        outcome = done(world)
        assert (outcome.result["status"], outcome.result["done_files"]) == ("DONE", back)
        assert outcome.result["left_files"] == 1
    assert statuses(world) == ["STARTED", "DONE"] * 2


@pytest.mark.promise("restore-gives-back-what-was-taken")
def test_nothing_below_old_wals_is_overwritten() -> None:
    world = cleaned()
    world.archives(FILES[0], needed=True)
    stays = world.home()[FILES[0]]
    outcome = done(world)
    (left,) = outcome.result["left"]  # type: ignore[misc]
    assert (left["path"], left["outcome"], left["why"]) == (FILES[0], "REFUSED", "a file of that name is there already")
    assert world.home()[FILES[0]] == stays
    assert set(world.home()) == set(FILES)
    assert {path for _, path in world.resting()} == {FILES[0]}


def test_only_the_files_that_are_asked_for_are_put_back_each_once() -> None:
    world = cleaned()
    outcome = done(world, FILES[2], FILES[0], FILES[2])
    assert outcome.result["done_files"] == 2
    assert {path for _, path in world.resting()} == {FILES[1]}
    again = done(world, FILES[0], FILES[1])
    assert (again.result["done_files"], again.result["left"]) == (1, [])
    assert not world.resting()


def test_a_file_is_also_named_as_in_the_list() -> None:
    world = cleaned()
    outcome = done(world, f"{ROOT}/{FILES[0]}", FILES[0], f"{ROOT}/{FILES[1]}")
    assert (outcome.exit_code, outcome.result["done_files"]) == (0, 2)
    assert "of the given files" not in outcome.text
    assert {path for _, path in world.resting()} == {FILES[2]}


@pytest.mark.parametrize("path", ["", "oldWALs//x", "oldWALs/../x", "hdfs://ns2/hbase/oldWALs/x", f"{ROOT}/", "/x"])
def test_a_path_that_no_file_can_have_is_named_before_anything_is_done(path: str) -> None:
    world = cleaned()
    before = dict(world.disk.files)
    with pytest.raises(UsageError, match=re.escape(f"{path!r} is not in the quarantine of run n1, nor below {ROOT}; ")):
        done(world, FILES[0], path)
    assert world.disk.files == before


def test_a_file_that_hbase_deleted_after_its_restore_does_not_keep_the_others_from_it() -> None:
    world = cleaned()
    done(world, FILES[0])
    world.hbase_cleans(FILES[0])
    again = done(world, *FILES[:2])
    assert (again.result["status"], again.result["done_files"], again.result["left"]) == ("DONE", 1, [])
    assert {path for _, path in world.resting()} == {FILES[2]}
    said = "1 of the given files are not in the quarantine; the table deletions says what became of them."
    assert said in again.text
    with pytest.raises(UsageError, match=rf"'{STRANGER}' is not in the quarantine"):
        done(world, FILES[0], STRANGER)
    assert "not in the quarantine" not in done(world, FILES[2], FILES[2]).text


def test_a_restore_of_a_run_says_how_many_files_that_were_moved_are_not_there() -> None:
    """Somebody took them out of the quarantine, or `clean.quarantine` was another place when they were moved."""
    said = f"1 files that walsafe moved are not in {PLACE.at_rest(RUN)}; `place` in the table deletions says where"
    for paths in ((), (FILES[1],)):
        world = cleaned()
        assert "that walsafe moved" not in done(cleaned(), *paths).text
        del world.disk.files[f"{PLACE.at_rest(RUN)}/{FILES[0]}"]
        outcome = done(world, *paths)
        assert (said in outcome.text) == (not paths)
        assert outcome.result["elsewhere_files"] == (0 if paths else 1)
        assert (outcome.exit_code, outcome.result["done_files"]) == (0, 1 if paths else 2)
    assert said in done(world).text, "the other one is back, and is not counted"


@pytest.mark.parametrize("purged", [True, False])
def test_a_file_that_no_restore_gave_back_is_named(*, purged: bool) -> None:
    """It was purged, or somebody took it out of the quarantine."""
    world = cleaned()
    place, ports = world.edges(Process())
    if purged:
        told: list[str] = []
        ports = replace(ports, tell=told.append, stop=lambda: bool(told))
        purge(PurgeRequest(RUN, "full", execute=True), replace(place, batch=1), ports)
    else:
        del world.disk.files[f"{PLACE.at_rest(RUN)}/{FILES[0]}"]
    done(world, FILES[1])
    with pytest.raises(UsageError, match=rf"'{FILES[0]}' is not in the quarantine"):
        done(world, FILES[0], FILES[2])
    assert {path for _, path in world.resting()} == {FILES[2]}


def test_a_file_that_hbase_deleted_before_its_rename_is_named() -> None:
    cleaning(RUN)(night(), rehearsed := Process())
    world = night()
    gone = {rehearsed.steps.index("move wal.1"): partial(world.hbase_cleans, FILES[0])}
    cleaning(RUN)(world, Process(meanwhile=gone))
    with pytest.raises(UsageError, match=rf"'{FILES[0]}' is not in the quarantine"):
        done(world, FILES[0], FILES[1])
    done(world, FILES[1])
    again = done(world, FILES[0])
    assert (again.exit_code, again.result["done_files"]) == (0, 0)
    assert "1 of the given files are not in the quarantine" in again.text


def test_a_file_that_clean_left_where_it_was_is_back_already() -> None:
    world = night()
    world.needed.add(world.home()[FILES[0]].modification_time)
    cleaning(RUN)(world, Process())
    assert done(world, FILES[0], FILES[1]).result["done_files"] == 1
    assert {path for _, path in world.resting()} == {FILES[2]}


@pytest.mark.promise("restore-gives-back-what-was-taken")
@pytest.mark.parametrize("audited", [False, True])
def test_what_is_not_below_old_wals_of_the_run_is_named_and_stays(*, audited: bool) -> None:
    """Also if rows of the audit say that clean moved it there."""
    stray = "remoteWALs/1/wal.9"
    world = cleaned()
    world.disk.files[f"{PLACE.at_rest(RUN)}/{stray}"] = Entry(10, 1)
    if audited:
        rows = [row for row in world.lake.deletions if row.subject.path == FILES[0]]
        world.lake.deletions += [replace(row, subject=CleanupFile(stray, 10, 1)) for row in rows]
    with pytest.raises(UsageError, match=f"'{stray}' is not in the quarantine"):
        done(world, stray)
    outcome = done(world)
    (left,) = outcome.result["left"]  # type: ignore[misc]
    assert (left["path"], left["outcome"], left["why"]) == (stray, "REFUSED", STRAY)
    assert {path for _, path in world.resting()} == {stray}


def test_a_file_that_is_nowhere_is_named_and_nothing_is_put_back() -> None:
    world = cleaned()
    for path in (STRANGER, "wal.1"):
        with pytest.raises(UsageError, match=rf"'{path}' is not in the quarantine of run n1, nor below {ROOT}"):
            done(world, FILES[0], path)
    assert not world.home()
    assert statuses(world) == []


@pytest.mark.parametrize("after", [0, 1])
def test_a_wish_to_stop_is_heard_before_each_batch(after: int) -> None:
    world = cleaned()
    told: list[str] = []
    outcome = done(world, tell=told.append, stop=lambda: len(told) >= after)
    moved = 2 * after
    assert (outcome.result["status"], outcome.result["done_files"], outcome.exit_code) == ("STOPPED", moved, 0)
    assert "Stopped because a person asked for it; the same command goes on." in outcome.text
    assert statuses(world) == ["STARTED", "STOPPED"]
    assert set(world.home()) == set(FILES[:moved])
    assert len(written(world, intents=True)) == moved


def test_a_wish_to_stop_during_the_last_batch_changes_nothing() -> None:
    world = cleaned()
    told: list[str] = []
    outcome = done(world, FILES[0], FILES[1], tell=told.append, stop=lambda: bool(told))
    assert outcome.result["status"] == "DONE"
    assert "Stopped" not in outcome.text
    assert statuses(world) == ["STARTED", "DONE"]


class BugError(Exception):
    """What nobody has foreseen."""


@pytest.mark.parametrize(
    "error",
    [
        UnavailableError("no answer"),
        RefusedError(Condition.CLUSTER_NOT_QUIET, "no"),
        UsageError("no permission"),
        BugError(),
        KeyboardInterrupt(),
    ],
)
def test_however_it_fails_it_is_written(error: BaseException) -> None:
    """With the sums of the batches before it."""
    world = cleaned()

    class Broken(MemoryStore):
        def move(self, moves: Sequence[Move]) -> list[str | None]:
            if moves[0].source.endswith(FILES[2]):
                raise error
            return super().move(moves)

    with pytest.raises(type(error)):
        done(world, store=Broken(world.disk, Process()))
    assert statuses(world) == ["STARTED", "REFUSED" if isinstance(error, RefusedError) else "FAILED"]
    assert world.lake.endings[-1].tally == CleanupTally(2, 3)
    assert world.lake.endings[-1].exit_code == getattr(error, "exit_code", None)
    assert {path for _, path in world.resting()} == {FILES[2]}


def test_a_run_that_never_ended_here_is_not_restored() -> None:
    place, ports = cleaned().edges(Process())
    with pytest.raises(RefusedError, match="run n9 of cluster prod never ended in this lake"):
        restore(RestoreRequest("n9"), place, ports)
    with pytest.raises(UsageError, match=r"--run-id '\.\./n1' must match"):
        restore(RestoreRequest("../n1"), place, ports)
