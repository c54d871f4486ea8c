"""The generated cluster: deterministic, true to HBase, and with every trouble in it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random

import pytest
from hypothesis import HealthCheck, given, seed, settings

from jobs.demo.cluster.capture import capture_at, rows_at
from jobs.demo.cluster.model import ClusterPlan, GeneratedCapture
from jobs.demo.cluster.parts import DISABLED_PEER, REMOVED_PEER, STALLED_PEER
from jobs.demo.cluster.plans import demo_plan
from jobs.demo.cluster.wals import CLEANER_INTERVAL_MS
from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_verdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.table_queue_storage import table_view
from pipelines.decide.rule.verdict import ArchivedFile, Decision, Reason, Verdict, decide
from pipelines.hbase.replication_queues import parse_queue_cells
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.snapshot.model import Backup, MasterFlags, Snapshot
from pipelines.snapshot.snapshot_json import parse_snapshot, snapshot_document
from tests.labs.deep_seeds import SEED, Say
from tests.models.capture.trust import distrust_reason
from tests.models.drawn import drawn_plan
from tests.models.healthy import healthy_plan
from tests.models.truth import needed_wals
from tests.strategies import plans
from tests.suite.sizes import examples

NIGHT = 1_790_000_000_000
NIGHTS = (0, 1, 2)
UNSAFE_FLAGS = MasterFlags(queue_table_exists=True, add_peer_running=True, migration_pending=False, zk_queue_data=False)


@cache
def night(number: int) -> GeneratedCapture:
    return capture_at(demo_plan(NIGHT), NIGHT + number * DAY_MS)


@cache
def demo_decisions(number: int) -> dict[str, Decision]:
    return decisions(night(number))


@cache
def healthy_night(number: int) -> GeneratedCapture:
    return capture_at(healthy_plan(NIGHT), NIGHT + number * DAY_MS)


def view_of(capture: GeneratedCapture, snapshot: Snapshot | None = None, release: Release | None = None) -> ClusterView:
    seen = snapshot or capture.snapshot
    settings = ReconcileSettings(release=release or Release())
    passes = [parse_queue_cells(cells) for cells in (capture.pass_1, capture.pass_2)]
    return table_view(seen, passes, settings, distrust_reason(seen, passes, settings.release), unparsable=False)


def archived(capture: GeneratedCapture) -> list[ArchivedFile]:
    return [file for file in capture.files if file.path.startswith("oldWALs/")]


def decisions(capture: GeneratedCapture, view: ClusterView | None = None) -> dict[str, Decision]:
    seen = view or view_of(capture)
    return {file.path: decide(file, seen) for file in archived(capture)}


def test_the_same_plan_gives_the_same_capture_and_another_seed_another() -> None:
    assert capture_at(demo_plan(NIGHT), NIGHT) == night(0)
    assert capture_at(demo_plan(NIGHT, seed=8), NIGHT).files != night(0).files


@pytest.mark.parametrize("number", NIGHTS)
def test_it_has_the_size_that_the_demo_promises(number: int) -> None:
    capture = night(number)
    servers = {wal.server for file in capture.files if (wal := parse_wal_name(file.path.rpartition("/")[2]))}
    assert 16_000 < len(archived(capture)) < 24_000
    assert 28 <= len({server.host for server in servers if server}) <= 32
    assert len(capture.snapshot.peers) == 4
    assert len({file.path for file in capture.files}) == len(capture.files)


@pytest.mark.parametrize("number", NIGHTS)
def test_its_snapshot_is_one_that_is_trusted(number: int) -> None:
    snapshot = night(number).snapshot
    assert parse_snapshot(snapshot_document(snapshot)) == snapshot
    assert view_of(night(number)).untrusted is None


@pytest.mark.long
def test_every_reason_of_one_file_shows_up_in_three_nights() -> None:
    seen = {decision.reason for number in NIGHTS for decision in demo_decisions(number).values()}
    of_a_whole_cluster = {
        Reason.SNAPSHOT_UNTRUSTED,
        Reason.ADD_PEER_RUNNING,
        Reason.FOREIGN_CLEANER,
        Reason.BACKUP,
        Reason.NO_PEERS,
    }
    of_queues_in_zookeeper = {Reason.NOT_QUEUED, Reason.QUEUE_READ_TOO_OLD}
    assert seen == set(Reason) - of_a_whole_cluster - of_queues_in_zookeeper - {Reason.UNDECIDED}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda snapshot: replace(snapshot, steps=snapshot.steps[1:] + snapshot.steps[:1]), Reason.SNAPSHOT_UNTRUSTED),
        (lambda snapshot: replace(snapshot, flags=UNSAFE_FLAGS), Reason.ADD_PEER_RUNNING),
        (lambda snapshot: replace(snapshot, log_cleaner_plugins=("org.example.Mine",)), Reason.FOREIGN_CLEANER),
        (lambda snapshot: replace(snapshot, backup=Backup(enabled=True, boundaries={})), Reason.BACKUP),
        (lambda snapshot: replace(snapshot, peers=()), Reason.NO_PEERS),
    ],
)
def test_the_reasons_of_a_whole_cluster_take_one_change(change: Callable[[Snapshot], Snapshot], reason: Reason) -> None:
    view = view_of(night(0), change(night(0).snapshot), Release(orphan_queues=True))
    assert Counter(decision.reason for decision in decisions(night(0), view).values())[reason] > 10_000


@pytest.mark.parametrize("number", NIGHTS)
def test_nothing_deletable_is_still_to_be_shipped_in_the_model_itself(number: int) -> None:
    """The generator's own truth, not its rows: a WAL with unshipped edits for any peer is never DELETABLE."""
    verdicts, needed = demo_decisions(number), needed_wals(demo_plan(NIGHT), NIGHT + number * DAY_MS)
    listed = [verdicts[path] for wal in needed if (path := f"oldWALs/{wal.name}") in verdicts]
    assert {one.verdict for one in listed} == {Verdict.HELD}
    assert len(listed) > 10_000


