"""The order in which a capture asks, its patience with who does not answer, and when it begins anew."""

from dataclasses import replace

import pytest

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.table_queue_storage import table_view
from pipelines.hbase.peers import Peer
from pipelines.snapshot.capture_order import CAPTURE_ORDER
from pipelines.snapshot.model import Backup
from tests.labs.capture_world import AT_REST, CALM, H1, H2, THE_REST, World


@pytest.mark.promise("capture-order")
def test_everything_is_asked_in_the_order_that_loses_nothing() -> None:
    world = World()
    captured = world.capture()
    assert world.asked == ["settings", "files", *THE_REST]
    snapshot = world.finished
    assert snapshot is not None
    assert snapshot is captured.snapshot
    assert tuple(step.step for step in snapshot.steps) == CAPTURE_ORDER
    times = [time for step in snapshot.steps for time in (step.started_at, step.finished_at)]
    assert times == sorted(times)
    assert snapshot.flags == CALM
    assert snapshot.flags_2 == replace(CALM, add_peer_running=True)
    assert snapshot.membership is not None
    assert (snapshot.membership.online, snapshot.membership.crashing) == ({H1}, {H2})
    assert [directory.server for directory in snapshot.membership.wal_directories] == [H1]
    assert (captured.files, captured.cells, captured.restless) == (1, 1, None)
    assert snapshot.clock_host == "edge"


@pytest.mark.promise("backups-are-read-after-the-files")
def test_neighbours_are_read_with_the_peers_and_only_where_there_are_any() -> None:
    """Behind the files, so that a backup begun later needs none of them, and before the queues for barriers."""
    world = World(backup=Backup(enabled=True), peer=Peer("1", "ENABLED", serial=True))
    world.capture()
    at = world.asked.index("flags:peers")
    assert world.asked[at + 1 : at + 4] == ["backups", "barriers", "queues-1"]
    assert world.finished is not None
    assert tuple(step.step for step in world.finished.steps) == CAPTURE_ORDER
    assert world.finished.backup == Backup(True, {"h1:16020": 7})
    assert world.finished.extras == ("backup", "barriers")
    assert set(world.written) == {"extras/backup.jsonl", "extras/barriers.jsonl"}
    assert "hunter2" not in str(world.written)
    plain = World(backup=Backup(enabled=False))
    plain.capture()
    assert plain.asked == ["settings", "files", *THE_REST]
    assert (plain.written, plain.finished and plain.finished.extras) == ({}, ())


@pytest.mark.promise("silence-about-backup-is-unknown")
@pytest.mark.parametrize(
    ("table", "backup"), [(False, Backup(enabled=False)), (True, None), (None, None)], ids=["none", "there", "unknown"]
)
def test_where_nobody_says_whether_backup_is_on_it_is_off_only_without_its_table(
    table: bool | None, backup: Backup | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A client's hbase-site.xml is silent about the master's settings. Asked behind the files, as backups are."""
    world = World(backup=None, backup_table=table)
    captured = world.capture()
    at = world.asked.index("flags:peers")
    assert world.asked[at + 1 : at + 3] == ["backup table", "queues-1"]
    assert captured.snapshot.backup == backup
    assert ("state backup.enabled: false" in caplog.text) == (table is True)
    for settings, held in (
        (ReconcileSettings(log_cleaner_plugins=()), backup is None),
        (ReconcileSettings(log_cleaner_plugins=(), backup_enabled=False), False),
    ):
        view = table_view(captured.snapshot, (), settings, None, unparsable=False)
        assert view.foreign_cleaner == ("whether HBase backup is enabled is unknown" if held else None)


def test_a_saved_input_that_cannot_be_fetched_is_asked_again_with_its_step() -> None:
    """The stamp is in the file, so fetching it is a part of the step."""

    class Remote(World):
        def stamp(self, step: str) -> None:
            if step == "queues-1":
                self.ask("fetch")

    world = Remote(failures={"fetch": 1})
    world.capture(step_attempts=2)
    assert world.asked.count("fetch") == 2
    assert (world.asked.count("queues-1"), world.slept) == (1, [7])


def test_a_neighbour_that_does_not_answer_is_asked_again_with_its_step() -> None:
    world = World(backup=Backup(enabled=True), failures={"backups": 1})
    world.capture(step_attempts=2)
    assert world.asked.count("peers") == 2
    assert world.finished is not None
    assert world.finished.extras == ("backup",)


@pytest.mark.promise("retries-never-reorder")
def test_a_step_that_is_not_answered_is_tried_again_and_stamped_anew(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    world = World(failures={"files": 1, "queues-2": 2})
    world.capture(step_attempts=3)
    assert world.asked == ["settings", "files", "files", *THE_REST[:8], "queues-2", "queues-2", *THE_REST[8:]]
    assert world.slept == [7, 7, 7]
    assert world.finished is not None
    assert world.finished.files_step.started_at == 1_009, "of the second try, after the pause"
    told = [record.message for record in caplog.records if "queues-2" in record.message]
    assert told == [
        "Step queues-2",
        "Step queues-2, attempt 1 of 3: queues-2 did not answer",
        "Step queues-2, attempt 2 of 3: queues-2 did not answer",
    ]


@pytest.mark.parametrize("step", ["settings", "files", *THE_REST])
def test_a_step_that_never_answers_ends_the_capture(step: str) -> None:
    world = World(failures={step: 2})
    with pytest.raises(UnavailableError, match=step):
        world.capture(step_attempts=2)
    assert world.finished is None


@pytest.mark.promise("retries-never-reorder")
def test_while_servers_leave_the_rest_is_read_again_after_the_same_listing() -> None:
    world = World(later=[replace(AT_REST, online=frozenset())])
    captured = world.capture(quiet_attempts=2)
    assert world.asked == ["settings", "files", *THE_REST, *THE_REST]
    assert captured.restless is None
    assert world.finished is not None
    assert tuple(step.step for step in world.finished.steps) == CAPTURE_ORDER


def test_servers_that_have_just_come_up_get_another_attempt() -> None:
    """They are online before their directories are there: at first the listing looks like another cluster's."""
    world = World(directories=[()])
    assert world.capture(quiet_attempts=2).restless is None
    assert world.asked == ["settings", "files", *THE_REST, *THE_REST]
    with pytest.raises(RefusedError, match="wal_root belongs to another cluster") as refused:
        World(directories=[(), ()]).capture(quiet_attempts=2)
    assert refused.value.condition is Condition.MIXED_CLUSTERS
