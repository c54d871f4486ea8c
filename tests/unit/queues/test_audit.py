"""What a queue is, and what is found wrong with it: the rules of audit-queues, without Spark."""

from dataclasses import replace

import pytest

from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.hbase.zookeeper.tree import parse_tree
from pipelines.lake.findings import dated
from pipelines.lake.run_summary import QueueOffsetRow
from pipelines.queues.audit.classes import OwnerState, QueueClass
from pipelines.queues.audit.classify import audit_rows
from pipelines.queues.audit.findings import OVERDUE_MS, audit_findings
from pipelines.queues.audit.observed_cluster import FAILOVER_GRACE_MS, ListedEvidence, ObservedServers
from pipelines.queues.audit.queue_storage import StoredQueues, observe_cluster
from pipelines.queues.audit.rows import ClaimRow
from pipelines.queues.audit.storages import IN_TABLE, IN_ZOOKEEPER, AuditedStorage
from pipelines.queues.audit.table_queues import expected_wals
from pipelines.queues.audit.text import AuditResult, audit_lines
from pipelines.queues.audit.timeline import timeline
from pipelines.queues.audit.zookeeper_queues import ZOOKEEPER_QUEUES, znode_queues
from pipelines.snapshot.opened_snapshot import ListingTotals, OpenedSnapshot
from schemas.queue_audits import QUEUE_AUDITS
from tests.labs.queue_pictures import AT, HOUR, KEY, A, B, C, D, E, classes, cluster, only, queue, servers
from tests.labs.small_cluster import H1, H2, group, wal
from tests.strategies.zookeeper import ZooKeeperCase, view_of_zookeeper, znodes, zookeeper_snapshot

# classes, in hbase:replication


@pytest.mark.parametrize(
    ("row", "who", "expected", "words"),
    [
        ("1-a", servers(), ("NORMAL",), None),
        ("1-a/c", servers(), ("RECOVERED",), None),
        ("1-a/a", servers(), ("RECOVERED",), None),
        ("9-a", servers(), ("UNDELETED_PEER",), "replication --fix"),
        ("9-c", servers(), ("UNDELETED_PEER",), "replication --fix"),
        ("1-c", servers(crashing="c"), ("IN_FAILOVER",), "Wait"),
        (
            "1-c",
            servers(directories="c"),
            ("IN_FAILOVER",),
            "If the next audit says the same, its WALs were never split",
        ),
        ("1-c", servers(online="abc", crashing="c"), ("IN_FAILOVER",), "Wait"),
        ("1-c", servers(), ("ORPHAN",), f"scheduleRecoveries {C}"),
        ("1-c/d", servers(), ("ORPHAN",), f"clear_deadservers '{C}'"),
        ("1-a/b", servers(), ("SUSPECT",), "took the source for dead"),
        ("1-c", replace(servers(), online=None), ("UNPROVEN",), "Capture again"),
    ],
)
def test_what_a_queue_is(row: str, who: ObservedServers, expected: tuple[str, ...], words: str | None) -> None:
    found = only(cluster(queue(row, 5), who=who))
    assert found.classes[: len(expected)] == expected
    assert set(found.classes) - set(expected) <= {"RECOVERED"}
    assert (found.remedy is None) == (words is None)
    assert words is None or words in str(found.remedy)
    assert found.evidence


def test_two_queues_of_one_peer_for_one_server_are_duplicates_of_any_other_peer_they_are_not() -> None:
    found = classes(audit_rows(cluster(queue("1-a/c"), queue("1-d/c"), queue("2-b/c"))))
    assert found == {
        f"1-{A}/{C}": ("DUPLICATE", "RECOVERED"),
        f"1-{D}/{C}": ("DUPLICATE", "ORPHAN"),
        f"2-{B}/{C}": ("RECOVERED",),
    }


@pytest.mark.parametrize(
    ("storage", "words"),
    [
        (IN_TABLE, "remove one only if it has come at least as far as another in every WAL group."),
        (IN_ZOOKEEPER, "remove one only if another names every WAL that it names."),
    ],
)
def test_a_duplicate_is_removed_only_if_another_queue_has_all_that_it_has(storage: AuditedStorage, words: str) -> None:
    found = audit_rows(cluster(queue("1-a/c"), queue("1-b/c"), storage=storage))
    remedies = [*(row.remedy for row in found), *(one.remedy for one in audit_findings(found, [], quiet=True))]
    assert [words in (remedy or "") for remedy in remedies] == [True] * 3