def lost(plan: ClusterPlan, weakened: Callable[[ClusterView], ClusterView] = lambda view: view) -> list[str]:
    """Needed WALs that are DELETABLE; a file that is shipped before the capture ends is not needed."""
    capture = capture_at(plan, NIGHT)
    verdicts = decisions(capture, weakened(view_of(capture)))
    needed = {f"oldWALs/{wal.name}" for wal in needed_wals(plan, capture.snapshot.steps[-1].finished_at)}
    return [path for path, one in verdicts.items() if one.verdict is Verdict.DELETABLE and path in needed]


@pytest.mark.promise("list-is-safe", "rule-asks-every-row", "generated-clusters-lose-nothing")
@given(plans())
@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
def test_nothing_deletable_is_still_to_be_shipped_whatever_happened_to_the_cluster(plan: ClusterPlan) -> None:
    assert lost(plan) == []


@pytest.mark.deep
def test_nothing_deletable_is_still_to_be_shipped_in_thousands_of_clusters(
    record_property: Say,
) -> None:
    record_property("seed", SEED)
    record_property("clusters", 5_000)

    @seed(SEED)
    @given(plans())
    @settings(max_examples=5_000, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def every(plan: ClusterPlan) -> None:
        assert lost(plan) == []

    every()


@pytest.mark.promise("rule-asks-every-row", "missing-row-proves-only-of-the-dead")
@pytest.mark.parametrize(
    "weakened",
    [
        lambda view: replace(view, restless=None, crashing=frozenset(), wal_directories=frozenset()),
        lambda view: replace(view, rows=tuple(row for row in view.rows if row.queue.source is None)),
        lambda view: replace(view, online=frozenset(), crashing=frozenset(), wal_directories=frozenset()),
    ],
    ids=["no-crash", "own-queues-only", "alive-ignored"],
)
def test_a_weaker_rule_loses_something_in_a_drawn_cluster(weakened: Callable[[ClusterView], ClusterView]) -> None:
    drawn = (drawn_plan(Random(seed).randint, NIGHT) for seed in range(500))  # noqa: S311 - repeatable, no secret
    assert any(lost(plan, weakened) for plan in drawn)


@pytest.mark.parametrize("number", NIGHTS)
def test_hbases_own_cleaner_would_delete_all_that_is_deletable(number: int) -> None:
    view = view_of(night(number))
    for path, decision in demo_decisions(number).items():
        if decision.verdict is Verdict.DELETABLE:
            assert hbase_verdict(path.rpartition("/")[2], view) is HBaseVerdict.DELETE, path


@pytest.mark.parametrize("number", [1, 2])
def test_each_night_follows_from_the_night_before(number: int) -> None:
    before = {file.path: file for file in archived(night(number - 1))}
    after = {file.path: file for file in archived(night(number))}
    gone = [path for path in before if path not in after and "masterProcedureWALs" not in path]
    assert gone == []  # the poison file keeps HBase's cleaner from deleting anything
    assert all(after[path] == file for path, file in before.items() if path in after)
    assert len(after) > len(before) + 1_000


def needs(number: int) -> dict[tuple[str, str], int]:
    cells = parse_queue_cells(night(number).pass_1)
    return {(str(cell.queue), cell.group): cell.offset.need for cell in cells}


def test_offsets_advance_but_for_the_disabled_peer_the_stalled_queue_and_the_rewound_one() -> None:
    rewound = []
    for number in (1, 2):
        before, after = needs(number - 1), needs(number)
        both = before.keys() & after.keys()
        standing = {key[0] for key in both if after[key] == before[key]}
        assert all(row.startswith((f"{DISABLED_PEER}-", f"{STALLED_PEER}-", f"{REMOVED_PEER}-")) for row in standing)
        stalled = [row for row in standing if row.startswith(f"{STALLED_PEER}-")]
        assert [row.rpartition("/")[2].partition(".")[0] for row in stalled] == ["rs25"]
        rewound += [key for key in both if after[key] < before[key]]
        advanced = [key for key in both if after[key] > before[key] and key[0].startswith("analytics-")]
        assert len(advanced) >= 20
    assert [row.partition(",")[0] for row, _ in rewound] == ["analytics-rs10.example.org"]


def test_both_passes_are_read_at_different_instants() -> None:
    assert night(0).pass_1 != night(0).pass_2
    assert {cell.row for cell in night(0).pass_1} == {cell.row for cell in night(0).pass_2}


def test_the_disabled_peer_pins_most_bytes() -> None:
    held = {path for path, decision in demo_decisions(2).items() if decision.verdict is Verdict.HELD}
    length = {file.path: file.length for file in archived(night(2))}
    without = decisions(night(2), view_of(night(2)).without_peer(DISABLED_PEER))
    freed = sum(length[path] for path in held if without[path].verdict is Verdict.DELETABLE)
    assert freed > 0.9 * sum(length[path] for path in held)


def test_a_crash_at_night_moves_the_cluster_and_is_claimed_by_the_next_night() -> None:
    moved = view_of(night(1))
    assert [server.host for server in moved.crashing] == ["rs28.example.org"]
    assert moved.restless is not None
    rows = rows_at(demo_plan(NIGHT), NIGHT + 2 * DAY_MS)
    claimed = [row for row in rows if "/rs28" in row]
    assert claimed
    assert all(row.partition("-")[2].startswith("rs09.") for row in claimed)
    # the third night's crash owns no row, so the capture is quiet although a crash procedure runs
    assert [server.host for server in view_of(night(2)).crashing] == ["rs29.example.org"]
    assert view_of(night(2)).restless is None


def test_a_queue_claimed_twice_keeps_its_first_source() -> None:
    (row,) = [row for row in rows_at(demo_plan(NIGHT), NIGHT) if row.startswith(f"{STALLED_PEER}-") and "/rs25" in row]
    assert row.startswith(f"{STALLED_PEER}-rs07.")


def test_what_the_findings_are_drawn_from_is_there() -> None:
    capture, view = night(2), view_of(night(2))
    peers = {peer.peer_id for peer in capture.snapshot.peers}
    assert {row.queue.peer_id for row in view.rows} - peers == {REMOVED_PEER}
    twins = Counter((row.queue.peer_id, row.queue.wals_of) for row in view.rows)
    assert [key[1].host for key, count in twins.items() if count > 1] == ["rs27.example.org"]
    lengths = {file.path.rpartition("/")[2]: file.length for file in capture.files}
    offsets = [(row, offset) for row in view.rows if row.queue.peer_id in peers for offset in row.offsets.values()]
    missing = [row.queue.wals_of.host for row, offset in offsets if offset.wal and offset.wal not in lengths]
    beyond = {
        row.queue.wals_of.host
        for row, offset in offsets
        if f"oldWALs/{offset.wal}" in {file.path for file in capture.files} and offset.offset > lengths[offset.wal]
    }
    assert missing == ["rs27.example.org"]
    assert beyond == {"rs30.example.org"}


@pytest.mark.promise("quiet-where-all-is-well")
@pytest.mark.parametrize("number", NIGHTS)
def test_in_the_healthy_cluster_only_the_young_is_held(number: int) -> None:
    held = [decision for decision in decisions(healthy_night(number)).values() if decision.verdict is Verdict.HELD]
    assert {decision.reason for decision in held} <= {Reason.TOO_YOUNG}
    view = view_of(healthy_night(number))
    assert view.restless is None
    assert all(not row.queue.source for row in view.rows)


@pytest.mark.parametrize("number", NIGHTS)
def test_in_the_healthy_cluster_hbases_cleaner_has_been_by(number: int) -> None:
    at = NIGHT + number * DAY_MS
    plan = healthy_plan(NIGHT)
    slowest = max(peer.lag for peer in plan.peers)
    limit = plan.retention.wal_ttl_ms + CLEANER_INTERVAL_MS + slowest
    oldest = max(at - file.modification_time for file in archived(healthy_night(number)))
    assert 0 < oldest <= limit


@pytest.mark.parametrize("number", NIGHTS)
def test_no_offset_of_the_healthy_cluster_lacks_its_wal(number: int) -> None:
    capture = healthy_night(number)
    names = {file.path.rpartition("/")[2] for file in capture.files}
    assert {cell.offset.wal for cell in parse_queue_cells(capture.pass_1)} <= names
