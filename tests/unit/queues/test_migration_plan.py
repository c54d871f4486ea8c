"""What the migration would write, drop and stumble over; rows by hand, and HBase's own test case."""

from collections.abc import Mapping

import pytest

from pipelines.hbase.peers import Peer
from pipelines.hbase.zookeeper.tree import Znode, parse_tree
from pipelines.queues.migration.findings import plan_findings
from pipelines.queues.migration.plan import MigrationPeers, migration_rows
from pipelines.queues.migration.rows import LEGACY_ENDPOINT, LEGACY_PEER, MigrationRow
from tests.labs.small_cluster import D1, H1, H2, NOW, group, wal
from tests.strategies.zookeeper import BASE, Queues, znodes

PEERS = (
    Peer("1", "ENABLED"),
    Peer("2", "DISABLED"),
    Peer(LEGACY_PEER, "ENABLED"),
    Peer("old", "ENABLED", endpoint=LEGACY_ENDPOINT),
)
P7 = bytes.fromhex("504255460807")
REGION = "0123456789abcdef0123456789abcdef"
LENGTHS = {wal(H1, number): 1 << number for number in range(1, 5)}


def rows(queues: Queues, *others: Znode, peers: tuple[Peer, ...] = PEERS) -> tuple[MigrationRow, ...]:
    return migration_rows(parse_tree([*znodes(queues), *others]), MigrationPeers.of(peers), LENGTHS, NOW)


def actions(found: tuple[MigrationRow, ...]) -> list[tuple[object, ...]]:
    return [(row.action, row.reason, row.row, row.value) for row in found]


def codes(
    queues: Queues, *others: Znode, peers: tuple[Peer, ...] = PEERS, moved: str | None = None
) -> Mapping[str, str]:
    tree = parse_tree([*znodes(queues), *others])
    as_seen = MigrationPeers.of(peers)
    found = plan_findings(migration_rows(tree, as_seen, LENGTHS, NOW), as_seen, tree, moved)
    return {row.key: row.severity for row in found if row.code != "MIGRATION_ENABLED_PEERS"}


def test_a_queue_becomes_a_row_with_the_oldest_wal_of_each_group() -> None:
    other = f"{group(H1)}.{group(H1)}.regiongroup-1"
    queues = {(str(H1), "1"): {wal(H1, 2): b"", wal(H1, 1): P7, f"{other}.5": P7, f"{other}.1000": b""}}
    one, two = rows(queues)
    assert (one.row, one.qualifier, one.value, one.wals) == (f"1-{H1}", group(H1), f"{wal(H1, 1)}:7", 2)
    assert (one.bytes, one.wal_listed) == (2 + 4, True)
    assert (two.qualifier, two.value, two.wals, two.wal_listed) == (other, f"{other}.5:7", 2, False)
    assert codes(queues) == {f"MIGRATION_MISSING_WAL:1-{H1}/{other}": "warning"}


def test_a_wal_that_may_be_younger_than_the_listing_is_not_missing() -> None:
    young, old = (f"{group(H1)}.{NOW + after}" for after in (0, -1))
    (row,) = rows({(str(H1), "1"): {young: b""}})
    assert (row.action, row.wal_listed, codes({(str(H1), "1"): {young: b""}})) == ("WRITE", None, {})
    (row,) = rows({(str(H1), "1"): {old: b""}})
    assert (row.action, row.wal_listed) == ("WRITE", False)
    (row,) = rows({(str(H1), "1"): {young: b"443"}})
    assert (row.action, row.wal_listed) == ("BLOCK", None)
    assert codes({(str(H1), "1"): {old: b""}}) == {f"MIGRATION_MISSING_WAL:1-{H1}/{group(H1)}": "warning"}


def test_of_many_claims_the_first_owner_stays() -> None:
    (row,) = rows({(str(H1), f"2-{D1}-{H2}"): {wal(D1, 1): b""}})
    assert (row.row, row.owner, row.source) == (f"2-{H1}/{D1}", str(H1), str(D1))


