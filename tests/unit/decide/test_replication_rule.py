"""What the queues in hbase:replication say of one WAL: each clause of the rule by hand, as in the table of verdicts."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from pipelines.decide.rule.cleaner_rule import (
    HBaseVerdict,
    for_every_file,
    for_tracked_wal,
    hbase_2_verdict,
    hbase_verdict,
)
from pipelines.decide.rule.cluster_view import ClusterView, MergedQueueRow
from pipelines.decide.rule.settings import Release
from pipelines.decide.rule.table_queue_storage import TABLE
from pipelines.decide.rule.table_rule import decide_replication
from pipelines.decide.rule.verdict import Reason, Verdict
from pipelines.decide.rule.zookeeper_queue_storage import ZOOKEEPER
from pipelines.hbase.replication_queues import parse_offset, parse_queue_id
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.queued_wals import QueuedWals
from tests.strategies.clusters import NOW, RETENTION

H1, H2, H3 = (ServerName.parse(f"h{number},16020,5") for number in (1, 2, 3))
GROUP = "h1%2C16020%2C5"
TABLE_GROUP = f"{GROUP}.{GROUP}.rep.0"
FREE = {Reason.REPLICATED, Reason.DEAD_NO_QUEUE}
ONLINE, CRASHING, LEFT, DEAD = "online", "crashing", "only a directory", "fully dead"


def view(
    rows: Mapping[str, Mapping[str, str]],
    state: str,
    peers: tuple[str, ...] = ("1",),
    restless: str | None = None,
    *,
    released: bool = False,
) -> ClusterView:
    """A cluster in which h1 is alive so, and h2 is online."""
    one, none = frozenset({H1}), frozenset[ServerName]()
    online, crashing = (one if state == ONLINE else none), (one if state == CRASHING else none)
    return ClusterView(
        cluster="prod",
        peer_ids=peers,
        rows=tuple(
            MergedQueueRow(parse_queue_id(key), {group: parse_offset(offset) for group, offset in offsets.items()})
            for key, offsets in rows.items()
        ),
        online=online | {H2},
        crashing=crashing,
        wal_directories=frozenset({H2}) | (none if state == DEAD else one),
        hbase_not_fully_dead=online | crashing | {H2},
        files_started=NOW,
        files_finished=NOW,
        retention=RETENTION,
        storage=TABLE,
        restless=restless,
        release=Release(replication_table_wals=released),
    )


def at(offset: int, timestamp: int = 7, group: str = GROUP) -> dict[str, str]:
    """A queue that stands there."""
    return {group: f"{group}.{timestamp}:{offset}"}


def decided(seen: ClusterView, timestamp: int = 7, group: str = GROUP) -> tuple[Reason, list[tuple[object, ...]]]:
    decision = decide_replication(seen, H1, group, timestamp)
    if decision.reason is not Reason.REPLICATION_TABLE_WAL:
        assert (decision.verdict is Verdict.DELETABLE) == (decision.reason in FREE)
    holders = [
        (one.peer_id, one.owner and one.owner.host, one.source and one.source.host, one.wal, one.offset)
        for one in decision.blocking
    ]
    return decision.reason, holders


OWN, WITHOUT = "1-h1,16020,5", ("1", None, "h1", None, None)
CLAIMED = "1-h2,16020,5/h1,16020,5"


@pytest.mark.parametrize("state", [ONLINE, CRASHING, LEFT, DEAD])
@pytest.mark.parametrize(
    ("offset", "timestamp", "needed"), [(0, 6, False), (0, 7, True), (3, 7, True), (-1, 7, False), (-1, 8, True)]
)
def test_a_queue_needs_what_it_has_not_shipped(state: str, offset: int, timestamp: int, *, needed: bool) -> None:
    """Whoever is alive, and whether the capture was quiet or not: the peer has its queue."""
    for restless in (None, "x"):
        found = decided(view({OWN: at(offset)}, state, restless=restless), timestamp)
        holder = ("1", "h1", "h1", f"{GROUP}.7", offset)
        assert found == ((Reason.PENDING, [holder]) if needed else (Reason.REPLICATED, []))


@pytest.mark.parametrize(
    ("state", "restless", "reason"),
    [
        (ONLINE, None, Reason.QUEUE_MISSING),
        (CRASHING, None, Reason.QUEUE_MISSING),
        (ONLINE, "x", Reason.QUEUE_MISSING),
        (CRASHING, "x", Reason.QUEUE_MISSING),
        (LEFT, None, Reason.LEFTOVER_WAL_DIR),
        (LEFT, "x", Reason.LEFTOVER_WAL_DIR),
        (DEAD, "x", Reason.CLUSTER_MOVED),
    ],
)
def test_a_missing_queue_holds_unless_its_server_is_dead_and_the_capture_was_quiet(
    state: str, restless: str | None, reason: Reason
) -> None:
    of_another_server, of_no_peer = {"1-h2,16020,5": at(0)}, {"9-h1,16020,5": at(-1)}
    for rows in ({}, of_another_server, of_no_peer):
        assert decided(view(rows, state, restless=restless)) == (reason, [WITHOUT])
    two = view({"2-h1,16020,5": at(-1)}, state, ("1", "2"), restless)
    assert decided(two) == (reason, [WITHOUT])


def test_who_needs_it_and_who_has_no_queue_are_told_together() -> None:
    rows = {"2-h1,16020,5": at(0), "2-h2,16020,5/h1,16020,5": at(4), "3-h1,16020,5": at(-1)}
    needing = [("2", "h1", "h1", f"{GROUP}.7", 0), ("2", "h2", "h1", f"{GROUP}.7", 4)]
    assert decided(view(rows, ONLINE, ("1", "2", "3"))) == (Reason.QUEUE_MISSING, [WITHOUT, *needing])
    assert decided(view(rows, DEAD, ("1", "2", "3"))) == (Reason.PENDING, needing)
    assert decided(view(rows, DEAD, ("1", "2", "3"), "x")) == (Reason.CLUSTER_MOVED, [WITHOUT])
    turned = dict(reversed(rows.items()))
    assert decided(view(turned, DEAD, ("1", "2", "3"))) == (Reason.PENDING, needing)


def test_holders_are_sorted_by_peer_before_their_owner() -> None:
    rows = {CLAIMED: at(0), "2-h1,16020,5": at(0)}
    (_, holders) = decided(view(rows, DEAD, ("1", "2")))
    assert [holder[:2] for holder in holders] == [("1", "h2"), ("2", "h1")]


def test_the_dead_of_whom_nobody_has_a_queue_hold_nothing() -> None:
    assert decided(view({}, DEAD)) == (Reason.DEAD_NO_QUEUE, [])
    assert decided(view({"9-h1,16020,5": at(0)}, DEAD)) == (Reason.DEAD_NO_QUEUE, [])
    assert decided(view({OWN: at(-1)}, DEAD, ("1", "2"))) == (Reason.REPLICATED, [])


@pytest.mark.parametrize("state", [ONLINE, DEAD])
def test_a_queue_without_the_group_needs_all_of_it(state: str) -> None:
    other = {OWN: at(-1, group="h1%2C16020%2C5.other")}
    holder = ("1", "h1", "h1", None, None)
    assert decided(view(other, state)) == (Reason.QUEUE_MISSING if state == ONLINE else Reason.PENDING, [holder])
    assert decided(view({OWN: {}}, state), 0)[1] == [holder]
    both = {**other, CLAIMED: at(-1)}
    assert decided(view(both, state)) == (Reason.PENDING, [holder]), "one row of the peer has the group"
    assert decided(view({OWN: at(-1), "2-h1,16020,5": {}}, ONLINE, ("1", "2")))[0] is Reason.QUEUE_MISSING


def test_the_wals_of_the_queue_table_itself_are_freed_only_where_a_person_says_so() -> None:
    for state in (ONLINE, CRASHING, LEFT):
        for rows in ({}, {OWN: at(0)}):
            held = decide_replication(view(rows, state), H1, TABLE_GROUP, 7)
            freed = decide_replication(view(rows, state, released=True), H1, TABLE_GROUP, 7)
            assert (held.reason, held.verdict) == (Reason.REPLICATION_TABLE_WAL, Verdict.HELD)
            assert (freed.reason, freed.verdict) == (Reason.REPLICATION_TABLE_WAL, Verdict.DELETABLE)
    told = {OWN: at(0, group=TABLE_GROUP)}
    assert decided(view(told, ONLINE, released=True), group=TABLE_GROUP)[0] is Reason.PENDING
    of_no_peer = {"9-h1,16020,5": at(0, group=TABLE_GROUP)}
    assert decided(view(of_no_peer, ONLINE, released=True), group=TABLE_GROUP)[0] is Reason.QUEUE_MISSING
    assert decided(view({}, DEAD, released=True), group=TABLE_GROUP)[0] is Reason.DEAD_NO_QUEUE
    assert decided(view({}, ONLINE, released=True), group=f"{GROUP}.rep.0")[0] is Reason.QUEUE_MISSING


# HBase's own cleaner


@pytest.mark.parametrize(
    ("rows", "state", "answer"),
    [
        ({}, ONLINE, HBaseVerdict.KEEP),
        ({}, CRASHING, HBaseVerdict.KEEP),
        ({}, LEFT, HBaseVerdict.DELETE),
        ({}, DEAD, HBaseVerdict.DELETE),
        ({OWN: at(0)}, DEAD, HBaseVerdict.KEEP),
        ({OWN: at(-1)}, ONLINE, HBaseVerdict.DELETE),
        ({OWN: at(-1), CLAIMED: at(0)}, DEAD, HBaseVerdict.KEEP),
        ({OWN: at(0, group="other")}, DEAD, HBaseVerdict.KEEP),
        ({"9-h1,16020,5": at(-1)}, ONLINE, HBaseVerdict.KEEP),
        ({"9-h1,16020,5": at(0)}, DEAD, HBaseVerdict.DELETE),
    ],
)
def test_hbases_cleaner_asks_each_peer_that_has_a_queue(
    rows: Mapping[str, Mapping[str, str]], state: str, answer: HBaseVerdict
) -> None:
    assert hbase_verdict(f"{GROUP}.7", view(rows, state)) is answer
    assert for_tracked_wal(view(rows, state), H1, GROUP, 7) is answer


def test_a_later_peer_of_hbases_cleaner_keeps_as_well() -> None:
    rows = {OWN: at(-1), "2-h1,16020,5": at(0)}
    assert for_tracked_wal(view(rows, DEAD, ("1", "2")), H1, GROUP, 7) is HBaseVerdict.KEEP
    assert for_tracked_wal(view({"2-h1,16020,5": at(0)}, DEAD, ("1", "2")), H1, GROUP, 7) is HBaseVerdict.KEEP
    assert for_tracked_wal(view({"2-h1,16020,5": at(-1)}, DEAD, ("1", "2")), H1, GROUP, 7) is HBaseVerdict.DELETE
    assert for_tracked_wal(view({"2-h1,16020,5": at(-1)}, ONLINE, ("1", "2")), H1, GROUP, 7) is HBaseVerdict.KEEP


def test_a_timestamp_over_64_bits_throws_where_it_is_compared() -> None:
    assert for_tracked_wal(view({OWN: at(-1)}, DEAD), H1, GROUP, None) is HBaseVerdict.THROWS
    assert for_tracked_wal(view({OWN: {}}, DEAD), H1, GROUP, None) is HBaseVerdict.KEEP
    assert for_tracked_wal(view({}, DEAD), H1, GROUP, None) is HBaseVerdict.DELETE


def test_what_hbases_cleaner_says_of_every_file() -> None:
    quiet = view({OWN: at(0)}, DEAD)
    assert for_every_file(quiet) is None
    assert for_every_file(replace(quiet, queue_table_absent=True)) is HBaseVerdict.DELETE
    assert for_every_file(replace(quiet, queue_table_absent=True, hbase_keeps_all=True)) is HBaseVerdict.DELETE
    assert for_every_file(replace(quiet, hbase_keeps_all=True)) is HBaseVerdict.KEEP
    assert for_every_file(replace(quiet, peer_ids=())) is HBaseVerdict.DELETE
    in_zookeeper = replace(quiet, peer_ids=(), storage=ZOOKEEPER, queued=QueuedWals(NOW, {}, frozenset({f"{GROUP}.7"})))
    assert for_every_file(in_zookeeper) is None
    assert hbase_2_verdict(f"{GROUP}.7", NOW - 1, in_zookeeper) is HBaseVerdict.KEEP
    assert hbase_2_verdict(f"{GROUP}.8", NOW - 1, in_zookeeper) is HBaseVerdict.DELETE
    assert hbase_2_verdict(f"{GROUP}.8", NOW, in_zookeeper) is HBaseVerdict.KEEP
    assert hbase_2_verdict(f"{GROUP}.8", NOW - 1, replace(in_zookeeper, hbase_keeps_all=True)) is HBaseVerdict.KEEP
    assert hbase_2_verdict(f"{GROUP}.8", NOW - 1, quiet) is HBaseVerdict.KEEP
    assert hbase_2_verdict(f"{GROUP}.8", 0, quiet) is HBaseVerdict.KEEP
    assert hbase_verdict("no WAL", quiet) is HBaseVerdict.DELETE
    assert hbase_verdict(f"{GROUP}.7.meta", quiet) is HBaseVerdict.DELETE
    assert hbase_verdict("nobody.7", quiet) is HBaseVerdict.THROWS
