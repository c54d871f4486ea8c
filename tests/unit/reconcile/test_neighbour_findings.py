"""Findings about cleaners, removed and synchronous peers, backups, serial peers, HFile references: when, when not."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.decide.rule.decision_table import decision_table
from pipelines.decide.rule.queue_storage import ReplicationQueueStorage
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.table_queue_storage import TABLE, table_view
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.rule.zookeeper_queue_storage import ZOOKEEPER
from pipelines.hbase.peer_rules import PeerRule
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import QueueId
from pipelines.lake.run_summary import FindingRow, QueueOffsetRow
from pipelines.reconcile.findings import Evidence, OddDirectory, findings
from pipelines.reconcile.past import PastNight
from pipelines.reconcile.peer_states import PastSyncState, sync_peers
from pipelines.reconcile.remote_wals import RemoteDirectory, RemoteKind
from pipelines.snapshot.backup import COMPLETE, RUNNING, BackupSession, backup_of
from pipelines.snapshot.barriers import region_barriers
from pipelines.snapshot.extras import Extras
from pipelines.snapshot.model import Backup
from pipelines.snapshot.other_families import OtherFamilies
from tests.labs.small_cluster import H1, NOW, small

OLD, YOUNG = NOW - 30 * HOUR_MS, NOW - HOUR_MS
DIRECTORY = RemoteDirectory("dr", 2, 1024, 0, 0, YOUNG, YOUNG)
SYNC = Peer("dr", "ENABLED", sync_replication_state="STANDBY", remote_wal_dir="hdfs://b/hbase/remoteWALs")
BACKUP_HELD = BucketTotal("c", True, "HELD", "BACKUP", "DELETE", 0, 3, 300, None, None, 0, 0)


def evidence(
    *peers: Peer, totals: tuple[BucketTotal, ...] = (), backup: Backup | None = None, **known: object
) -> Evidence:
    """A trusted capture without any file."""
    made = small("c").snapshot
    snapshot = replace(made, peers=peers or made.peers)
    view = replace(table_view(snapshot, (), ReconcileSettings(), None, False), restless=None)
    view = view if backup is None else replace(view, backup=backup)
    whole = Evidence(snapshot, view, decision_table(view), ReconcileSettings(), totals, known.pop("queues", ()), ())  # type: ignore[arg-type]
    return replace(whole, **known)  # type: ignore[arg-type]


def of(found: tuple[FindingRow, ...]) -> dict[str, str]:
    return {row.key: row.severity for row in found}


# what walsafe does not know


@pytest.mark.parametrize(
    ("unknown", "words"),
    [
        ({"backup": None}, "whether HBase backup is enabled is unknown"),
        ({"log_cleaner_plugins": None}, "the list of log-cleaner plugins is unknown"),
        ({"log_cleaner_plugins": ("org.example.Own",)}, "walsafe does not know the log-cleaner plugin org.example.Own"),
    ],
)
def test_the_finding_says_what_is_unknown_and_the_reason_blames_no_plugin_alone(
    unknown: dict[str, Any], words: str
) -> None:
    all_ = evidence()
    view = table_view(replace(all_.snapshot, **unknown), (), ReconcileSettings(), None, False)
    (found,) = (row for row in findings(replace(all_, view=view)) if row.code == "FOREIGN_CLEANER")
    assert found.message == f"Everything past its TTL is held: {words}."
    reason = REASON_TEXTS["FOREIGN_CLEANER"]
    assert "HBase backup" in reason.why
    assert all(one in reason.way_out for one in ("cleaners.plugins", "cleaners.harmless", "backup.enabled"))


# HBase's own cleaner


@pytest.mark.parametrize("poison", [(), ("oldWALs/b", "oldWALs/a")])
def test_a_poison_file_is_one_cause_of_overdue_files_among_others(poison: tuple[str, ...]) -> None:
    """It blocks its own directory; the overdue files may lie elsewhere, and the cleaner may be off as well."""
    overdue = BucketTotal("c", True, "DELETABLE", "META_WAL", "DELETE", None, 3, 300, None, None, 3, 300)
    odd = [OddDirectory("POISON_NAME", directory, 1, 1, f"{directory}/wal.1") for directory in poison]
    (found,) = (
        row for row in findings(evidence(totals=(overdue,), odd_names=odd)) if row.code == "CLEANER_NOT_RUNNING"
    )
    cause = "the cleaner switch is off or its chore has died"
    remedy = "hbase shell: cleaner_chore_enabled, then look at the master's log."
    if poison:
        cause += ", or a poison file blocks oldWALs/a"
        remedy += " Move the file away that POISON_FILE names."
    assert (json.loads(found.evidence)["cause"], found.remedy) == (cause, remedy)


# removed peers


def test_a_queue_is_an_orphan_only_once_nothing_moves() -> None:
    """RemovePeer removes the peer before its queues."""
    all_ = evidence()
    view = replace(all_.view, rows=(MergedQueueRow(QueueId("9", H1, None), {}),))
    assert of(findings(replace(all_, view=view))) == {f"ORPHAN_QUEUE:9-{H1}": "warning"}
    moving = replace(view, restless=f"queue 9-{H1} is in only one of the two passes")
    assert of(findings(replace(all_, view=moving))) == {}


@pytest.mark.parametrize("storage", [TABLE, ZOOKEEPER])
def test_a_queue_of_a_removed_peer_in_zookeeper_may_be_one_of_hbase_1(storage: ReplicationQueueStorage) -> None:
    all_ = evidence()
    view = replace(all_.view, storage=storage, rows=(MergedQueueRow(QueueId("9", H1, None), {}),))
    (found,) = (row for row in findings(replace(all_, view=view)) if row.code == "ORPHAN_QUEUE")
    assert "HBCK2 'replication --fix'" in found.remedy
    assert ("hbase hbck -fixReplication" in found.remedy) == (storage is ZOOKEEPER)


# below remoteWALs


@pytest.mark.parametrize(
    ("state", "directory", "expected"),
    [
        ("STANDBY", DIRECTORY, {}),
        ("STANDBY", replace(DIRECTORY, oldest_modification=None), {}),
        ("STANDBY", replace(DIRECTORY, oldest_modification=OLD), {"REMOTE_WALS_PILE_UP:remoteWALs/dr": "warning"}),
        (None, DIRECTORY, {}),
        (None, replace(DIRECTORY, oldest_modification=OLD), {"REMOTE_WALS_PILE_UP:remoteWALs/dr": "warning"}),
        ("ACTIVE", DIRECTORY, {"REMOTE_WALS_UNEXPECTED:remoteWALs/dr": "warning"}),
        ("DOWNGRADE_ACTIVE", DIRECTORY, {"REMOTE_WALS_UNEXPECTED:remoteWALs/dr": "warning"}),
        ("NONE", DIRECTORY, {"REMOTE_WALS_UNEXPECTED:remoteWALs/dr": "warning"}),
        ("STANDBY", replace(DIRECTORY, name="dr-replay"), {"REMOTE_WALS_NOT_REPLAYED:remoteWALs/dr-replay": "warning"}),
        ("ACTIVE", replace(DIRECTORY, name="dr-replay"), {"REMOTE_WALS_NOT_REPLAYED:remoteWALs/dr-replay": "error"}),
        ("ACTIVE", replace(DIRECTORY, name="dr-replay", empty_files=2), {}),
        ("ACTIVE", replace(DIRECTORY, name="dr-snapshot", oldest_modification=OLD), {}),
        (
            "STANDBY",
            replace(DIRECTORY, name="other-snapshot"),
            {"ORPHAN_REMOTE_WALS:remoteWALs/other-snapshot": "warning"},
        ),
        ("STANDBY", replace(DIRECTORY, name=""), {"ORPHAN_REMOTE_WALS:remoteWALs": "warning"}),
    ],
)
def test_what_lies_below_remote_wals(state: str | None, directory: RemoteDirectory, expected: dict[str, str]) -> None:
    assert of(findings(evidence(replace(SYNC, sync_replication_state=state), remote=[directory]))) == expected


def test_no_remedy_deletes_anything_of_a_peer_that_exists() -> None:
    remedies = {
        row.remedy
        for state in ("NONE", "ACTIVE", "DOWNGRADE_ACTIVE", "STANDBY", None)
        for name in ("dr", "dr-replay", "dr-snapshot")
        for row in findings(
            evidence(
                replace(SYNC, sync_replication_state=state),
                remote=[replace(DIRECTORY, name=name, oldest_modification=OLD)],
            )
        )
    }
    assert remedies
    assert [one for one in remedies if re.search(r"\b(rm|remov|delet)", one.lower())] == []


def test_a_removed_peer_is_told_from_one_that_nobody_knew() -> None:
    past = [PastNight("r", NOW - DAY_MS, peers_seen=frozenset({"old"}))]
    directories = [replace(DIRECTORY, name="old"), replace(DIRECTORY, name="new")]
    states = {
        row.subject: json.loads(row.evidence)["state"]
        for row in findings(evidence(SYNC, remote=directories, past=past))
    }
    assert states == {"remoteWALs/old": "removed peer", "remoteWALs/new": "unknown peer"}


def test_directories_are_told_by_their_names() -> None:
    kinds = [(one.kind, one.peer_id) for one in (replace(DIRECTORY, name=n) for n in ("1", "1-replay", "1-snapshot"))]
    assert kinds == [(RemoteKind.REMOTE, "1"), (RemoteKind.REPLAY, "1"), (RemoteKind.SNAPSHOT, "1")]


# states


def night(state: str, before: PastSyncState | None) -> dict[str, str]:
    rows = sync_peers([replace(SYNC, sync_replication_state=state)], {"dr": before} if before else {}, NOW)
    return of(findings(evidence(SYNC, sync_peers=rows)))


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (None, "STANDBY", {}),
        ("STANDBY", "STANDBY", {}),
        ("STANDBY", "DOWNGRADE_ACTIVE", {"SYNC_STATE_CHANGED:dr/STANDBY-DOWNGRADE_ACTIVE": "info"}),
        ("ACTIVE", "STANDBY", {"SYNC_STATE_CHANGED:dr/ACTIVE-STANDBY": "info"}),
        ("DOWNGRADE_ACTIVE", "ACTIVE", {"SYNC_STATE_CHANGED:dr/DOWNGRADE_ACTIVE-ACTIVE": "info"}),
    ],
)
def test_a_change_of_state_is_told(before: str | None, now: str, expected: dict[str, str]) -> None:
    past = None if before is None else PastSyncState("dr", before, NOW - DAY_MS, 1)
    assert night(now, past) == expected


def test_a_night_that_does_not_know_the_state_hides_no_change_and_ends_no_count() -> None:
    past, rows = PastSyncState("dr", "STANDBY", 7, 4), []
    for state in (None, None, "STANDBY", None, "ACTIVE", None):
        (row,) = sync_peers([replace(SYNC, sync_replication_state=state)], {"dr": past}, NOW)
        past = PastSyncState("dr", row.sync_state, row.since, row.nights, row.previous_sync_state)
        rows.append((row.previous_sync_state, row.sync_state, row.since, row.nights))
    assert rows == [
        ("STANDBY", None, 7, 5),
        ("STANDBY", None, 7, 6),
        ("STANDBY", "STANDBY", 7, 7),
        ("STANDBY", None, 7, 8),
        ("STANDBY", "ACTIVE", NOW, 1),
        ("ACTIVE", None, NOW, 2),
    ]
    (first,) = sync_peers([SYNC], {"dr": PastSyncState("dr", None, 7, 4)}, NOW)
    assert (first.previous_sync_state, first.since, first.nights) == (None, NOW, 1), "nothing was known before"


def test_a_peer_that_stays_downgraded_is_told_after_some_nights() -> None:
    assert night("DOWNGRADE_ACTIVE", PastSyncState("dr", "DOWNGRADE_ACTIVE", NOW - 2 * DAY_MS, 2)) == {}
    later = night("DOWNGRADE_ACTIVE", PastSyncState("dr", "DOWNGRADE_ACTIVE", NOW - 3 * DAY_MS, 3))
    assert later == {"SYNC_DOWNGRADED:dr": "warning"}


def test_nights_in_one_state_are_counted() -> None:
    peers = [
        SYNC,
        Peer("1", "ENABLED"),
        Peer("2", "ENABLED", sync_replication_state="NONE"),
        Peer("3", "ENABLED", remote_wal_dir=""),
    ]
    (row,) = sync_peers(peers, {"dr": PastSyncState("dr", "STANDBY", 7, 4)}, NOW)
    assert (row.peer_id, row.since, row.nights, row.previous_sync_state) == ("dr", 7, 5, "STANDBY")
    (row,) = sync_peers(peers, {"dr": PastSyncState("dr", "ACTIVE", 7, 4)}, NOW)
    assert (row.since, row.nights, row.previous_sync_state) == (NOW, 1, "ACTIVE")


# backups


def session(state: str = COMPLETE, started: int = NOW, **tables: int) -> BackupSession:
    boundaries = {"h1.example.org:16020": started} if state == COMPLETE else {}
    return BackupSession("b", "root", "FULL", state, started, None, tables, boundaries)


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ((session(t=NOW),), {}),
        ((session(t=NOW, old=NOW - 9 * DAY_MS),), {"BACKUP_BEHIND:root": "warning"}),
        ((session(started=NOW - 9 * DAY_MS),), {"BACKUP_BEHIND:root": "warning"}),
        ((session(t=-(1 << 62)),), {"BACKUP_BEHIND:root": "warning"}),  # no time that can be written as one
        # servers that have been gone for years say nothing of when a table was backed up
        ((session(started=NOW - 900 * DAY_MS, t=NOW),), {}),
        ((session(RUNNING, NOW - HOUR_MS),), {}),
        ((session(RUNNING, NOW - 9 * DAY_MS),), {"BACKUP_BEHIND:root": "warning"}),
        (None, {"BACKUP_UNKNOWN": "warning"}),
    ],
)
def test_backups_that_are_behind(sessions: tuple[BackupSession, ...] | None, expected: dict[str, str]) -> None:
    backup = Backup(True) if sessions is None else backup_of(sessions)
    known = Extras(sessions)
    assert of(findings(evidence(totals=(BACKUP_HELD,), backup=backup, extras=known))) == expected
    assert of(findings(evidence(backup=backup, extras=known))) == {}, "nothing is held for them"


def test_of_a_root_whose_backup_hangs_the_hanging_one_is_told() -> None:
    """HBase begins no other backup before it is repaired, so the older COMPLETE one asks for what cannot be done."""
    complete, hangs = session(started=NOW - 20 * DAY_MS), session(RUNNING, NOW - 9 * DAY_MS)
    for sessions in ((complete, hangs), (hangs, complete)):
        known = evidence(totals=(BACKUP_HELD,), backup=backup_of(sessions), extras=Extras(sessions))
        (found,) = findings(known)
        assert json.loads(found.evidence)["state"] == RUNNING
        assert found.remedy == "If no such backup runs any more: 'hbase backup repair'."


@pytest.mark.parametrize("others", [(), (session(RUNNING, NOW - 2 * DAY_MS),)])
def test_a_backup_that_runs_stands_in_the_way_of_the_next(others: tuple[BackupSession, ...]) -> None:
    sessions = (session(started=NOW - 9 * DAY_MS), *others)
    (found,) = findings(evidence(totals=(BACKUP_HELD,), backup=backup_of(sessions), extras=Extras(sessions)))
    assert ("'hbase backup repair' first" in found.remedy) == bool(others)


def test_a_table_without_backups_needs_a_full_one() -> None:
    """HBase leaves its old timestamps in every new session of the root, and takes it into no incremental backup."""
    sessions = (session(t=NOW, old=NOW - 9 * DAY_MS),)
    (found,) = findings(evidence(totals=(BACKUP_HELD,), backup=backup_of(sessions), extras=Extras(sessions)))
    assert "If all backups of a table were deleted, take one full backup of it." in found.remedy


def test_the_last_wals_of_a_server_that_left_come_free_below_a_new_root() -> None:
    """A backup keeps the last roll of every server that ever rolled below its root; a full one does so, too."""
    gone, left = "gone.example.org:16020", NOW - 40 * DAY_MS
    old = replace(session(t=NOW), boundaries={"h1.example.org:16020": NOW, gone: left})
    assert backup_of((old,)).boundaries[gone] == left
    below_new_root = backup_of((session(t=NOW),))
    assert (gone in below_new_root.boundaries, below_new_root.others) == (False, NOW - HOUR_MS)
    assert "take a full backup below a new root and delete the backups of the old one" in REASON_TEXTS["BACKUP"].way_out


# serial peers


QUEUE = QueueOffsetRow(
    "1", True, "h,1,1", "h,1,1", False, "g", "g.5", -1, 6, 2, 200, oldest_pending_age_ms=30 * HOUR_MS
)
SERIAL = Peer("1", "ENABLED", serial=True, replicate_all=True, rule=PeerRule(exclude_tables={"private": ()}))
REGION = region_barriers("f00", "orders", [(2, OLD - DAY_MS), (700, OLD)])


@pytest.mark.parametrize(
    ("peer", "queue", "region", "pushed", "stuck"),
    [
        (SERIAL, QUEUE, REGION, 650, True),
        (SERIAL, QUEUE, REGION, 699, False),
        (replace(SERIAL, serial=False), QUEUE, REGION, 650, False),
        (replace(SERIAL, state="DISABLED"), QUEUE, REGION, 650, False),
        (SERIAL, replace(QUEUE, pending_files=0), REGION, 650, False),
        (SERIAL, replace(QUEUE, oldest_pending_age_ms=HOUR_MS), REGION, 650, False),
        (SERIAL, replace(QUEUE, peer_id="2"), REGION, 650, False),
        (SERIAL, QUEUE, region_barriers("f00", "orders", [(2, OLD), (700, YOUNG)]), 650, False),
        (SERIAL, QUEUE, replace(REGION, table="private"), 650, False),
        (replace(SERIAL, rule=None), QUEUE, replace(REGION, table="private"), 650, True),
    ],
)
def test_a_serial_peer_that_waits_for_an_earlier_range(
    peer: Peer, queue: QueueOffsetRow, region: object, pushed: int, stuck: bool
) -> None:
    known = {
        "queues": [queue],
        "extras": Extras(None, (region,)),
        "beside": OtherFamilies(pushed={("1", "f00"): pushed}),
    }  # type: ignore[arg-type]
    found = findings(evidence(peer, **known))
    assert of(found) == ({"SERIAL_STUCK:1": "warning"} if stuck else {})
    if stuck:
        told = json.loads(found[0].evidence)
        assert [(one["region"], one["barrier"]) for one in told["regions"]] == [("f00", 700)]
        assert (found[0].files, found[0].bytes) == (2, 200)


# bulk loads


def test_references_of_a_removed_peer() -> None:
    beside = OtherFamilies(hfile_refs={"9": 2, "1": 5})
    assert of(findings(evidence(Peer("1", "ENABLED"), beside=beside))) == {"ORPHAN_HFILE_REFS:9": "warning"}