def test_what_is_dropped() -> None:
    queues = {
        (str(H1), "9"): {wal(H1, 1): b"", wal(H1, 2): b""},
        (str(H1), "2"): {},
        (str(H1), LEGACY_PEER): {wal(H1, 1): b""},
        (str(H1), "old"): {},
    }
    others = [
        Znode(f"{BASE}/hfile-refs/9/f", b"", 0),
        Znode(f"{BASE}/hfile-refs/1/f", b"", 0),
        Znode(f"{BASE}/regions/{REGION[:2]}/{REGION[2:4]}/{REGION[4:]}-9", P7, 0),
        Znode(f"{BASE}/regions/{REGION[:2]}/{REGION[2:4]}/{REGION[4:]}-1", P7, 0),
    ]
    found = rows(queues, *others)
    assert {(row.action, row.reason, row.family, row.row) for row in found} == {
        ("DROP", "UNKNOWN_PEER", "queue", f"9-{H1}"),
        ("DROP", "EMPTY_QUEUE", "queue", f"2-{H1}"),
        ("DROP", "LEGACY_PEER", "queue", f"{LEGACY_PEER}-{H1}"),
        ("DROP", "LEGACY_PEER", "queue", f"old-{H1}"),
        ("DROP", "UNKNOWN_PEER", "sid", "9"),
        ("DROP", "UNKNOWN_PEER", "hfileref", "9"),
        ("WRITE", None, "sid", "1"),
        ("WRITE", None, "hfileref", "1"),
    }
    assert {(row.qualifier, row.value) for row in found if row.action == "WRITE"} == {(REGION, "7"), ("f", "")}
    assert codes(queues, *others) == {"MIGRATION_DROPS:9": "warning"}
    (drop,) = [
        row for row in plan_findings(found, MigrationPeers.of(PEERS), parse_tree(znodes(queues)), None) if row.peer_id
    ]
    assert (drop.files, drop.bytes) == (2, 2 + 4)
    assert "1 queue of it with 2 WALs (6 B), 1 sequence ids and 1 HFile references" in drop.message
    assert "HBase refuses to add peer '9' again while its queues or HFile references exist" in drop.remedy


@pytest.mark.parametrize(
    ("peer", "wal_name", "data", "reason"),
    [
        ("1", "junk", b"", "INVALID_WAL_NAME"),
        ("1", f"{group(H1)}.99999999999999999999", b"", "WAL_TIMESTAMP"),
        ("1", wal(H1, 1), b"443", "UNREADABLE_POSITION"),
        ("9", wal(H1, 1), b"443", "UNREADABLE_POSITION"),
        ("9", "junk", b"", None),
    ],
)  # fmt: skip
def test_what_hbase_throws_on_is_found_before(peer: str, wal_name: str, data: bytes, reason: str | None) -> None:
    """Positions are read of every queue, names only of those that are written."""
    queues = {(str(H1), peer): {wal_name: data}}
    (row,) = rows(queues)
    blocked = {f"MIGRATION_BLOCKED:rs/{H1}/{peer}/{wal_name}": "error"}
    if reason is None:
        assert (row.action, codes(queues)) == ("DROP", {"MIGRATION_DROPS:9": "warning"})
    else:
        assert (row.action, row.reason, codes(queues)) == ("BLOCK", reason, blocked)
        found = plan_findings((row,), MigrationPeers.of(PEERS), parse_tree(znodes(queues)), None)[0]
        assert ("alone, it becomes a row at which the cleaner" in found.message) is (reason == "WAL_TIMESTAMP")


def test_two_ids_that_become_one_row() -> None:
    """The second PUT wins group by group: harmless where both have the same, or groups of their own."""
    same = {(str(H1), f"2-{D1}"): {wal(D1, 1): b""}, (str(H1), f"2-{D1}-{H2}"): {wal(D1, 1): b""}}
    assert {row.reason for row in rows(same)} == {None}
    lost = {**same, (str(H1), f"2-{D1}-{H2}"): {wal(D1, 2): b""}}
    assert actions(rows(lost)) == [
        ("WRITE", "COLLAPSED", f"2-{H1}/{D1}", f"{wal(D1, 1)}:0"),
        ("WRITE", "COLLAPSED", f"2-{H1}/{D1}", f"{wal(D1, 2)}:0"),
    ]
    assert codes(lost)[f"MIGRATION_COLLAPSED_QUEUES:2-{H1}/{D1}/{group(D1)}"] == "error"
    # an id whose servers HBase cannot read is the owner's own queue to it
    own = {(str(H1), "2"): {wal(H1, 1): b""}, (str(H1), "2-bad"): {wal(H1, 2): b""}}
    assert {row.reason for row in rows(own)} == {"COLLAPSED"}
    apart = {(str(H1), "2"): {wal(H1, 1): b""}, (str(H1), "2-bad"): {wal(D1, 2): b""}}
    assert {row.reason for row in rows(apart)} == {None}


