"""What a setting frees, and what it does not: each default holds, and each opt-in frees that one thing."""

from dataclasses import replace

import pytest

from jobs.cli.config.configuration import parse_config
from jobs.cli.config.sections import CleanSection
from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.table_queue_storage import table_view
from pipelines.decide.rule.verdict import ArchivedFile, Reason, decide
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell, RowLayout, parse_queue_cells
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.model import Backup, Membership, Snapshot, WalDirectory
from tests.models.capture.trust import distrust_reason
from tests.strategies.clusters import MASTER, NOW, STEP_MS, snapshot_of

H1, H2 = (ServerName.parse(name) for name in ("h1,16020,5", "h2,16020,6"))
GROUP = "h1%2C16020%2C5"
ALIVE = Membership(MASTER, frozenset({H1}), frozenset())
OLD = NOW - 30 * DAY_MS


def view(snapshot: Snapshot, settings: ReconcileSettings, *passes: list[Cell]) -> ClusterView:
    return table_view(snapshot, [parse_queue_cells(cells) for cells in passes], settings, None, unparsable=False)


def reason(name: str, seen: ClusterView, modified: int = OLD) -> Reason:
    return decide(ArchivedFile(f"oldWALs/{name}", 1, modified), seen).reason


def cell(offset: str, group: str = GROUP) -> Cell:
    return Cell(b"1-h1,16020,5", b"queue", group.encode(), f"{GROUP}.{offset}".encode())


@pytest.mark.promise("purge-after-seven-days-or-with-a-reason", "defaults-are-safe", "long-list-needs-a-reason")
def test_what_may_free_a_file_is_off_by_default() -> None:
    settings = parse_config("", "c.yaml").settings()
    assert settings.release == Release(False, False, False)
    assert settings.row_layout is RowLayout.SHIPPED
    assert (settings.harmless_cleaners, settings.log_cleaner_plugins, settings.backup_enabled) == ((), None, None)
    assert (settings.valid_for_ms, settings.valid_for_reason, settings.acknowledged) == (DAY_MS, None, ())
    assert CleanSection(quarantine="hdfs://ns1/quarantine").grace == 7 * DAY_MS


@pytest.mark.promise("replication-table-wals-need-an-opt-in")
def test_wals_of_the_replication_table_need_an_opt_in() -> None:
    snapshot = snapshot_of(("1",), ALIVE, ALIVE)
    for released in (False, True):
        seen = view(snapshot, ReconcileSettings(release=Release(replication_table_wals=released)), [cell("7:-1")])
        decision = decide(ArchivedFile(f"oldWALs/{GROUP}.rep.6", 1, OLD), seen)
        assert (decision.reason, decision.verdict.value) == (
            Reason.REPLICATION_TABLE_WAL,
            "DELETABLE" if released else "HELD",
        )


@pytest.mark.promise("orphan-queues-need-an-opt-in")
def test_queue_rows_without_peers_need_an_opt_in() -> None:
    first = replace(ALIVE, wal_directories=(WalDirectory(H1, 1, NOW),))
    snapshot, rows = snapshot_of((), first, ALIVE), [parse_queue_cells([cell("7:0")])] * 2
    assert "1 queue rows but no peer" in str(distrust_reason(snapshot, rows, Release()))
    others = Release(replication_table_wals=True, empty_wal_directories=True)
    assert "1 queue rows but no peer" in str(distrust_reason(snapshot, rows, others))
    assert distrust_reason(snapshot, rows, Release(orphan_queues=True)) is None


@pytest.mark.promise("empty-directories-need-an-opt-in")
@pytest.mark.parametrize(
    ("entries", "age", "released", "freed"),
    [
        (0, DAY_MS + 1, True, True),
        (0, DAY_MS + 1, False, False),
        (0, DAY_MS, True, False),
        (1, DAY_MS + 1, True, False),
    ],
)
def test_a_left_over_directory_is_ignored_only_empty_old_and_by_opt_in(
    entries: int, age: int, *, released: bool, freed: bool
) -> None:
    """Of a server that is neither online nor crashing, and of which no peer has a queue."""
    first = replace(ALIVE, wal_directories=(WalDirectory(H2, entries, NOW - age),))
    settings = ReconcileSettings(release=Release(empty_wal_directories=released))
    seen = view(snapshot_of(("1",), first, ALIVE), settings)
    assert reason("h2%2C16020%2C6.7", seen) is (Reason.DEAD_NO_QUEUE if freed else Reason.LEFTOVER_WAL_DIR)


