"""Which runs purge takes, and with which reason."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.quarantined_files import resting_files
from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS
from pipelines.files.file_batch import FileBatch
from tests.labs.cleanup.memory import MemoryStore, Process
from tests.labs.cleanup.purges import FULL, N1, N2, N3, NAMES, cleaned, done, rows, runs_of, statuses
from tests.labs.cleanup.world import PLACE, World, purging


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
    with pytest.raises(UsageError, match=rf"run n3 of prod has nothing in {PLACE.root}. Quarantined runs: n1, n2$"):
        purging(N3)(world, Process())
    with pytest.raises(UsageError, match=r"Quarantined runs: none$"):
        purging(N1)(World(), Process())


def test_a_run_that_vanishes_before_it_is_taken_is_named() -> None:
    class Late(MemoryStore):
        def names(self, directory: str) -> list[str]:
            found = super().names(directory)
            if N1 in found:
                self._rename(PLACE.at_rest(N1), f"{PLACE.root}/elsewhere")
            return found

    for execute in (True, False):
        world = cleaned()
        store = Late(world.disk, Process())
        with pytest.raises(UsageError, match=f"run n1 vanished from {PLACE.home}; try again"):
            done(world, PurgeRequest(N1, FULL, execute=execute), store=store)


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
