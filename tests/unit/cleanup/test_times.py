"""How long the clean-up waits: the lease of a job that died, and the grace before a purge, to the millisecond."""

import pytest

from pipelines.cleanup.deletions import CleanupAction, CleanupFile, FileOutcome
from pipelines.cleanup.intent_outcome import REPLACED, FoundPlaces, outcome_of_intent
from pipelines.cleanup.lease import Lease, may_take, parse_lease
from pipelines.common.errors import UnavailableError
from pipelines.common.instants import DAY_MS
from tests.labs.cleanup.memory import Process
from tests.labs.cleanup.world import FIRST, LEASE_MS, START, World, cleaning, purging, restoring

N1 = "n1"
FILES = [f"oldWALs/h1/wal.{number}" for number in range(6)]
GRACE_MS = 7 * DAY_MS


def world_after_a_night() -> World:
    world = World()
    for path in FILES:
        world.archives(path, needed=False)
    world.night(N1)
    return world


def test_a_lease_is_read_back_as_it_was_written() -> None:
    for lease in (Lease(4, "x"), Lease(4, "x", released=True)):
        assert lease.text().endswith("}\n")
        assert parse_lease(4, lease.text()) == lease


@pytest.mark.parametrize("text", [None, "", "x", "[]", "{}", '{"holder": "x"}'])
def test_a_lease_that_does_not_say_who_holds_it_is_held(text: str | None) -> None:
    """Its creator died before it had written the text, or somebody removed the file."""
    assert parse_lease(4, text) == Lease(4, "somebody who died while taking it", released=False)


@pytest.mark.parametrize(
    ("newest", "age", "number"), [(None, 999, FIRST), (None, 1000, FIRST + 1), (Lease(4, "x", released=True), 0, 5)]
)
def test_a_lease_that_nobody_holds_may_be_taken_at_once(newest: Lease | None, age: int, number: int) -> None:
    assert may_take(newest, START, START + age, LEASE_MS, "leases") == number


