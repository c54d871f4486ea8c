"""audit-queues on the worked example of HBase's replication documentation, step by step: queues in ZooKeeper."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import parse_tree
from pipelines.queues.audit.classify import audit_rows
from pipelines.queues.audit.observed_cluster import ListedEvidence, ObservedCluster, ObservedServers
from pipelines.queues.audit.plan import claim_plan, peer_restarts
from pipelines.queues.audit.plan_text import claim_plan_text, claim_servers_text
from pipelines.queues.audit.queue_storage import observe_cluster
from pipelines.queues.audit.timeline import sighting, timeline
from pipelines.queues.audit.zookeeper_queues import ZOOKEEPER_QUEUES
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from tests.labs.documented_failover import CLAIMED, CLAIMED_AGAIN, START, A, B, C
from tests.labs.queue_pictures import AT, HOUR, KEY, MINUTE, classes
from tests.strategies.zookeeper import (
    Queues,
    ZooKeeperCase,
    lock,
    view_of_zookeeper,
    znodes,
    zookeeper_snapshot,
)

COPIED: Queues = {key: names for key, names in CLAIMED.items() if key[1] != "lock"}
AGAIN: Queues = {key: names for key, names in CLAIMED_AGAIN.items() if key[1] != "lock"}
LAST: Queues = {key: names for key, names in AGAIN.items() if key[0] == A}


def in_zookeeper(
    queues: Queues, online: Sequence[str], locks: Mapping[str, str | None] | None = None, at: int = AT
) -> ObservedCluster:
    """The seed's picture as an audit sees it: HBase 1.x, so nobody knows of crash procedures."""
    nodes = znodes(queues)
    nodes = (*nodes[:-1], *(lock(server, of) for server, of in (locks or {}).items()), nodes[-1])
    case = ZooKeeperCase(zookeeper_snapshot(["2"]), (), nodes, nodes, ReconcileSettings())
    trees = (parse_tree(nodes), parse_tree(nodes))
    opened, view, listed = (
        OpenedSnapshot("c", snapshot=case.snapshot, trees=trees),
        view_of_zookeeper(case),
        ListedEvidence(),
    )
    whole = observe_cluster(case.snapshot, view, ZOOKEEPER_QUEUES.stored(opened, view, listed), listed)
    alive = frozenset(map(ServerName.parse, online))
    return replace(whole, hbase_version="1.7.2", servers=ObservedServers(at, alive, None))


def test_seed_001_at_its_start() -> None:
    found = audit_rows(in_zookeeper(START, [A, B, C]))
    assert classes(found) == {f"{server}/2": ("NORMAL",) for server in (A, B, C)}


@pytest.mark.parametrize("locker", [C, None])
def test_seed_001_while_c_copies_the_queues_of_b(locker: str | None) -> None:
    picture = in_zookeeper(COPIED, [A, C], {B: locker})
    who = replace(picture.servers, archived_last={ServerName.parse(B): AT - MINUTE})
    found = audit_rows(replace(picture, servers=who))
    assert classes(found) == {
        f"{A}/2": ("NORMAL",),
        f"{C}/2": ("NORMAL",),
        f"{B}/2": ("IN_FAILOVER",),
        f"{C}/2-{B}": ("RECOVERED",),
        f"{B}/lock": ("CLAIM_LOCK",),
    }


def test_seed_001_after_c_died_in_the_middle_of_its_claim() -> None:
    picture = in_zookeeper(COPIED, [A], {B: C})
    found = audit_rows(picture)
    assert classes(found) == {
        f"{B}/2": ("DUPLICATE", "ORPHAN"),
        f"{C}/2-{B}": ("DUPLICATE", "ORPHAN"),
        f"{B}/lock": ("STALE_LOCK",),
        f"{C}/2": ("ORPHAN",),
        f"{A}/2": ("NORMAL",),
    }
    remedies = {row.queue: row.remedy for row in found}
    assert f"delete the znode of replication rs/{B}/lock" in str(remedies[f"{B}/lock"])
    for queue in (f"{C}/2", f"{B}/lock"):
        assert "Start or restart one region server" in str(remedies[queue]), "HBase 1.x has no procedure for it"
    plan = claim_plan(picture, found)
    assert {row.target for row in plan} == {A}
    assert claim_servers_text(picture, plan) == ""
    text = claim_plan_text(KEY, picture, found, plan, peer_restarts(picture, plan))
    assert "lock left behind" in text
    assert "scheduleRecoveries 1" not in text


def test_seed_001_while_a_takes_over_from_c() -> None:
    found = classes(audit_rows(in_zookeeper(AGAIN, [A], {C: A})))
    assert found[f"{A}/2-{B}-{C}"] == ("RECOVERED",)
    assert found[f"{A}/2-{C}"] == ("RECOVERED",)
    assert found[f"{C}/2"] == ("IN_FAILOVER",)
    assert found[f"{C}/lock"] == ("CLAIM_LOCK",)


def test_seed_001_tells_who_claimed_what() -> None:
    pictures = [
        in_zookeeper(START, [A, B, C], at=AT),
        in_zookeeper(COPIED, [A, C], {B: C}, at=AT + HOUR),
        in_zookeeper(LAST, [A], at=AT + 2 * HOUR),
    ]
    life = timeline([sighting(audit_rows(one), one.servers.at, all_hops=True) for one in pictures])
    found = {(row.source, row.event, row.from_owner, row.to_owner, row.happened_before - AT) for row in life}
    assert found == {
        (B, "CLAIMED", B, C, HOUR),
        (B, "CLAIMED", C, A, 2 * HOUR),
        (C, "CLAIMED", C, A, 2 * HOUR),
    }
    (first,) = [row for row in life if row.to_owner == C]
    assert (first.died_after, first.died_before) == (AT, AT + HOUR)
    assert (first.waited_min_ms, first.waited_max_ms) == (0, HOUR)


def test_seed_001_when_nobody_looked_while_c_had_the_queue() -> None:
    pictures = [
        in_zookeeper(START, [A, B, C], at=AT),
        in_zookeeper(LAST, [A], at=AT + 2 * HOUR),
    ]
    life = timeline([sighting(audit_rows(one), one.servers.at, all_hops=True) for one in pictures])
    (unseen,) = [row for row in life if row.source == B]
    assert (unseen.from_owner, unseen.via, unseen.to_owner) == (B, (C,), A)


def test_a_znode_without_queues_is_harmless_and_a_live_servers_is_none() -> None:
    empty = {(A, "2"): START[A, "2"]}
    picture = replace(in_zookeeper(empty, [A]), empty_replicators=tuple(map(ServerName.parse, (B, C))))
    alive = replace(picture, servers=replace(picture.servers, online=frozenset(map(ServerName.parse, (A, C)))))
    assert classes(audit_rows(alive))[B] == ("EMPTY_REPLICATOR",)
    assert C not in classes(audit_rows(alive))
