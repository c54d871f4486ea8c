"""The rule for queues in ZooKeeper: the documented failover step by step, both readings, and the fast form."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings

from jobs.demo.cluster.snapshots import SAFE_FLAGS
from pipelines.common.errors import MalformedError
from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_2_verdict
from pipelines.decide.rule.cluster_view import ClusterView, zookeeper_view
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.name_table import name_table
from pipelines.decide.rule.settings import Release, Settings
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.rule.verdict import ArchivedFile, Decision, Reason, Verdict, decide
from pipelines.decide.rule.zookeeper_trust import distrust_zookeeper
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queued import queued_wals
from pipelines.hbase.zookeeper.tree import ABSENT, Znode, parse_tree
from pipelines.reconcile.holdings import pinned, queue_offsets
from pipelines.snapshot.model import Flags, Membership, Snapshot, Step, WalDirectory
from tests.labs.documented_failover import CLAIMED, CLAIMED_AGAIN, START, A, B, C, P, wals
from tests.strategies.clusters import MASTER, NOW
from tests.strategies.zookeeper import (
    BASE,
    Queues,
    ZooKeeperCase,
    view_of_zookeeper,
    znodes,
    zookeeper_cases,
    zookeeper_snapshot,
)
from tests.suite.sizes import examples

ARCHIVED = {
    "1.1.1.1,60020": (1234, 1265, 1378),
    "1.1.1.2,60020": (1214, 1248, 1312),
    "1.1.1.3,60020": (1280, 1325, 1401),
}
FILES = tuple(
    ArchivedFile(f"oldWALs/{address}.{number}", 1, NOW - DAY_MS)
    for address, numbers in ARCHIVED.items()
    for number in numbers
)


def seen(first: Queues, second: Queues | None = None, **cversions: int) -> ClusterView:
    """The view of a cluster with peer 2, both readings alike unless said otherwise."""
    passes = znodes(first, **cversions), znodes(first if second is None else second, **cversions)
    return view_of_zookeeper(ZooKeeperCase(zookeeper_snapshot(["2"]), FILES, *passes, Settings()))


def deletable(view: ClusterView) -> set[str]:
    decisions = {file.name: decide(file, view) for file in FILES}
    assert {one.reason for one in decisions.values()} <= {Reason.PENDING, Reason.NOT_QUEUED}
    return {name.partition(".60020")[0] for name, one in decisions.items() if one.verdict is Verdict.DELETABLE}


def test_at_the_start_of_the_seeds_example_what_is_in_no_queue_may_go() -> None:
    free = {"1.1.1.1,60020.1378", "1.1.1.3,60020.1325", "1.1.1.3,60020.1401"}  # not written yet, in truth
    assert deletable(seen(START)) == free
    assert not seen(START).restless


def test_while_a_queue_is_copied_both_copies_hold() -> None:
    assert deletable(seen(CLAIMED)) == deletable(seen(START))
    held = decide(FILES[4], seen(CLAIMED))
    assert [(one.peer_id, str(one.owner), str(one.source), one.wal, one.offset) for one in held.blocking] == [
        ("2", B, B, "1.1.1.2,60020.1248", 0),
        ("2", C, B, "1.1.1.2,60020.1248", 0),
    ]


def test_after_the_second_death_the_first_owner_is_the_source() -> None:
    view = seen(CLAIMED_AGAIN)
    assert deletable(view) == {
        "1.1.1.1,60020.1234",
        "1.1.1.1,60020.1265",
        "1.1.1.2,60020.1214",
        "1.1.1.2,60020.1248",
        "1.1.1.3,60020.1280",
    }
    twice_claimed = decide(FILES[5], view)
    assert [(str(one.owner), str(one.source), one.offset) for one in twice_claimed.blocking] == [
        (A, B, 443),
        (C, B, 443),
    ]


CLEANED: Queues = {key: wals for key, wals in CLAIMED.items() if key[0] != B}
SHIPPED: Queues = {
    (A, "2"): wals("1.1.1.1,60020", 1378),
    (C, "2"): wals("1.1.1.3,60020", 1325, 1401),
    (C, f"2-{B}"): wals("1.1.1.2,60020", 1312),
}
TAKEN: Queues = {key: wals for key, wals in CLAIMED_AGAIN.items() if key[0] != C}
STORY = (START, CLAIMED, CLEANED, SHIPPED, CLAIMED_AGAIN, TAKEN)
"""The documented failover: B dies, C copies and cleans up, ships and dies, A copies and cleans up."""


def test_step_by_step_only_shipping_frees_a_wal_of_the_seeds_example() -> None:
    before, after = deletable(seen(START)), deletable(seen(SHIPPED))
    assert [deletable(seen(step)) for step in STORY] == [before, before, before, after, after, after]


@pytest.mark.promise("zookeeper-rule-by-name")
def test_between_two_steps_of_the_seeds_example_what_either_reading_has_is_held() -> None:
    for first, second in pairwise(STORY):
        assert deletable(seen(first, second)) == deletable(seen(first)) & deletable(seen(second))


def test_at_the_end_of_the_seeds_example_a_holds_what_three_servers_wrote() -> None:
    view = seen(TAKEN)
    holders = {file.name: decide(file, view).blocking for file in FILES if decide(file, view).blocking}
    assert {name: [(str(one.owner), str(one.source)) for one in found] for name, found in holders.items()} == {
        "1.1.1.1,60020.1378": [(A, A)],
        "1.1.1.2,60020.1312": [(A, B)],
        "1.1.1.3,60020.1325": [(A, C)],
        "1.1.1.3,60020.1401": [(A, C)],
    }


@pytest.mark.promise("zookeeper-moves-are-seen")
def test_a_queue_that_moves_from_behind_the_one_reading_to_before_the_next_holds_nothing_only_if_nothing_moved() -> (
    None
):
    gone = {key: value for key, value in START.items() if key[0] != B}
    moved = seen(gone, gone, before=7, after=8)
    assert {decide(file, moved).reason for file in FILES} == {Reason.PENDING, Reason.CLUSTER_MOVED}
    either = seen(START, gone)
    assert decide(FILES[3], either).reason is Reason.PENDING


@pytest.mark.promise("zookeeper-moves-are-seen")
def test_a_queue_that_comes_and_goes_on_one_server_is_seen_by_its_own_cversion() -> None:
    second = znodes(START, cversions={C: 3})
    view = view_of_zookeeper(ZooKeeperCase(zookeeper_snapshot(["2"]), FILES, znodes(START), second, Settings()))
    assert view.restless == f"a queue or the lock of {C} came or went while the queues were read"


@pytest.mark.promise("zookeeper-moves-are-seen")
def test_a_claim_that_begins_behind_the_second_look_at_its_server_is_seen_by_the_third() -> None:
    """A claim with a lock empties a queue before it goes; the server's znode had been read by then (docs/proof.md)."""
    *second, rs = znodes(START)
    again = Znode(f"{BASE}/rs/{C}", b"", next(one.cversion for one in second if one.path == f"{BASE}/rs/{C}"))

    def restless(*behind: Znode) -> str | None:
        passes = znodes(START), (*second, *behind, rs)
        return view_of_zookeeper(ZooKeeperCase(zookeeper_snapshot(["2"]), FILES, *passes, Settings())).restless

    assert restless() is None
    assert restless(again) is None
    assert restless(replace(again, cversion=again.cversion + 1)) == (
        f"a queue or the lock of {C} came or went while the queues were read"
    )


