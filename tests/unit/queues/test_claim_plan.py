"""Where an orphan queue goes, and the files that say so."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.queues.audit.classify import audit_rows
from pipelines.queues.audit.plan import claim_plan, peer_restarts
from pipelines.queues.audit.plan_text import claim_plan_text, claim_servers_text
from pipelines.queues.audit.storages import IN_TABLE, IN_ZOOKEEPER, AuditedStorage
from pipelines.queues.audit.text import AuditResult, audit_lines
from tests.labs.queue_pictures import KEY, A, B, C, D, E, cluster, queue, servers


def test_orphans_go_to_the_server_with_the_least_to_ship() -> None:
    rows = audit_rows(
        cluster(
            queue("1-a", 10), queue("1-b", 3), queue("1-c", 8), queue("2-c", 6), queue("1-d/e", 2), queue("9-e", 99)
        )
    )
    plan = claim_plan(cluster(), rows)
    assert [(row.step, row.queue, row.target, row.target_bytes) for row in plan] == [
        (1, f"1-{C}", str(B), 11),
        (1, f"2-{C}", str(A), 16),
        (2, f"1-{D}/{E}", str(B), 13),
    ]


def test_without_a_live_server_there_is_no_plan() -> None:
    dead = cluster(queue("1-c", 8), who=servers(online=""))
    rows = audit_rows(dead)
    assert claim_plan(dead, rows) == ()
    text = claim_plan_text(KEY, dead, rows, (), ())
    assert "No live server is there to claim 1 orphan queue:" in text
    assert "Nothing is to be claimed" not in text


@given(st.lists(st.tuples(st.sampled_from("cde"), st.integers(0, 1000)), max_size=12), st.randoms())
def test_a_plan_is_balanced_and_the_same_in_any_order(queues: list[tuple[str, int]], chance: random.Random) -> None:
    found = [queue(f"{number}-{owner}", size) for number, (owner, size) in enumerate(queues)]
    peers = {str(number): "ENABLED" for number in range(len(queues))}
    observed_ = cluster(*found, peers=peers)
    plan = claim_plan(observed_, audit_rows(observed_))
    assert sorted(row.queue for row in plan) == sorted(one.name for one in found)
    loads = {str(server): sum(row.pending_bytes for row in plan if row.target == str(server)) for server in (A, B)}
    assert abs(loads[str(A)] - loads[str(B)]) <= max([size for _, size in queues], default=0)
    chance.shuffle(found)
    assert claim_plan(observed_, audit_rows(replace(observed_, queues=tuple(found)))) == plan


def test_a_recovery_has_peers_begin_again() -> None:
    """`addMissingQueues` looks for rows of the crashed server itself, not for those that were claimed from it."""
    three = {"1": "ENABLED", "2": "ENABLED", "3": "ENABLED"}
    picture = cluster(queue("1-c", 8), queue("2-a/c"), queue("3-b"), peers=three, archived={C: (3, 24)})
    again = peer_restarts(picture, claim_plan(picture, audit_rows(picture)))
    assert [(one.peer_id, one.files, one.bytes, one.claimed) for one in again] == [
        ("2", 3, 24, True),
        ("3", 3, 24, False),
    ]


def test_what_is_shipped_twice_is_said() -> None:
    picture = cluster(queue("1-c/d", 8), queue("1-a/d", 8), queue("2-c", 8), archived={C: (2, 7)})
    rows = audit_rows(picture)
    plan = claim_plan(picture, rows)
    again = peer_restarts(picture, plan)
    text = claim_plan_text(KEY, picture, rows, plan, again)
    lines = text.splitlines()
    twice = "  note   another queue of peer 1 reads the same WALs: edits may be shipped twice"
    assert [lines[place - 1].split(":")[0] for place, line in enumerate(lines) if line == twice] == [
        f"  queue  1-{C}/{D}"
    ]
    audit = AuditResult(KEY, picture, rows, (), plan, again, (), {}, 1)
    shown = " ".join(" ".join(audit_lines(audit)).split())
    assert f"note: {C}: peer 1, which has finished with it, begins again with its oldest WAL: 2 files, 7 B" in shown


def test_the_plan_can_be_followed_and_fed() -> None:
    picture = cluster(queue("1-c", 1 << 30), queue("2-c/d", 5), queue("1-e"), queue("9-a"), archived={C: (2, 7)})
    rows = audit_rows(picture)
    plan = claim_plan(picture, rows)
    assert claim_servers_text(picture, plan) == f"{C}\n{E}\n"
    text = claim_plan_text(KEY, picture, rows, plan, peer_restarts(picture, plan))
    assert text.index("replication --fix") < text.index(f"step 1: {C}") < text.index(f"step 2: {E}")
    for words in (
        f"queue  1-{C}: 1.0 GiB in 1 file, to {A}",
        f"run    hbase hbck -j hbase-hbck2.jar scheduleRecoveries {C}",
        f"clear_deadservers '{C}'",
        f"ReplicationSyncUp/{C} must not exist",
        "peer 2, which has finished with it, begins again with its oldest WAL: 2 files, 7 B",
        "scheduleRecoveries -i servers.txt",
    ):
        assert words in text, words


@pytest.mark.parametrize(
    ("version", "start", "schedule"), [("2.4.17", 1, 0), ("2.6.4", 0, 1), (None, 1, 1), ("x", 1, 1)]
)
def test_how_a_queue_in_zookeeper_is_claimed_hangs_on_the_version(
    version: str | None, start: int, schedule: int
) -> None:
    picture = cluster(queue("1-c", 8), storage=IN_ZOOKEEPER, hbase_version=version)
    rows = audit_rows(picture)
    plan = claim_plan(picture, rows)
    text = claim_plan_text(KEY, picture, rows, plan, ())
    assert ("start or restart" in text, f"scheduleRecoveries {C}" in text) == (bool(start), bool(schedule))
    assert claim_servers_text(picture, plan) == (f"{C}\n" if schedule else "")
    assert ("scheduleRecoveries -i servers.txt" in text) == bool(schedule)
    assert "Then capture again" in text


@pytest.mark.parametrize(
    ("storage", "version", "hbck2", "hbck"),
    [
        (IN_ZOOKEEPER, "1.7.2", False, True),
        (IN_ZOOKEEPER, "2.0.0", True, False),
        (IN_ZOOKEEPER, None, True, True),
        (IN_TABLE, None, True, False),
    ],
)
def test_queues_of_removed_peers_go_by_the_command_of_the_version(
    storage: AuditedStorage, version: str | None, hbck2: bool, hbck: bool
) -> None:
    picture = cluster(queue("9-a"), storage=storage, hbase_version=version)
    rows = audit_rows(picture)
    for text in (str(rows[0].remedy), claim_plan_text(KEY, picture, rows, (), ())):
        assert ("hbase hbck -j hbase-hbck2.jar replication --fix" in text) == hbck2
        assert ("hbase hbck -fixReplication" in text) == hbck


def test_nothing_to_claim_is_said() -> None:
    picture = cluster(queue("1-a"))
    assert "Nothing is to be claimed" in claim_plan_text(KEY, picture, audit_rows(picture), (), ())
    assert claim_servers_text(picture, ()) == ""
