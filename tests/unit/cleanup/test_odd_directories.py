"""Files and directories in the quarantine that are not what clean put there."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.common.errors import RefusedError, UnavailableError
from pipelines.common.job_result import JobResult
from tests.labs.cleanup.memory import Disk, Entry, Kill, MemoryStore, Process
from tests.labs.cleanup.world import LEASE_MS, PLACE, World, cleaning, killed, purging, restoring

N1, N2, N3 = "n1", "n2", "n3"
FILES = [f"oldWALs/h1/wal.{number}" for number in (1, 2, 3)]


def cleaned(*nights: str) -> World:
    """Each night found files of its own, and they were cleaned."""
    world = World()
    for night in nights or (N1,):
        for path in FILES:
            world.archives(path if night == N1 else f"{path}.{night}", needed=False)
        world.night(night)
        cleaning(night)(world, Process())
    return world


def swapped() -> tuple[World, Entry]:
    """Another file takes the name between the look and the rename, and the job dies before it can move it back."""
    world = World()
    world.archives(FILES[0], needed=False)
    world.night(N1)
    undisturbed = Process()
    cleaning(N1)(deepcopy(world), undisturbed)
    rename = undisturbed.steps.index("move wal.1")
    anew = Process(Kill(rename, after=True), {rename: partial(world.archives, FILES[0], needed=True)})
    assert killed(cleaning(N1), world, anew)
    (stuck,) = world.resting().values()
    return world, stuck


def put(world: World, run_id: str, path: str, entry: Entry) -> None:
    world.disk.files[f"{PLACE.at_rest(run_id)}/{path}"] = entry


@pytest.mark.promise("restore-gives-back-what-was-taken")
def test_restore_puts_back_the_very_files_that_were_moved() -> None:
    world = cleaned()
    first, second, third = (world.resting()[N1, path] for path in FILES)
    put(world, N1, FILES[0], replace(first, length=first.length + 1))
    put(world, N1, FILES[1], replace(second, modification_time=second.modification_time + 1))
    put(world, N1, "oldWALs/h1/wal.9", Entry(1, 1))
    done = restoring(N1)(world, Process())
    assert done is not None
    left = {one["path"]: one["outcome"] for one in done.result["left"]}  # type: ignore[attr-defined, union-attr]
    assert left == {FILES[0]: "CHANGED", FILES[1]: "CHANGED", "oldWALs/h1/wal.9": "REFUSED"}
    assert (done.exit_code, done.result["done_files"], done.result["left_files"]) == (0, 1, 3)
    assert world.home() == {FILES[2]: third}
    assert {path for _, path in world.resting()} == set(left)


def test_restore_puts_back_what_clean_took_for_another_file_and_could_not_move_back() -> None:
    world, stuck = swapped()
    assert stuck.modification_time in world.needed
    world.disk.now += LEASE_MS
    assert purging()(world, Process()) is not None
    assert list(world.resting().values()) == [stuck], "nobody deletes it"
    world.disk.now += LEASE_MS
    restoring(N1)(world, Process())
    assert world.home() == {FILES[0]: stuck}


@pytest.mark.promise("gone-is-looked-up")
@pytest.mark.parametrize("taken", [False, True])
def test_resume_names_the_file_that_was_moved_in_the_place_of_another(*, taken: bool) -> None:
    """Nobody sees what the settling wrote, and the file of the list is gone: only this answer says where the other is.

    Args:
        taken: whether HBase archives one more file of that name.
    """
    world, stuck = swapped()
    if taken:
        world.archives(FILES[0], needed=True)
    for _ in range(2):
        world.disk.now += LEASE_MS
        done = cleaning(N1)(world, Process())
        assert done is not None
        assert (done.exit_code, done.result["left_files"], done.result["gone_files"]) == (4, 1, 0)
        assert f"FAILED   {FILES[0]}: a file of its name rests in the quarantine; restore with this path" in done.text
        assert "1 files could not be moved; restore with their paths, which ends the clean-up" in done.text
        assert "go on with --resume" not in done.text, "it would refuse after the restore"
        row = world.lake.deletions[-1]
        assert row.result is not None
        assert row.result.place == f"{PLACE.at_rest(N1)}/{FILES[0]}"
        world.check()
    world.disk.now += LEASE_MS
    restoring(N1, FILES[0])(world, Process())
    assert (world.home()[FILES[0]] == stuck) != taken
    world.check()


def answered(outcome: JobResult | None) -> dict[str, tuple[str, int]]:
    """Status and files that were deleted, by run."""
    assert outcome is not None
    runs: list[dict[str, Any]] = outcome.result["runs"]  # type: ignore[assignment]
    return {one["run_id"]: (one["status"], one["done_files"]) for one in runs}


ODD = {
    "a directory of another lake": "n1x",
    "a name that is no run id": "n1 (copy)",
    "a directory that somebody works on": ".at-work-0000000001-n1y",
}


@pytest.mark.promise("exit-5", "odd-file-stops-nothing-else")
@pytest.mark.parametrize("name", ODD.values(), ids=ODD)
def test_an_odd_directory_is_named_and_stops_no_run(name: str) -> None:
    world = cleaned(N1, N2)
    odd = f"{PLACE.home}/{name}"
    world.disk.make(f"{odd}/oldWALs")
    world.disk.files[f"{odd}/oldWALs/wal.1"] = Entry(1, 1)
    for execute in (False, True):
        done = purging(execute=execute)(world, Process())
        run = name.removeprefix(".at-work-0000000001-")
        status = "DONE" if execute else "REHEARSAL"
        assert answered(done) == {N1: (status, 3), N2: (status, 3), run: ("REFUSED", 0)}
        assert done is not None
        assert done.exit_code == 5
        for text in (done.text, str(done.result["error"])):
            assert f"{odd} belongs to no run of prod that ended in this lake" in text
            assert "--run-id" not in text
    assert [uri for uri in world.disk.files if "/oldWALs/" in uri] == [f"{odd}/oldWALs/wal.1"]
    alone = purging()(world, Process())
    assert alone is not None
    assert (answered(alone), alone.exit_code) == ({run: ("REFUSED", 0)}, 3)


def test_a_run_that_is_asked_for_by_name_is_refused_as_ever() -> None:
    world = cleaned(N1)
    world.disk.make(f"{PLACE.at_rest('x')}/oldWALs")
    with pytest.raises(RefusedError, match=r"run x of cluster prod never ended in this lake: check --run-id"):
        purging("x")(world, Process())


@pytest.mark.promise("odd-file-stops-nothing-else")
def test_a_run_of_another_cluster_id_stops_no_other() -> None:
    world = cleaned(N1, N2, N3)
    world.lake.decided[N1] = replace(world.lake.decided[N1], cluster_id="another")
    done = purging()(world, Process())
    assert done is not None
    assert answered(done) == {N1: ("REFUSED", 0), N2: ("DONE", 3), N3: ("DONE", 3)}
    assert done.exit_code == 5
    assert "n1: REFUSED: the files were decided on for the cluster with id another" in done.text
    assert "1 of 3 runs in quarantine need a look: n1" in done.text
    assert {run for run, _ in world.resting()} == {N1}
    assert [status for attempt, status in world.lake.cleanups if attempt.run.run_id == N1][-1] == "REFUSED"


def test_all_runs_refused_is_a_refusal() -> None:
    world = cleaned(N1, N2)
    for run_id in (N1, N2):
        world.lake.decided[run_id] = replace(world.lake.decided[run_id], cluster_id="another")
    done = purging()(world, Process())
    assert done is not None
    assert (answered(done), done.exit_code) == ({N1: ("REFUSED", 0), N2: ("REFUSED", 0)}, 3)
    error: Any = done.result["error"]
    assert (error["kind"], error["condition"]) == ("RefusedError", "ANOTHER_CLUSTER")
    runs: Any = done.result["runs"]
    assert [one["condition"] for one in runs] == ["ANOTHER_CLUSTER", "ANOTHER_CLUSTER"]


class Unanswered(MemoryStore):
    """A file system that stops answering at one run's files, or at everything after them."""

    def __init__(self, disk: Disk, process: Process, *, run_id: str, for_good: bool) -> None:
        super().__init__(disk, process)
        self._run_id = run_id
        self._for_good = for_good
        self._gone = False

    def delete(self, uris: Sequence[str]) -> list[str | None]:
        if any(uri.endswith(f"3.{self._run_id}") for uri in uris):
            self._gone = self._for_good
            raise UnavailableError("the name node does not answer; try again")
        return super().delete(uris)

    def names(self, directory: str) -> list[str]:
        if self._gone:
            raise UnavailableError("the name node does not answer; try again")
        return super().names(directory)