@pytest.mark.promise("zookeeper-moves-are-seen")
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_reading_without_the_cversion_that_counts_proves_nothing(place: str) -> None:
    whole = znodes(START)
    passes = (whole[1:], whole) if place == "first" else (whole, whole[:-1])
    view = view_of_zookeeper(ZooKeeperCase(zookeeper_snapshot(["2"]), FILES, *passes, Settings()))
    assert view.restless is not None
    assert "cversion of rs was not read" in view.restless
    assert {decide(file, view).verdict for file in FILES} == {Verdict.HELD}


@pytest.mark.promise("zookeeper-peers-have-no-say")
def test_without_a_queue_and_without_a_peer_everything_may_go() -> None:
    nothing = (Znode(f"{BASE}/rs", b"", ABSENT),)
    view = view_of_zookeeper(ZooKeeperCase(zookeeper_snapshot([]), FILES, nothing, nothing, Settings()))
    assert (view.untrusted, view.restless) == (None, None)
    assert {decide(file, view).reason for file in FILES} == {Reason.NOT_QUEUED}


@pytest.mark.promise("zookeeper-peers-have-no-say")
def test_queues_of_a_removed_peer_hold_too() -> None:
    orphan = seen({**START, (A, "9"): {"1.1.1.3,60020.1401": b""}})
    assert decide(FILES[-1], orphan).reason is Reason.PENDING