@pytest.mark.promise("unknown-cleaner-holds", "harmless-cleaners-are-named")
def test_a_cleaner_that_nobody_knows_holds_everything() -> None:
    """Only what the snapshot does not say can be stated, and a plugin is harmless by its full name."""
    silent = replace(snapshot_of((), ALIVE, ALIVE), log_cleaner_plugins=None, backup=Backup(enabled=False))
    says = replace(silent, log_cleaner_plugins=("org.example.Own",))
    for snapshot, settings, free in (
        (silent, ReconcileSettings(), False),
        (silent, ReconcileSettings(log_cleaner_plugins=()), True),
        (silent, ReconcileSettings(log_cleaner_plugins=("org.example.Own",)), False),
        (silent, ReconcileSettings(harmless_cleaners=("org.example.Own",)), False),
        (says, ReconcileSettings(), False),
        (says, ReconcileSettings(log_cleaner_plugins=()), False),
        (says, ReconcileSettings(harmless_cleaners=("Own",)), False),
        (says, ReconcileSettings(harmless_cleaners=("org.example.Own",)), True),
    ):
        expected = Reason.NO_PEERS if free else Reason.FOREIGN_CLEANER
        assert reason(f"{GROUP}.7", view(snapshot, settings)) is expected, settings


@pytest.mark.promise("backup-can-only-be-stated-off")
def test_backup_can_only_be_stated_off_and_a_snapshot_wins() -> None:
    off = parse_config("backup: {enabled: false}", "c.yaml").settings()
    assert off.backup_enabled is False
    with pytest.raises(UsageError, match=r"backup\.enabled"):
        parse_config("backup: {enabled: true}", "c.yaml")
    known = replace(snapshot_of((), ALIVE, ALIVE), log_cleaner_plugins=())
    assert reason(f"{GROUP}.7", view(replace(known, backup=None), ReconcileSettings())) is Reason.FOREIGN_CLEANER
    assert reason(f"{GROUP}.7", view(replace(known, backup=None), off)) is Reason.NO_PEERS
    assert reason(f"{GROUP}.7", view(replace(known, backup=Backup(enabled=True)), off)) is Reason.BACKUP


@pytest.mark.promise("either-pass-counts", "smaller-need-counts")
@pytest.mark.parametrize(
    ("first", "second", "pending"),
    [
        ("7:0", "9:0", {"7", "8", "9"}),
        ("9:0", "7:0", {"7", "8", "9"}),
        ("9:0", None, {"9"}),
        (None, "9:0", {"9"}),
        ("8:-1", "8:0", {"8", "9"}),
    ],
)
def test_of_two_passes_the_smaller_need_counts(first: str | None, second: str | None, pending: set[str]) -> None:
    """Whichever was read first; a row that only one pass has counts."""
    passes = [[cell(offset)] if offset else [] for offset in (first, second)]
    seen = view(
        replace(snapshot_of(("1",), ALIVE, ALIVE), peers=(Peer("1", "DISABLED"),)), ReconcileSettings(), *passes
    )
    assert {n for n in ("6", "7", "8", "9") if reason(f"{GROUP}.{n}", seen) is Reason.PENDING} == pending


@pytest.mark.promise("ages-count-from-the-listing")
def test_ages_count_from_the_start_of_the_listing() -> None:
    """To the millisecond: a file is old enough by the start, and of the future by the end."""
    snapshot = snapshot_of((), ALIVE, ALIVE)
    seen = view(snapshot, ReconcileSettings())
    started, finished, ttl = seen.files_started, seen.files_finished, seen.retention.wal_ttl_ms
    assert (started, finished) == (snapshot.files_step.started_at, snapshot.files_step.finished_at)
    assert finished - started == STEP_MS
    for modified, expected in (
        (started - ttl - 1, Reason.NO_PEERS),
        (started - ttl, Reason.TOO_YOUNG),
        (finished, Reason.TOO_YOUNG),
        (finished + 1, Reason.FUTURE_TIMESTAMP),
    ):
        assert reason(f"{GROUP}.7", seen, modified) is expected
