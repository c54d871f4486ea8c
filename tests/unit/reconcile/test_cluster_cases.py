"""What reconcile makes of each opened snapshot before it decides on a file: trusted or refused, its ids and times."""

from dataclasses import replace

import pytest

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.totals import BucketTotal
from pipelines.hbase.replication_queues import parse_queue_cells
from pipelines.hbase.server_names import ServerName
from pipelines.reconcile.cluster_cases import CLOCK_TOLERANCE_MS, ClusterCase, cluster_cases, untrusted_totals
from pipelines.snapshot.backup import BackupSession
from pipelines.snapshot.extras import Extras
from pipelines.snapshot.opened_snapshot import ListingTotals, OpenedSnapshot
from tests.labs.small_cluster import D1, H1, NOW, small

DIGEST = "0123456789abcdef"


def opened(cluster: str = "prod") -> OpenedSnapshot:
    made = small(cluster)
    passes = (parse_queue_cells(made.pass_1), parse_queue_cells(made.pass_2))
    return OpenedSnapshot(f"file:///{cluster}", DIGEST, made.snapshot, listing_readable=True, passes=passes)


def with_live_wals_of(*servers: ServerName) -> OpenedSnapshot:
    return replace(opened(), listing=ListingTotals(live_directories=frozenset(map(str, servers))))


def case_of(one: OpenedSnapshot, **arguments: object) -> ClusterCase:
    given = {"run_id": None, "settings": ReconcileSettings(), "now": NOW, **arguments}
    (case,) = cluster_cases([one], **given)  # type: ignore[arg-type]
    return case


def test_a_snapshot_without_a_doubt_has_its_view_and_table() -> None:
    case = case_of(opened(), settings=ReconcileSettings(valid_for_ms=HOUR_MS, capacity_bytes=77))
    assert (case.refused, case.mode, case.not_after, case.capacity_bytes) == (None, "NIGHTLY", NOW + HOUR_MS, 77)
    assert case.believed == (case.view, case.table)
    assert case.view is not None
    assert case.view.untrusted is None
    assert case.has_files
    assert case.snapshot is case.opened.snapshot
    assert (case.key.cluster, case.key.run_id) == ("prod", f"20260921T141320Z-{DIGEST[:8]}")
    assert str(case.key.run_date) == "2026-09-21"
    assert case_of(opened(), run_id="mine").key.run_id == "mine"
    assert case_of(replace(opened(), sha256=None)).key.run_id == "20260921T141320Z-"


def test_a_listing_that_cannot_be_read_has_no_files_to_decide() -> None:
    assert not case_of(replace(opened(), listing_readable=False)).has_files


@pytest.mark.parametrize(("late", "mode"), [(DAY_MS, "NIGHTLY"), (DAY_MS + 1, "REPLAY")])
def test_after_its_end_a_run_is_a_replay(late: int, mode: str) -> None:
    assert case_of(opened(), now=NOW + late).mode == mode


def test_a_capture_from_the_future_is_refused() -> None:
    assert case_of(opened(), now=NOW - CLOCK_TOLERANCE_MS).refused is None
    refused = case_of(opened(), now=NOW - CLOCK_TOLERANCE_MS - 1)
    assert refused.condition is Condition.CLOCK_WRONG
    assert refused.refused is not None
    assert refused.refused.startswith(
        "the capture says it started at 2026-09-21T14:13:20.000Z, but it is 2026-09-21T14:08:19.999Z here: one of the "
        "two clocks is wrong"
    )


def test_two_snapshots_of_one_cluster_are_a_wrong_call() -> None:
    pair = [replace(opened(), uri="file:///a"), opened("other"), replace(opened(), uri="file:///b")]
    with pytest.raises(UsageError, match="two snapshots of cluster prod in one run"):
        cluster_cases(pair, None, ReconcileSettings(), NOW)


def test_the_buckets_of_two_tables_do_not_overlap() -> None:
    unread = OpenedSnapshot("file:///unread", fault="no snapshot.json")
    first, none, second = cluster_cases([opened("a"), unread, opened("b")], None, ReconcileSettings(), NOW)
    assert first.table is not None
    assert second.table is not None
    assert none.table is None
    alone = case_of(opened("b"))
    assert alone.table is not None
    assert first.table.next_bucket > 0
    assert second.table.next_bucket == first.table.next_bucket + alone.table.next_bucket


def doubted(one: OpenedSnapshot, **arguments: object) -> tuple[Condition, str]:
    """The name and sentence of the doubt; the view holds every file for it, and the case cannot be believed."""
    case = case_of(one, **arguments)
    assert case.refused is not None
    assert case.view is not None
    assert case.view.untrusted == case.refused
    with pytest.raises(RefusedError, match="file:///prod: ") as refused:
        _ = case.believed
    assert refused.value.condition is case.condition
    return case.condition, case.refused


def test_what_is_wrong_with_the_directory_is_asked_first() -> None:
    damaged = replace(opened(), fault="a digest differs", malformed="1-junk")
    assert doubted(damaged, now=NOW - DAY_MS) == (Condition.SNAPSHOT_DAMAGED, "a digest differs")


def test_a_queue_row_that_nobody_can_read_refuses_the_cluster() -> None:
    condition, why = doubted(replace(opened(), malformed="1-junk", passes=()))
    assert condition is Condition.QUEUE_MALFORMED
    assert why == "malformed queue row: 1-junk. HBase's own cleaner stops at it too"