def test_a_peer_may_be_called_lock() -> None:
    locked = parse_tree(znodes({(A, "lock"): {}}))
    assert locked.queues == ()
    assert list(map(str, locked.locks)) == [A]
    queued = parse_tree(znodes({(A, "lock"): {"w.1": b""}}))
    assert [queue.queue.peer_id for queue in queued.queues] == ["lock"]
    assert queued.locks == {}


def test_what_replication_left_beside_its_queues_is_read() -> None:
    region = "0123456789abcdef0123456789abcdef"
    more = (
        Znode(f"{BASE}/rs/cversion_2-{B}", b"", 0),
        Znode(f"{BASE}/rs/{B}/lock", bytes.fromhex("504255460a0161"), 0),
        Znode(f"{BASE}/rs", b"", 7),
        Znode(f"{BASE}/hfile-refs/2/f1", b"", 0),
        Znode(f"{BASE}/hfile-refs/2/f2", b"", 0),
        Znode(f"{BASE}/regions/{region[:2]}/{region[2:4]}/{region[4:]}-2", (900).to_bytes(8, "big"), 0),
    )
    tree = parse_tree((*znodes(START), *more))
    assert {str(server): owner for server, owner in tree.locks.items()} == {B: "a"}
    assert tree.hfile_refs == {"2": ("f1", "f2")}
    assert tree.sequence_ids == {(region, "2"): 900}
    assert (tree.opened, tree.closed) == (7, 7)


def test_a_server_whose_name_looks_like_the_mark_of_a_claim_holds() -> None:
    """Found by the judge of HBase 2, which takes every child of `rs` for a server."""
    path = f"{BASE}/rs/cversion_2-h,1,2"
    odd = (Znode(path, b"", 1), Znode(f"{path}/2", b"", 1), Znode(f"{path}/2/wal.123", b"", 0))
    reading = (*znodes(START)[:-1], *odd, znodes(START)[-1])
    assert "wal.123" in queued_wals([parse_tree(reading)], 0).queues_of
    with pytest.raises(MalformedError, match="cversion_2"):
        parse_tree((*znodes(START), Znode(f"{BASE}/rs/cversion_2/2", b"", 0)))


def test_what_hbase_puts_before_its_data_is_no_part_of_them() -> None:
    """`RecoverableZooKeeper`: 0xFF, the size of the writer's identifier, and it."""
    writer = b"\xff\x00\x00\x00\x0cmaster:16000"
    data = {
        "w.1": writer + P,
        "w.2": writer + (7).to_bytes(8, "big"),
        "w.3": b"\xff\x00\x00\x00\x63x",
        "w.4": b"\xff" * 8,
    }
    (queue,) = parse_tree(znodes({(A, "2"): data})).queues
    assert queue.wals == {"w.1": 443, "w.2": 7, "w.3": None, "w.4": None}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/hbase/rs/h1,16020,5", "none of replication's"),
        (f"{BASE}/table/x", "none of replication's"),
        (f"{BASE}/rs/h1", "not a server name"),
        (f"{BASE}/rs//2", "empty name"),
        (f"{BASE}/rs/{A}/2/w.1/x", "below a WAL"),
        (f"{BASE}/regions/01/23/no_peer", "no region and peer"),
    ],
)
def test_a_tree_that_is_not_understood_is_not_believed(path: str, message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        parse_tree((*znodes(START), Znode(path, b"", 0)))


def test_the_list_of_region_servers_is_not_that_of_queues() -> None:
    servers = (Znode("/hbase/rs", b"", 3), Znode(f"/hbase/rs/{A}", b"PBUF\x08\x01", 0))
    with pytest.raises(MalformedError, match="region server's own"):
        parse_tree(servers)
    with pytest.raises(MalformedError, match="no znode 'rs'"):
        parse_tree(())


# what makes a snapshot untrusted


def distrust(snapshot: Snapshot, queues: Queues = START, release: Release | None = None) -> str:
    tree = parse_tree(znodes(queues))
    return distrust_zookeeper(snapshot, [tree, tree], release or Release()) or ""


def test_the_example_is_trusted() -> None:
    assert distrust(zookeeper_snapshot(["2"])) == ""


@pytest.mark.promise("zookeeper-peers-have-no-say", "zookeeper-one-cluster", "zookeeper-migration-is-refused")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"extras": ("x",)}, "extra 'x'"),
        ({"flags": SAFE_FLAGS}, "hbase:replication exists"),
        ({"flags": Flags(False, False, True, True)}, "migration"),
        ({"hbase_version": "3.0.0"}, "HBase 3.0.0"),
        ({"peers": (Peer("2-x", "ENABLED"),)}, "peer id '2-x' has a '-', which HBase forbids"),
        (
            {"membership": Membership(None, frozenset({ServerName("else", 1, 1)}), frozenset())},
            "belongs to a server that is online or has a directory below WALs/ (else,1,1",
        ),
        (
            {"membership": Membership(None, frozenset(), frozenset(), (WalDirectory(ServerName("else", 1, 1), 1, 1),))},
            "belongs to a server that is online or has a directory below WALs/ (else,1,1",
        ),
        (
            {"hbase_version": None, "peers": (Peer("2", "ENABLED", sync_replication_state="NONE"),)},
            "peer '2' has a state of synchronous replication: HBase 3 has taken it over",
        ),
        (  # the version was asked for before the listing: the master may have been replaced since
            {"peers": (Peer("2", "ENABLED", sync_replication_state="NONE"),)},
            "peer '2' has a state of synchronous replication: HBase 3 has taken it over",
        ),
        (
            {
                "membership": Membership(MASTER, frozenset(), frozenset()),
                "membership_2": Membership("m2,16000,1", frozenset(), frozenset()),
            },
            "active master changed",
        ),
    ],
)
def test_what_is_not_believed(changes: dict[str, object], message: str) -> None:
    assert message in distrust(replace(zookeeper_snapshot(["2"]), **changes))  # type: ignore[arg-type]


