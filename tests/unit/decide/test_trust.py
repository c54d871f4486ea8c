"""When nothing of a snapshot is believed: every clause alone decides, and a quiet whole capture is believed."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from jobs.demo.cluster.snapshots import SAFE_FLAGS
from pipelines.common.conditions import Condition
from pipelines.decide.rule.settings import Release
from pipelines.decide.rule.trust import doubts, first_doubt, unfinished_migration_reason
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.peers import Peer, ambiguous_peer
from pipelines.hbase.replication_queues import Cell, QueueCell, QueueId, parse_queue_cells, parse_queue_id
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.capture_clocks import FILE_SYSTEM, StepStamp, clock_fault
from pipelines.snapshot.capture_order import foreign_listing_reason, mixed_clusters_reason
from pipelines.snapshot.model import CaptureStep, MasterFlags, Membership, Snapshot, WalDirectory
from tests.models.capture.trust import distrust_reason
from tests.strategies.clusters import MASTER, NOW, snapshot_of

H1, H2, H3 = (ServerName.parse(f"h{number},16020,5") for number in (1, 2, 3))
WAL = "h1%2C16020%2C5"
ROWS = parse_queue_cells([Cell(b"1-h1,16020,5", b"queue", WAL.encode(), f"{WAL}.7:0".encode())])
OTHERS = parse_queue_cells([Cell(b"1-h3,16020,5", b"queue", b"h3%2C16020%2C5", b"h3%2C16020%2C5.7:0")])
OF_ANOTHER_PEER = parse_queue_cells([Cell(b"2-h1,16020,5", b"queue", WAL.encode(), f"{WAL}.7:0".encode())])


def alive(
    online: Sequence[ServerName] = (H1,), crashing: Sequence[ServerName] = (), below: Sequence[ServerName] = (H1,)
) -> Membership:
    directories = tuple(WalDirectory(server, 1, NOW) for server in below)
    return Membership(MASTER, frozenset(online), frozenset(crashing), directories)


WHOLE = snapshot_of(("1",), alive(), alive(below=()))
ALONE = snapshot_of((), alive(), alive(below=()))


def why(snapshot: Snapshot, first: Sequence[QueueCell] = ROWS, second: Sequence[QueueCell] = ROWS) -> str | None:
    return distrust_reason(snapshot, [first, second], Release())


def test_a_whole_capture_is_believed() -> None:
    assert why(WHOLE) is None
    assert why(ALONE, (), ()) is None
    assert why(replace(WHOLE, extras=("backup", "barriers"))) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"extras": ("syncup",)}, "down when it was captured"),
        ({"extras": ("new",)}, "extra 'new' is not known"),
        ({"steps": WHOLE.steps[1:]}, "not the capture order: step 'files' is missing"),
        ({"peers": (Peer("1-a", "ENABLED"),)}, "peer id '1-a' has a '-'"),
        ({"membership": None}, "nothing proves that the active master was initialized"),
        ({"membership_2": None}, "nothing proves that the active master was initialized"),
        ({"membership": replace(alive(), active_master=None)}, "nothing proves that the active master"),
        ({"membership_2": replace(alive(), active_master=None)}, "nothing proves that the active master"),
        ({"membership_2": replace(alive(), active_master="m2,1,1")}, "changed from m1,16000,1664092000000 to m2,1,1"),
        ({"flags": None}, "flags were not read twice"),
        ({"flags_2": None}, "flags were not read twice"),
    ],
)
def test_what_the_snapshot_says_of_itself(changes: dict[str, object], message: str) -> None:
    found = why(replace(WHOLE, **changes))  # type: ignore[arg-type]
    assert found is not None
    assert message in found


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"extras": ("syncup",), "steps": ()}, Condition.CLUSTER_DOWN),
        ({"extras": ("new",), "steps": ()}, Condition.FORMAT_UNKNOWN),
        ({"steps": (), "membership": None}, Condition.SNAPSHOT_OUT_OF_ORDER),
        ({"peers": (Peer("1-a", "ENABLED"),), "membership": None}, Condition.PEER_ID_AMBIGUOUS),
        ({"membership": None, "flags": None}, Condition.MASTER_CHANGED),
        ({"flags": None}, Condition.SNAPSHOT_UNTRUSTED),
        ({"flags_2": replace(SAFE_FLAGS, migration_pending=None)}, Condition.MIGRATION_PENDING),
        ({"flags": replace(SAFE_FLAGS, queue_table_exists=False)}, Condition.QUEUE_TABLE_MISSING),
        ({"membership": alive(below=()), "membership_2": alive(below=())}, Condition.MIXED_CLUSTERS),
    ],
)
def test_each_doubt_has_its_name_and_the_first_one_counts(changes: dict[str, object], condition: Condition) -> None:
    changed = replace(WHOLE, **changes)  # type: ignore[arg-type]
    assert first_doubt(doubts(changed, [ROWS, ROWS], Release())) == (condition, why(changed))
    assert first_doubt(doubts(WHOLE, [ROWS, ROWS], Release())) is None


@pytest.mark.promise("unknown-flag-is-unsafe")
@pytest.mark.parametrize("place", ["flags", "flags_2"])
@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("migration_pending", True, "from ZooKeeper is pending"),
        ("migration_pending", None, "from ZooKeeper may be pending (unknown)"),
        ("zk_queue_data", True, "queue data is still in ZooKeeper"),
        ("zk_queue_data", None, "queue data may still be (unknown) in ZooKeeper"),
        ("queue_table_exists", False, "hbase:replication does not exist although peers do"),
        ("queue_table_exists", None, "hbase:replication may not exist (unknown) although peers do"),
    ],
)
def test_either_reading_of_a_flag_is_enough(place: str, flag: str, value: bool | None, message: str) -> None:
    flags: MasterFlags = replace(SAFE_FLAGS, **{flag: value})
    seen = replace(WHOLE, **{place: flags})  # type: ignore[arg-type]
    found = why(seen)
    assert found is not None
    assert message in found
    assert unfinished_migration_reason(seen) == (None if flag == "queue_table_exists" else found)


def test_without_peers_the_queue_table_may_be_absent_and_a_peer_may_be_added() -> None:
    absent = replace(SAFE_FLAGS, queue_table_exists=False, add_peer_running=True)
    assert why(replace(ALONE, flags=absent, flags_2=absent), (), ()) is None
    assert unfinished_migration_reason(ALONE) is None
    assert unfinished_migration_reason(replace(ALONE, flags=None, flags_2=None)) is None


@pytest.mark.parametrize("place", ["flags", "flags_2"])
@pytest.mark.parametrize("adding", [True, None])
def test_a_peer_that_may_be_being_added_has_no_rows_yet(place: str, adding: bool | None) -> None:
    flags = replace(SAFE_FLAGS, add_peer_running=adding)
    assert why(replace(WHOLE, **{place: flags}), (), ()) is None  # type: ignore[arg-type]


def test_rows_and_peers_belong_together() -> None:
    for first, second in (((), ()), (OF_ANOTHER_PEER, OF_ANOTHER_PEER)):
        missed = why(WHOLE, first, second)
        assert missed is not None
        assert "1 peers and 1 online servers, but no row of any of these peers" in missed
    assert why(WHOLE, ROWS, ()) is None
    assert why(WHOLE, (), (*OF_ANOTHER_PEER, *ROWS)) is None
    nobody = snapshot_of(("1",), alive((), (), (H1,)), alive((), (), ()))
    assert why(nobody, (), ()) is None, "nobody is online who would have a row"
    for first, second in ((ROWS, ()), ((), ROWS)):
        orphans = why(ALONE, first, second)
        assert orphans is not None
        assert "1 queue rows but no peer" in orphans
        assert "If a RemovePeer is running, wait until it has ended and capture again. If none is" in orphans
    assert distrust_reason(ALONE, [ROWS, ROWS], Release(orphan_queues=True)) is None


def test_two_clusters_in_one_snapshot() -> None:
    found = why(snapshot_of(("1",), alive(below=()), alive(below=())))
    assert found is not None
    assert "no server has a directory below WALs/" in found
    found = why(snapshot_of(("1",), alive(below=(H2,)), alive(below=())))
    assert found is not None
    assert "no online server (such as h1,16020,5) has a directory below WALs/ (there is h2,16020,5)" in found
    found = why(WHOLE, OTHERS, OTHERS)
    assert found is not None
    assert "no queue (such as 1-h3,16020,5) belongs to a server that HBase knows (h1,16020,5" in found
    assert found.endswith("Capture again, everything from one cluster")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (alive((H1, H2), (), (H1,)), alive((H1,), (), ())),
        (alive((H1,), (H3,), (H1,)), alive((H1,), (H3,), ())),
        (alive((H1,), (), (H1, H3)), alive((H1,), (), ())),
        (alive((H1,), (), (H1,)), alive((H1, H3), (), ())),
        (alive((H1,), (), (H1,)), alive((H1,), (H3,), ())),
    ],
    ids=["one of two online has a directory", "crashing", "a directory", "online later", "crashing later"],
)
def test_one_server_in_common_is_enough(first: Membership, second: Membership) -> None:
    cells = ROWS if H2 in first.online else OTHERS
    assert why(snapshot_of(("1",), first, second), cells, cells) is None


@pytest.mark.parametrize("owner", [H1, H2, H3], ids=["a directory", "online", "crashing"])
def test_a_queue_of_any_server_of_the_first_reading_is_of_this_cluster(owner: ServerName) -> None:
    first = alive((H2, H1), (H3,), (H1,))
    assert mixed_clusters_reason(first, WHOLE.peers, frozenset({QueueId("1", owner)})) is None


QUEUES = frozenset({parse_queue_id("1-h3,16020,5")})


@pytest.mark.parametrize(
    ("membership", "peers", "rows"),
    [
        (alive((), (), ()), (Peer("1", "ENABLED"),), QUEUES),
        (alive(), (), QUEUES),
        (alive(), (Peer("1", "ENABLED"),), frozenset()),
    ],
    ids=["no server", "no peer", "no queue"],
)
def test_with_nothing_to_compare_nobody_is_a_stranger(
    membership: Membership, peers: Sequence[Peer], rows: frozenset[QueueId]
) -> None:
    assert mixed_clusters_reason(membership, peers, rows) is None


def test_a_server_of_the_listing_must_be_known_to_hbase_or_a_queue() -> None:
    listed, none = frozenset({H1}), frozenset[QueueId]()
    foreign = snapshot_of(("1",), alive((H2,), (), (H2,)), alive((H2,), (), ()))
    found = foreign_listing_reason(foreign, listed, none)
    assert found is not None
    assert "files below WALs/h1,16020,5, and of no server that HBase or a queue names (such as h2,16020,5)" in found
    assert foreign_listing_reason(foreign, frozenset(), none) is None, "no live WAL tells nothing"
    nobody = replace(foreign, membership=None, membership_2=None)
    assert foreign_listing_reason(nobody, listed, none) is None, "there is nobody to compare with"
    assert foreign_listing_reason(nobody, listed, QUEUES) is not None
    assert foreign_listing_reason(nobody, frozenset({H1, H3}), QUEUES) is None
    nothing = alive((), (), ())
    for first, second in (
        (alive((H1,), (), ()), None), (alive((), (H1,), ()), None), (alive((), (), (H1,)), None),
        (nothing, alive((H1,), (), ())), (nothing, alive((), (H1,), ())), (None, alive((), (), (H1,))),
    ):  # fmt: skip
        seen = replace(foreign, membership=first, membership_2=second)
        assert foreign_listing_reason(seen, listed, QUEUES) is None


def test_a_peer_id_with_a_hyphen_is_told_with_the_peer_that_it_would_be_taken_for() -> None:
    assert ambiguous_peer((Peer("1", "ENABLED"), Peer("a", "ENABLED"))) is None
    found = ambiguous_peer((Peer("b", "ENABLED"), Peer("a-b-c", "ENABLED"), Peer("a-c", "ENABLED")))
    assert found is not None
    assert "peer id 'a-b-c'" in found
    assert "queues of peer 'a'." in found


def test_who_came_or_died_between_two_looks_has_moved() -> None:
    earlier = KnownServers(frozenset({H1}), frozenset({H2}))
    assert earlier.moved_since(earlier) == frozenset()
    assert KnownServers(frozenset({H1, H3}), frozenset({H2})).moved_since(earlier) == {H3}
    assert KnownServers(frozenset({H1}), frozenset({H2, H3})).moved_since(earlier) == {H3}
    assert KnownServers(frozenset(), frozenset({H1, H2})).moved_since(earlier) == {H1}
    assert KnownServers(frozenset({H1}), frozenset()).moved_since(earlier) == frozenset()


def stamps(files: str | None, queues: str | None, peers: str | None, *, saved: bool = True) -> list[StepStamp]:
    """Of three steps, by whose clock each was stamped."""
    hosts = {"files": files, "peers": peers, "queues-1": queues}
    return [StepStamp(CaptureStep(name, NOW, NOW), host, saved) for name, host in hosts.items()]


def test_the_clocks_of_two_hosts_are_no_order() -> None:
    assert clock_fault(stamps("a", "a", "a")) is None
    assert clock_fault([]) is None
    found = clock_fault(stamps("a", "b", "a"))
    assert found is not None
    assert "step 'queues-1' was stamped by the clock of b, step 'peers' by that of a" in found
    found = clock_fault(stamps("b", "a", "a"))
    assert found is not None
    assert "step 'files' was stamped by the clock of b, step 'peers' by that of a" in found


def test_a_listing_may_have_a_clock_of_its_own_where_it_is_older_for_certain() -> None:
    assert clock_fault(stamps(FILE_SYSTEM, "a", "a")) is None
    assert clock_fault(stamps("b", "a", "a", saved=False)) is None
    assert clock_fault(stamps(None, "a", "a", saved=False)) is None
    assert clock_fault(stamps("b", "c", "a", saved=False)) is not None, "the rest has one clock in any case"
    said = [StepStamp(one.step, one.host) for one in stamps("b", "a", "a")]
    assert clock_fault(said) is not None, "saved, unless it is said that it was not"
    one_saved = [*stamps("b", "a", "a", saved=False)[:2], *stamps("b", "a", "a")[2:]]
    assert clock_fault(one_saved) is not None


def test_a_step_that_nobody_stamped_is_named_with_the_setting_that_does() -> None:
    for hosts, name, section in (
        ((None, "a", "a"), "files", "files"),
        (("a", "a", None), "peers", "queues"),
        (("a", None, "a"), "queues-1", "queues"),
    ):
        found = clock_fault(stamps(*hosts))
        assert found is not None
        assert f"by which host's clock step {name!r} was stamped" in found
        assert f"capture.{section}.clock_host" in found
    assert clock_fault(stamps(None, None, None)) is not None