def test_a_wal_that_is_nowhere_is_lost_unless_later_ones_are_there() -> None:
    gone = queue("1-a", 5, missing=("w.1", "w.2"))
    assert only(cluster(gone)).classes == ("LOST_WALS", "NORMAL")
    gap = only(cluster(replace(gone, later=True)))
    assert gap.classes == ("MISSING_WAL", "NORMAL")
    assert "w.1 and 1 more, which neither WALs/ nor oldWALs/ has; later ones are there" in gap.evidence


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize(
    ("row", "storage", "words"),
    [
        ("1-a", IN_TABLE, ": restart the region server that owns the queue, and compare"),
        (
            "1-d",
            IN_TABLE,
            ": wait until the queue is claimed, then restart the region server that owns the queue, and compare",
        ),
        (
            "1-d",
            IN_ZOOKEEPER,
            ": wait until the queue is claimed, then delete its znode in the queue, restart the region server that",
        ),
        ("1-c", IN_TABLE, ": have the queue claimed, and compare"),
        ("1-a", IN_ZOOKEEPER, ": delete its znode in the queue, restart the region server that owns the queue, and"),
        ("1-c", IN_ZOOKEEPER, ": delete its znode in the queue, have the queue claimed, and compare"),
    ],
)
def test_a_queue_goes_on_without_a_wal_that_is_gone(row: str, storage: AuditedStorage, words: str, later: bool) -> None:
    who = servers(crashing="d")
    found = only(cluster(queue(row, 5, missing=("w.1",), later=later), who=who, storage=storage))
    assert (words if not later else words.replace(":", ",", 1)) in (found.remedy or "")


@pytest.mark.parametrize(
    ("gone", "expected"),
    [({1}, "MISSING_WAL"), ({2}, "MISSING_WAL"), ({1, 3}, "MISSING_WAL"), ({3}, "LOST_WALS"), ({2, 3}, "LOST_WALS")],
)
def test_in_zookeeper_a_missing_wal_may_be_in_the_middle_of_its_group(gone: set[int], expected: str) -> None:
    """The row of `queue_offsets` names only the first WAL of a group."""
    tree = parse_tree(znodes({(str(H1), "1"): {wal(H1, number): b"" for number in (1, 2, 3)} | {wal(H2, 9): b""}}))
    row = QueueOffsetRow("1", True, str(H1), str(H1), False, group(H1), wal(H1, 1), 0, None, 3 - len(gone), 0)
    missing = {("1", str(H1), str(H1)): frozenset(wal(H1, number) for number in gone)}
    found = only(cluster(*znode_queues(tree, ListedEvidence(offsets=[row], missing=missing)), storage=IN_ZOOKEEPER))
    assert found.queue_class == expected
    assert ("later ones are there" in found.evidence) == (expected == "MISSING_WAL")
    whole = znode_queues(tree, ListedEvidence(offsets=[row]))
    assert [(one.missing, one.later) for one in whole] == [((), False)]


def test_a_claimed_queue_with_nothing_left_is_finished() -> None:
    assert only(cluster(queue("1-a/c", finished=True))).queue_class == "FINISHED"
    assert only(cluster(queue("1-a/c", 5, finished=True))).queue_class == "RECOVERED", "more was archived since"
    assert only(cluster(queue("1-a", finished=True))).queue_class == "NORMAL", "a live server goes on writing"


def test_a_queue_that_came_back_says_so() -> None:
    assert "come back" in only(cluster(queue("1-a/a"))).evidence


def test_dead_in_zookeeper_is_who_left_no_trace_for_ten_minutes() -> None:
    def state(**changes: object) -> OwnerState:
        return replace(servers(), crashing=None, **changes).state(C)  # type: ignore[arg-type]

    assert state() is OwnerState.DEAD
    assert state(directories={C}) is OwnerState.DIRECTORY
    assert state(splitting=frozenset({C}), online=None) is OwnerState.DIRECTORY
    assert state(directories={C}, online=None) is OwnerState.UNKNOWN, "an open WAL: it may be alive"
    assert state(archived_last={C: AT - FAILOVER_GRACE_MS + 1}) is OwnerState.RECENT
    assert state(archived_last={C: AT - FAILOVER_GRACE_MS}) is OwnerState.DEAD
    assert replace(servers(), archived_last={C: AT}).state(C) is OwnerState.DEAD, (
        "procedures were read, and it has none"
    )


