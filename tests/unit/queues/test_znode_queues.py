"""What queues in ZooKeeper still have to read, of both readings."""

from pipelines.hbase.replication_queues import GroupOffset
from pipelines.hbase.zookeeper.tree import parse_tree
from pipelines.queues.wals.pending import cuts_of, groups_of
from pipelines.queues.wals.queue_storage import znode_rows
from tests.labs.small_cluster import D1, H1, H2, group, wal
from tests.strategies.zookeeper import Queues, znodes

FIRST: Queues = {
    (str(H1), "1"): {wal(H1, 1): (443).to_bytes(8, "big"), wal(H1, 2): b""},
    (str(D1), "1"): {wal(D1, 1): b"bad"},
    (str(H2), "2"): {},
}
SECOND: Queues = {
    (str(H1), "1"): {wal(H1, 1): (900).to_bytes(8, "big"), wal(H1, 3): b""},
    (str(H1), f"1-{D1}"): {wal(D1, 1): b"bad"},
    (str(H2), "2"): {},
}


def test_what_either_reading_has_is_to_be_read_from_the_smaller_position() -> None:
    rows = {str(row.queue): row for row in znode_rows([parse_tree(znodes(FIRST)), parse_tree(znodes(SECOND, 8, 8))])}
    own, dead, claimed = rows[f"1-{H1}"], rows[f"1-{D1}"], rows[f"1-{H1}/{D1}"]
    assert own.wals == {wal(H1, 1): 443, wal(H1, 2): 0, wal(H1, 3): 0}
    assert own.offsets == {group(H1): GroupOffset(wal(H1, 1), 443)}
    assert dead.wals == claimed.wals == {wal(D1, 1): 0}, "a queue that was claimed meanwhile is told at both places"
    assert rows[f"2-{H2}"].wals == {}
    assert cuts_of(rows.values()) == {wal(H1, 1): frozenset({443})}


def test_a_queue_reads_no_group_that_it_does_not_name() -> None:
    (row,) = znode_rows([parse_tree(znodes({(str(H1), "1"): {wal(H1, 1): b""}}))])
    assert list(groups_of(row, {group(H1): [], group(H2): [], f"{group(H1)}.more": []})) == [group(H1)]