def test_peers_without_queues_and_queues_without_peers() -> None:
    assert "no queue of any of these" in distrust(zookeeper_snapshot(["1"]))
    nobody = Membership(None, frozenset(), frozenset())  # read below the same znode, which may be the wrong one
    idle = replace(zookeeper_snapshot(["1"]), membership=nobody, membership_2=nobody)
    assert "no queue of any of these" in distrust(idle)
    assert "queues but no peer" in distrust(zookeeper_snapshot([]))
    assert distrust(zookeeper_snapshot([]), release=Release(orphan_queues=True)) == ""


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("files", "queues-1"), "'queues-2' is missing"),
        (("queues-1", "files", "queues-2"), "in the order queues-1, files, queues-2"),
        (("files", "peers", "queues-1", "queues-2", "online-2"), ""),
        (("files", "queues-1", "peers", "queues-2"), "in the order"),
    ],
)
def test_other_steps_may_stand_between(names: Sequence[str], message: str) -> None:
    steps = tuple(Step(name, NOW + number, NOW + number + 1) for number, name in enumerate(names))
    found = distrust(replace(zookeeper_snapshot(["2"]), steps=steps))
    assert message in found
    assert bool(message) == bool(found)


@pytest.mark.promise("zookeeper-rule-by-name")
def test_a_file_archived_after_the_queues_were_read_is_held() -> None:
    """Beyond what a trusted capture can show: its listing ended before the queues were read."""
    view = seen(START)
    assert view.queued is not None
    late = replace(view, files_finished=NOW + DAY_MS, files_started=NOW + DAY_MS)
    file = ArchivedFile("oldWALs/w.1", 1, view.queued.read_from)
    assert decide(file, late).reason is Reason.QUEUE_READ_TOO_OLD
    assert decide(replace(file, modification_time=file.modification_time - 1), late).reason is Reason.NOT_QUEUED
    assert hbase_2_verdict("w.1", file.modification_time, late) is HBaseVerdict.KEEP


# the fast form


def looked_up(table: DecisionTable, name: str, modification_time: int) -> tuple[Decision, HBaseVerdict]:
    """What the table says of a file after the early reasons; the twin of `transforms.queued_names`."""
    assert table.named is not None
    found = table.named.wals.get(name)
    if found is None:
        other = table.unknown if modification_time < table.named.read_from else table.no_server
        return other.decision, other.hbase_verdict
    (answer,) = (answer for answer in table.named.pending if answer.bucket == found.bucket)
    holders = zip(answer.decision.blocking, found.positions, strict=True)
    blocking = tuple(replace(holder, wal=name, offset=position) for holder, position in holders)
    return replace(answer.decision, blocking=blocking), answer.hbase_verdict