def test_in_zookeeper_the_listing_names_the_servers_with_live_wals() -> None:
    snapshot, tree = zookeeper_snapshot(["1"]), parse_tree(znodes({}))
    view = view_of_zookeeper(ZooKeeperCase(snapshot, (), znodes({}), znodes({}), ReconcileSettings()))
    listing = ListingTotals(live_directories=frozenset({str(H1), f"{H2}-splitting", "junk"}))
    opened = OpenedSnapshot("s", snapshot=snapshot, trees=(tree, tree), listing=listing)
    stored = ZOOKEEPER_QUEUES.stored(opened, view, ListedEvidence())
    seen = observe_cluster(snapshot, view, stored, ListedEvidence()).servers
    assert (seen.directories, seen.splitting) == ({H1, H2}, {H2})


def test_a_capture_that_was_not_quiet_says_so() -> None:
    snapshot = zookeeper_snapshot(["1"])
    view = view_of_zookeeper(ZooKeeperCase(snapshot, (), znodes({}), znodes({}), ReconcileSettings()))
    stored = StoredQueues(())
    for why, said in ((None, False), ("a server left", True)):
        seen = observe_cluster(snapshot, replace(view, restless=why), stored, ListedEvidence())
        lines = audit_lines(AuditResult(KEY, seen, (), (), (), (), (), {}, 1))
        text = " ".join(" ".join(lines).split())
        assert ("The capture was not quiet: a server left. This is its last reading." in text) == said
        assert ("may be claims under way: no finding is raised for them; capture again before" in text) == said


# findings


def test_findings_of_every_kind() -> None:
    picture = cluster(
        queue("9-a"), queue("1-c", 7), queue("2-a/b"), queue("1-a/d"), queue("1-b/d"),
        queue("1-b", missing=("w.1",)), queue("2-b", missing=("w.1",), later=True), queue("2-e"),
        who=servers(crashing="e"),
    )  # fmt: skip
    rows = audit_rows(picture)
    waiting = ClaimRow("2", str(E), "WAITING", str(E), None, (), None, AT - OVERDUE_MS, None, AT, OVERDUE_MS, None)
    found = dated(audit_findings(rows, [waiting], quiet=True), AT, {}, ())
    assert {(one.code, one.severity) for one in found} == {
        ("ORPHAN_QUEUE", "warning"),
        ("SUSPECT_QUEUE", "warning"),
        ("DUPLICATE_QUEUE", "warning"),
        ("LOST_WALS", "error"),
        ("MISSING_WAL", "error"),
        ("CLAIM_OVERDUE", "warning"),
    }
    assert f"ORPHAN_QUEUE:1-{C}" in {one.key for one in found}, "the key that reconcile gives it"
    assert found[0].severity == "error"
    brief = replace(waiting, waited_min_ms=OVERDUE_MS - 1)
    assert "CLAIM_OVERDUE" not in {one.code for one in audit_findings(rows, [brief], quiet=True)}
    restless = {one.code for one in audit_findings(rows, [waiting], quiet=False)}
    assert restless == {one.code for one in found} - {"ORPHAN_QUEUE", "DUPLICATE_QUEUE"}


def test_a_healthy_cluster_has_none() -> None:
    rows = audit_rows(cluster(queue("1-a", 5), queue("1-b"), queue("2-a/c", 5), queue("2-b/d", finished=True)))
    assert audit_findings(rows, timeline([]), quiet=True) == ()


# small parts


def test_wals_that_must_be_there() -> None:
    def row(wal: str | None, offset: int | None, need: int | None, exists: bool = True) -> QueueOffsetRow:
        return QueueOffsetRow("1", exists, str(A), str(A), False, "g", wal, offset, need, 0, 0)

    view = view_of_zookeeper(ZooKeeperCase(zookeeper_snapshot(["1"]), (), znodes({}), znodes({}), ReconcileSettings()))
    old = view.files_started - HOUR
    expected = expected_wals(
        view, [row("g.1", 0, old), row("g.2", -1, old), row("g.3", 0, view.files_started), row(None, None, -1),
               row("g.4", 5, old, exists=False), row("", 0, -1)]
    )  # fmt: skip
    assert expected == {"g.1": {("1", str(A), str(A))}}


def test_every_class_is_in_the_comment_of_its_column() -> None:
    comment = QUEUE_AUDITS.schema["queue_class"].metadata["comment"]
    listed = comment.partition(": ")[2].rstrip(".").split(", ")
    assert listed == [one.value for one in QueueClass]