@pytest.mark.parametrize("for_good", [False, True])
def test_what_was_purged_is_in_the_answer_whatever_happens_after_it(for_good: bool) -> None:
    """A batch is of two files: two of the second run are gone when the third is not answered."""
    world = cleaned(N1, N2, N3)
    place, ports = world.edges(Process())
    store = Unanswered(world.disk, Process(), run_id=N2, for_good=for_good)
    told: list[str] = []
    done = purge(PurgeRequest(None, "full", execute=True), place, replace(ports, store=store, tell=told.append))
    last = ("NOT_BEGUN", 0) if for_good else ("DONE", 3)
    assert answered(done) == {N1: ("DONE", 3), N2: ("FAILED", 2), N3: last}
    assert done.exit_code == 4
    assert "n2: FAILED: the name node does not answer" in done.text
    assert "n2: 2 files" in done.text
    assert {(run, path.rpartition("/")[2]) for run, path in world.resting()} >= {(N2, "wal.3.n2")}
    assert any(line.startswith("n1: 3 files") for line in told), "in the log as soon as it is done"
    assert [status for attempt, status in world.lake.cleanups if attempt.run.run_id == N2][-1] == "FAILED"


def test_a_wish_to_stop_is_heard_between_two_runs() -> None:
    world = cleaned(N1, N2)
    place, ports = world.edges(Process())
    told: list[str] = []
    ports = replace(ports, tell=told.append, stop=lambda: bool(told))
    done = purge(PurgeRequest(None, "full", execute=True), place, ports)
    assert answered(done) == {N1: ("STOPPED", 2), N2: ("NOT_BEGUN", 0)}
    assert done.exit_code == 0
    assert "n2: NOT_BEGUN: a person asked for an end" in done.text