@pytest.mark.promise("one-at-a-time")
@pytest.mark.parametrize("age", [0, LEASE_MS // 2, LEASE_MS - 1])
def test_a_held_lease_may_not_be_taken_before_it_expires(age: int) -> None:
    with pytest.raises(UnavailableError, match="another job is at work"):
        may_take(Lease(4, "x"), START, START + age, LEASE_MS, "leases")


def test_a_held_lease_may_be_taken_when_it_expires() -> None:
    assert may_take(Lease(4, "x"), START, START + LEASE_MS, LEASE_MS, "leases") == 5


@pytest.mark.promise("one-at-a-time")
def test_a_job_that_works_for_longer_than_its_lease_keeps_it() -> None:
    """It renews the lease between its batches of two files, so another job never finds it expired."""
    world = world_after_a_night()
    refused: list[int] = []

    def later() -> None:
        world.disk.now += LEASE_MS * 3 // 5
        with pytest.raises(UnavailableError, match="another job is at work"):
            restoring(N1)(world, Process())
        refused.append(world.disk.now)

    rehearsed = Process()
    cleaning(N1)(world_after_a_night(), rehearsed)
    begins = [number for number, name in enumerate(rehearsed.steps) if name == "intend"]
    assert len(begins) == 3
    cleaning(N1)(world, Process(meanwhile=dict.fromkeys(begins, later)))
    assert len(refused) == 3
    assert {path for _, path in world.resting()} == set(FILES)


@pytest.mark.promise("only-purge-deletes", "purge-after-seven-days-or-with-a-reason")
def test_files_rest_for_the_whole_grace() -> None:
    world = world_after_a_night()
    cleaning(N1)(world, Process())
    world.disk.now = START + GRACE_MS - 1
    purging(words=None)(world, Process())
    assert len(world.resting()) == len(FILES)
    world.disk.now = START + GRACE_MS
    purging(words=None)(world, Process())
    assert not world.resting()
    world.check()


def test_the_grace_begins_with_the_file_that_was_moved_last() -> None:
    world = world_after_a_night()
    cleaning(N1, max_files=2)(world, Process())
    world.disk.now = START + DAY_MS
    cleaning(N1)(world, Process())
    world.disk.now = START + GRACE_MS + DAY_MS - 1
    purging(words=None)(world, Process())
    assert len(world.resting()) == len(FILES)
    world.disk.now += 1
    purging(words=None)(world, Process())
    assert not world.resting()


@pytest.mark.promise("purge-deletes-what-was-moved")
def test_a_purge_leaves_a_file_that_was_replaced_since_its_second_look() -> None:
    world = world_after_a_night()
    cleaning(N1)(world, Process())
    rehearsed = Process()
    again = world_after_a_night()
    cleaning(N1)(again, Process())
    purging()(again, rehearsed)
    number = rehearsed.steps.index("intend")

    def replaced() -> None:
        (uri,) = (uri for uri in world.disk.files if uri.endswith("/h1/wal.0"))
        world.disk.files[uri] = type(world.disk.files[uri])(1, START + 1)

    purging()(world, Process(meanwhile={number: replaced}))
    assert [path for _, path in world.resting()] == [FILES[0]]


SUBJECT = CleanupFile(FILES[0], 1, START)


@pytest.mark.promise("settled-by-the-file-system")
@pytest.mark.parametrize(
    ("action", "found", "archive", "outcome"),
    [
        (CleanupAction.CLEAN, FoundPlaces(at_home=False, in_quarantine=True), None, FileOutcome.MOVED),
        (CleanupAction.CLEAN, FoundPlaces(at_home=True, in_quarantine=False), None, FileOutcome.FAILED),
        (CleanupAction.CLEAN, FoundPlaces(at_home=False, in_quarantine=False), None, FileOutcome.ALREADY_GONE),
        (CleanupAction.RESTORE, FoundPlaces(at_home=True, in_quarantine=False), None, FileOutcome.RESTORED),
        (CleanupAction.RESTORE, FoundPlaces(at_home=False, in_quarantine=True), None, FileOutcome.FAILED),
        (CleanupAction.PURGE, FoundPlaces(at_home=False, in_quarantine=True), None, FileOutcome.FAILED),
        (CleanupAction.PURGE, FoundPlaces(at_home=False, in_quarantine=False), None, FileOutcome.PURGED),
        (CleanupAction.PURGE, FoundPlaces(at_home=False, in_quarantine=False), "file:/archive/x", FileOutcome.ARCHIVED),
        (CleanupAction.PURGE, FoundPlaces(at_home=True, in_quarantine=False), None, FileOutcome.ALREADY_GONE),
        (CleanupAction.PURGE, FoundPlaces(at_home=True, in_quarantine=False), "file:/a/x", FileOutcome.ALREADY_GONE),
    ],
)
def test_an_intent_without_an_outcome_gets_the_one_that_the_file_system_shows(
    action: CleanupAction, found: FoundPlaces, archive: str | None, outcome: FileOutcome
) -> None:
    assert outcome_of_intent(action, SUBJECT, found, "hdfs://ns1/quarantine/x", archive).outcome is outcome


def test_unless_it_is_said_nothing_has_taken_the_name_in_the_quarantine() -> None:
    nowhere = FoundPlaces(at_home=False, in_quarantine=False)
    assert outcome_of_intent(CleanupAction.CLEAN, SUBJECT, nowhere, "x").outcome is FileOutcome.ALREADY_GONE
    taken = FoundPlaces(at_home=False, in_quarantine=False, taken=True)
    assert outcome_of_intent(CleanupAction.CLEAN, SUBJECT, taken, "x").outcome is FileOutcome.FAILED
    for action in (CleanupAction.RESTORE, CleanupAction.PURGE):
        changed = outcome_of_intent(action, SUBJECT, taken, "x", "file:/archive/x")
        assert (changed.outcome, changed.place, changed.why) == (FileOutcome.CHANGED, "x", REPLACED)
    back = FoundPlaces(at_home=True, in_quarantine=False, taken=True)
    assert outcome_of_intent(CleanupAction.RESTORE, SUBJECT, back, "x").outcome is FileOutcome.RESTORED
    assert outcome_of_intent(CleanupAction.PURGE, SUBJECT, back, "x").outcome is FileOutcome.CHANGED