def test_what_hbases_cleaner_does_not_read_is_not_said_to_stop_it() -> None:
    one = opened()
    assert one.snapshot is not None
    in_zookeeper = replace(one, snapshot=replace(one.snapshot, queue_storage="zookeeper"), malformed="znode '/a': x")
    assert doubted(in_zookeeper) == (Condition.QUEUE_MALFORMED, "malformed queues: znode '/a': x")


def test_the_doubts_of_the_storage_are_asked_with_the_settings() -> None:
    one = opened()
    assert one.snapshot is not None
    orphans = replace(one, snapshot=replace(one.snapshot, peers=()))
    assert doubted(orphans)[0] is Condition.SNAPSHOT_UNTRUSTED
    settings = ReconcileSettings(release=Release(orphan_queues=True))
    case = case_of(orphans, settings=settings)
    assert case.refused is None
    assert case.view is not None
    assert case.view.release == settings.release


def test_files_of_servers_that_nobody_names_are_those_of_another_cluster() -> None:
    condition, why = doubted(with_live_wals_of(H1._replace(host="elsewhere")))
    assert condition is Condition.MIXED_CLUSTERS
    assert "the files are those of another cluster" in why
    assert case_of(with_live_wals_of(D1, H1)).refused is None
    assert case_of(with_live_wals_of()).refused is None


def test_the_sessions_of_a_backup_are_part_of_the_view() -> None:
    session = BackupSession("b", "hdfs://backup/root", "FULL", "COMPLETE", 7, 8, {"t": 7}, {"h1:16020": 7})
    without, with_one = case_of(opened()).view, case_of(replace(opened(), extras=Extras(backups=(session,)))).view
    assert without is not None
    assert with_one is not None
    assert with_one == replace(without, backup=with_one.backup)
    assert with_one.backup != without.backup


@pytest.mark.parametrize("fault", [None, "the digest of snapshot.json differs"])
def test_a_snapshot_that_cannot_be_read_is_refused_and_has_no_view(fault: str | None) -> None:
    one = opened()
    assert one.snapshot is not None
    steps = tuple(step for step in one.snapshot.steps if step.step != "files")
    broken = replace(one, snapshot=replace(one.snapshot, steps=steps), fault=fault)
    case = case_of(broken)
    assert (case.view, case.table, case.mode, case.not_after) == (None, None, "NIGHTLY", NOW)
    assert not case.has_files
    assert case.opened.snapshot is None
    assert not case.opened.listing_readable
    assert case.key.run_id == f"unreadable-{DIGEST[:8]}"
    assert str(case.key.run_date) == "2026-09-21"
    expected = (
        (Condition.SNAPSHOT_DAMAGED, fault)
        if fault
        else (Condition.SNAPSHOT_INCOMPLETE, "snapshot.json has no step 'files'; capture again")
    )
    assert (case.condition, case.refused) == expected
    with pytest.raises(RefusedError, match="file:///prod: "):
        _ = case.believed
    assert case_of(broken, run_id="mine").key.run_id == "mine"


@pytest.mark.parametrize(
    ("directory", "name"),
    [("my cluster!", "my_cluster_"), ("._-a", "a"), ("...", "unknown"), ("x" * 70, "x" * 64)],
)
def test_the_name_of_a_directory_becomes_a_name_of_a_cluster(directory: str, name: str) -> None:
    case = case_of(OpenedSnapshot(f"file:///{directory}", fault="no snapshot.json"))
    assert (case.key.cluster, case.key.run_id) == (name, "unreadable-00000000")


def test_a_snapshot_that_cannot_be_read_belongs_to_the_cluster_that_the_run_is_for() -> None:
    unread = OpenedSnapshot("file:///snapshots/prod/20260921T141320Z", fault="no snapshot.json")
    (case,) = cluster_cases([unread], None, ReconcileSettings(), NOW, "prod")
    assert case.key.cluster == "prod"


def test_a_directory_with_the_name_of_a_cluster_is_told_apart_by_more_of_its_path() -> None:
    """One broken snapshot must not stop the other clusters of a run."""
    unread = [OpenedSnapshot(f"file:///{place}/x", fault="no snapshot.json") for place in ("a", "deep/b")]
    cases = cluster_cases([unread[0], opened("x"), unread[1]], None, ReconcileSettings(), NOW)
    assert [case.key.cluster for case in cases] == ["a_x", "x", "b_x"]
    cases = cluster_cases(unread, None, ReconcileSettings(), NOW)
    assert [case.key.cluster for case in cases] == ["a_x", "b_x"]
    with pytest.raises(UsageError, match="two snapshots of cluster prod in one run"):
        cluster_cases(unread, None, ReconcileSettings(), NOW, "prod")


def test_the_gate_refuses_a_case_and_all_its_files() -> None:
    refused = case_of(opened()).refuse("too much of it is deletable")
    assert refused.condition is Condition.GATE_FAILED
    assert refused.refused == "too much of it is deletable"
    assert refused.view is not None
    assert refused.view.untrusted == refused.refused
    unread = case_of(OpenedSnapshot("file:///unread", fault="no snapshot.json")).refuse("no gate")
    assert (unread.refused, unread.view) == ("no gate", None)


def test_of_a_refused_cluster_every_archived_file_is_held() -> None:
    archived, live = (
        BucketTotal("prod", flag, "DELETABLE", "NOT_NEEDED", None, 3, 1, 2, 5, 6, 7, 8) for flag in (True, False)
    )
    held = replace(archived, verdict="HELD", reason="SNAPSHOT_UNTRUSTED")
    assert untrusted_totals([archived, live]) == [held, live]