def test_a_wish_to_stop_is_heard_after_a_run_that_was_refused() -> None:
    """What was not begun says nothing of what was: all that was looked at was refused."""
    world = cleaned(N1, N2)
    world.lake.decided[N1] = replace(world.lake.decided[N1], cluster_id="another")
    place, ports = world.edges(Process())
    done = purge(PurgeRequest(None, "full", execute=True), place, replace(ports, stop=lambda: True))
    assert answered(done) == {N1: ("REFUSED", 0), N2: ("NOT_BEGUN", 0)}
    assert done.exit_code == 3


class SlowArchive:
    """An archive; while it copies, somebody replaces one file and takes another."""

    def __init__(self, world: World) -> None:
        self._world = world

    def place(self, name: str) -> str:
        return f"hdfs://cold/archive/{name}"

    def keep(self, sources: Sequence[str], names: Sequence[str]) -> list[tuple[str, str | None]]:
        for uri in sources:
            if uri.endswith(FILES[0]):
                old = self._world.disk.files[uri]
                self._world.disk.files[uri] = replace(old, modification_time=old.modification_time + 1)
            if uri.endswith(FILES[1]):
                del self._world.disk.files[uri]
        return [(self.place(name), None) for name in names]


@pytest.mark.promise("archive-is-compared")
def test_what_was_replaced_while_it_was_archived_is_not_deleted() -> None:
    world = cleaned()
    place, ports = world.edges(Process())
    done = purge(PurgeRequest(None, "full", execute=True), place, replace(ports, archive=SlowArchive(world)))
    (run,) = done.result["runs"]  # type: ignore[misc]
    assert {one["path"]: one["outcome"] for one in run["left"]} == {FILES[0]: "CHANGED"}
    assert (run["done_files"], run["left_files"], run["gone_files"]) == (1, 1, 1)
    assert {path for _, path in world.resting()} == {FILES[0]}