def test_wals_of_one_timestamp_are_in_doubt_and_lose_nothing() -> None:
    queues = {(str(H1), "1"): {wal(H1, 1): P7, f"{wal(H1, 1)}.copy": b""}}
    assert {(row.action, row.reason, row.value) for row in rows(queues)} == {
        ("WRITE", "SAME_TIMESTAMP", f"{wal(H1, 1)}:7"),
        ("WRITE", "SAME_TIMESTAMP", f"{wal(H1, 1)}.copy:0"),
    }
    assert "error" not in codes(queues).values()


def test_a_claim_of_hbase_1_that_died_half_way() -> None:
    """The documented failover right before the clean-up: the same WALs in both places, and a lock."""
    queues = {(str(H2), "2"): {wal(H2, 1): b""}, (str(H1), f"2-{H2}"): {wal(H2, 1): b""}}
    lock = Znode(f"{BASE}/rs/{H2}/lock", bytes.fromhex("504255460a0178"), 0)
    found = codes(queues, lock)
    assert found[f"MIGRATION_HALF_CLAIMED:rs/{H2}/lock"] == "warning"
    assert found[f"MIGRATION_HALF_CLAIMED:rs/{H1}/2-{H2}"] == "warning"
    tree, peers = parse_tree([*znodes(queues), lock]), MigrationPeers.of(PEERS)
    of_lock = next(row for row in plan_findings((), peers, tree, None) if row.subject == f"rs/{H2}/lock")
    assert "restart a region server, which claims the queues of dead ones" in of_lock.remedy
    assert "from HBase 2.5 on HBCK2 'scheduleRecoveries" in of_lock.remedy
    assert "error" not in found.values()


def test_peers_that_are_enabled_and_queues_that_move_are_told() -> None:
    queues = {(str(H1), "1"): {wal(H1, 1): b""}}
    tree, peers = parse_tree(znodes(queues)), MigrationPeers.of(PEERS)
    assert (peers.enabled, sorted(peers.migrated), sorted(peers.legacy)) == (("1",), ["1", "2"], ["old", LEGACY_PEER])
    found = plan_findings(migration_rows(tree, peers, LENGTHS, NOW), peers, tree, "a server left")
    assert [(row.key, row.severity) for row in found] == [
        ("MIGRATION_ENABLED_PEERS", "warning"),
        ("MIGRATION_UNSETTLED", "warning"),
    ]


def test_hbases_own_test_case() -> None:
    """TestReplicationPeerManagerMigrateQueuesFromZk: 10 servers, i WALs each; two queues of the first are empty."""
    servers = [f"test-hbase-{i},12345,{1000 + i}" for i in range(10)]
    dead = "test-hbase-dead,12345,1"
    queues: dict[tuple[str, str], dict[str, bytes]] = {}
    for i, server in enumerate(servers):
        for queue, owner in (("peer_0", server), (f"peer_0-{dead}", dead)):
            queues[server, queue] = {f"{owner}.{j}": j.to_bytes(8, "big") if j else b"" for j in range(i)}
        if i % 2 == 0:
            queues[server, LEGACY_PEER] = {}
    regions = [
        Znode(f"{BASE}/regions/{n:02x}/{n:02x}/{'ab' * 14}-peer_{peer}", peer.to_bytes(8, "big"), 0)
        for n in range(100)
        for peer in (1, 2)
    ]
    refs = [Znode(f"{BASE}/hfile-refs/peer_{i}/hfile-{j}", b"", 0) for i in range(10) for j in range(i)]
    peers = tuple(Peer(f"peer_{i}", "ENABLED") for i in range(10))
    found = [row for row in rows(queues, *regions, *refs, peers=peers) if row.action == "WRITE"]
    written = {(row.row, row.qualifier): row for row in found if row.family == "queue"}
    assert len(written) == 2 * 10 - 2
    for row in written.values():
        assert (row.peer_id, row.qualifier, row.value) == ("peer_0", row.source, f"{row.source}.0:0")
    sids = [(row.row, row.value) for row in found if row.family == "sid"]
    assert (len(sids), set(sids)) == (200, {("peer_1", "1"), ("peer_2", "2")})
    assert [sum(row.row == f"peer_{i}" for row in found if row.family == "hfileref") for i in range(10)] == list(
        range(10)
    )
    assert not [row for row in rows(queues, *regions, *refs, peers=()) if row.action != "DROP"], "testNoPeers"
