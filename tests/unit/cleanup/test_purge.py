"""What purge deletes, and what it writes and says about it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from pipelines.cleanup.audit_ports import SecondLookResult
from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.quarantine import runs_in
from pipelines.cleanup.quarantined_files import STRAY
from pipelines.common.instants import DAY_MS
from tests.labs.cleanup.memory import MemoryStore, Process
from tests.labs.cleanup.purges import N1, NAMES, cleaned, done, outcomes, put, rows, runs_of
from tests.labs.cleanup.world import LEASE_MS, PLACE, START, World, purging, restoring

NO = "DSQuotaExceededException: The DiskSpace quota is exceeded"


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


def emptied(world: World) -> None:
    for _, path in world.resting():
        del world.disk.files[f"{PLACE.at_rest(N1)}/{path}"]


def test_a_run_without_files_ends_without_a_look_at_the_cluster() -> None:
    """Nothing can wait there, and nothing can be refused."""
    for execute in (False, True):
        world = cleaned()
        emptied(world)
        world.lake.decided[N1] = replace(world.lake.decided[N1], cluster_id="another")
        place, ports = world.edges(Process())
        ports.second_look.at_quarantine = not_asked  # type: ignore[method-assign]
        (run,) = runs_of(purge(PurgeRequest(execute=execute), place, ports)).values()
        assert (run["status"], run["left"]) == ("DONE" if execute else "REHEARSAL", [])
        assert runs_in(world.disk.names(PLACE.home)) == ({} if execute else {N1: N1})


def not_asked(*_: object) -> SecondLookResult:
    raise AssertionError


@pytest.mark.promise("odd-file-stops-nothing-else")
@pytest.mark.parametrize("wals", [True, False])
def test_what_is_not_below_old_wals_is_named_and_stays(*, wals: bool) -> None:
    """Its directory stays with it, however often the run is purged."""
    world = cleaned()
    if not wals:
        emptied(world)
    strays = ["notes/why.txt", "oldWALs.txt"]
    for path in strays:
        put(world, N1, path)
    for _ in range(2):
        answer = purging()(world, Process())
        (run,) = runs_of(answer).values()
        assert [(one["path"], one["outcome"], one["why"]) for one in run["left"]] == [
            (path, "REFUSED", STRAY) for path in strays
        ]
        assert (run["status"], run["left_files"]) == ("DONE", 2)
        assert answer is not None
        assert f"REFUSED  notes/why.txt: {STRAY}" in answer.text
        assert {path for _, path in world.resting()} == set(strays)


# what is left, and what is written


def test_many_files_that_are_left_are_written_in_batches() -> None:
    """After a finding that holds all files was acknowledged, there may be hundreds of thousands of them."""
    world = cleaned()
    for number in range(5):
        put(world, N1, f"oldWALs/h1/stranger.{number}")
    for job, deletes in ((purging(), 2), (restoring(N1), 0)):
        process = Process()
        job(world, process)
        assert process.steps.count("record") == 3 + deletes
    assert sum(row.result is not None and row.batch == 0 for row in rows(world)) == 5


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
    intended = {row.subject.path: row.place for row in rows(world) if not row.result}
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