@pytest.mark.promise("fast-form-equals-the-rule")
@given(zookeeper_cases())
@settings(max_examples=examples(120), deadline=None)
def test_the_table_says_what_the_rule_says(case: ZooKeeperCase) -> None:
    view = view_of_zookeeper(case)
    assert view.queued is not None
    table = name_table(view, view.queued, 5)
    buckets = [answer.bucket for answer in table.answers()]
    assert sorted(buckets) == list(range(5, table.next_bucket))
    for file in case.files:
        decision, hbase = looked_up(table, file.name, file.modification_time)
        assert hbase is hbase_2_verdict(file.name, file.modification_time, view)
        expected = decide(file, view)
        if expected.reason in (Reason.PENDING, Reason.CLUSTER_MOVED, Reason.NOT_QUEUED, Reason.QUEUE_READ_TOO_OLD):
            assert decision == expected


@pytest.mark.promise("zookeeper-rule-by-name")
@given(zookeeper_cases())
@settings(max_examples=examples(120), deadline=None)
def test_hbase_would_delete_what_is_deletable_and_no_queue_loses_a_file(case: ZooKeeperCase) -> None:
    view = view_of_zookeeper(case)
    queued = {znode.path.rpartition("/")[2] for znode in (*case.pass_1, *case.pass_2) if znode.path.count("/") == 6}
    for file in case.files:
        decision = decide(file, view)
        assert decision.reason not in (Reason.UNDECIDED, Reason.QUEUE_READ_TOO_OLD)
        if decision.verdict is Verdict.DELETABLE:
            assert not decision.blocking
            assert hbase_2_verdict(file.name, file.modification_time, view) is HBaseVerdict.DELETE
            assert decision.reason is not Reason.NOT_QUEUED or file.name not in queued


@pytest.mark.promise("mutants-make-the-gate-fire")
def test_a_hole_in_the_rule_is_one_that_hbases_fills() -> None:
    """The gate compares two things: without the queues of the first reading our rule frees what HBase keeps."""
    view = seen(START, {})
    assert view.queued is not None
    blind = replace(view, queued=replace(view.queued, queues_of={}))
    assert decide(FILES[0], blind).verdict is Verdict.DELETABLE
    assert hbase_2_verdict(FILES[0].name, FILES[0].modification_time, blind) is HBaseVerdict.KEEP


# who holds how much


def test_queues_and_pins_follow_from_totals() -> None:
    view = seen({**START, (A, "9"): {"1.1.1.1,60020.1265": b"PBUF", "1.1.1.1,60020.1": b""}, (C, "2-x"): {}})
    assert view.queued is not None
    table = name_table(view, view.queued)
    totals = [
        BucketTotal("c", True, "HELD", "PENDING", "KEEP", table.named.wals[file.name].bucket, 1, 8, 5, 5, 0, 0)
        for file in FILES
        if table.named is not None and file.name in table.named.wals
    ]
    rows = {(row.peer_id, row.owner, row.wal): row for row in queue_offsets(view, table, totals)}
    first = rows["2", A, "1.1.1.1,60020.1234"]
    assert (first.pending_files, first.pending_bytes, first.offset, first.need_timestamp) == (2, 16, 443, 1234)
    assert rows["9", A, "1.1.1.1,60020.1"].pending_files == 1
    pins = {row.peer_id: row for row in pinned(view, table, totals, {"2": "ENABLED"}) if row.level == "peer"}
    assert (pins["2"].files, pins["2"].exclusive_files, pins["2"].freed_files) == (6, 5, 5)
    assert (pins["9"].joint_files, pins["9"].freed_files) == (1, 0)
    assert pins["9"].remedy == "peer 9 does not exist: remove its queues with HBCK2 'replication --fix'"


def test_a_snapshot_whose_znodes_cannot_be_read_holds_everything() -> None:
    view = zookeeper_view(zookeeper_snapshot(["2"]), (), Settings(), "malformed", unparsable=True)
    assert {decide(file, view).reason for file in FILES} == {Reason.SNAPSHOT_UNTRUSTED}
    assert hbase_2_verdict("w.1", 0, view) is HBaseVerdict.KEEP
