"""Every recorded answer of HBase's own classes about znodes (golden zk.tsv; queue ids: names.tsv)."""

import pytest

from pipelines.common.errors import MalformedError
from pipelines.hbase.peer_rules import PeerRule
from pipelines.hbase.peers import Peer
from pipelines.hbase.zookeeper.queue_ids import parse_zk_queue_id
from pipelines.hbase.zookeeper.values import (
    parse_peer,
    parse_peer_state,
    parse_position,
    parse_sync_state,
)
from tests.labs.cluster.hbase_1 import PEER_OF_TABLES, TABLES
from tests.labs.places import TESTS

GOLDEN = TESTS / "golden" / "hbase"
ROWS = [line.split("\t") for line in (GOLDEN / "zk.tsv").read_text(encoding="utf-8").splitlines()]
QUEUE_IDS = (GOLDEN / "names.tsv").read_text(encoding="utf-8").partition("--- zk queue info\n")[2].partition("\n---")[0]


def rows(kind: str) -> list[list[str]]:
    found = [row[1:] for row in ROWS if row[0] == kind]
    assert found, kind
    return found


def test_the_golden_file_is_whole() -> None:
    assert (len(rows("pos")), len(rows("parse")), len(rows("sync"))) == (7, 7, 4)
    assert len(QUEUE_IDS.splitlines()) == 11


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize(("position", "data"), rows("pos"))
def test_positions(position: str, data: str) -> None:
    assert parse_position(bytes.fromhex(data)) == int(position)


@pytest.mark.parametrize(("data", "answer"), rows("parse"))
def test_bytes_of_positions(data: str, answer: str) -> None:
    if answer.startswith("!"):
        with pytest.raises(MalformedError):
            parse_position(bytes.fromhex(data))
    else:
        assert parse_position(bytes.fromhex(data)) == int(answer)


def test_no_data_is_no_position() -> None:
    assert rows("parse null")[0][0].startswith("!")
    with pytest.raises(MalformedError):
        parse_position(None)


def test_sequence_ids() -> None:
    assert parse_position(bytes.fromhex(rows("sid 900")[0][0])) == 900


def test_peer_states() -> None:
    enabled, _, disabled = rows("ENABLED")[0]
    assert parse_peer_state(bytes.fromhex(enabled)) == "ENABLED"
    assert parse_peer_state(bytes.fromhex(disabled)) == "DISABLED"
    # equal bytes alone count, and an absent znode is not equal
    assert {parse_peer_state(data) for data in (None, b"", bytes.fromhex(enabled) + b"\x10\x00")} == {"DISABLED"}


@pytest.mark.parametrize(("state", "data"), [row[:2] for row in rows("sync")])
def test_synchronous_replication_states(state: str, data: str) -> None:
    assert parse_sync_state(bytes.fromhex(data)) == state


def test_peers() -> None:
    enabled = bytes.fromhex(rows("ENABLED")[0][0])
    one, two, three = (bytes.fromhex(rows(kind)[0][0]) for kind in ("peer", "peer2", "peer3sync"))
    assert parse_peer("1", one, enabled) == Peer(
        "1",
        "ENABLED",
        "zk1,zk2,zk3:2181:/hbase2",
        serial=True,
        replicate_all=False,
        config={},
        rule=PeerRule(frozenset({"ns2"}), {"ns1:t1": ("f1", "f2"), "t2": ()}),
    )
    assert parse_peer("2", two, None) == Peer(
        "2", "DISABLED", "zk1:2181:/hbase2", serial=False, replicate_all=True, config={}, rule=PeerRule()
    )
    sync = parse_peer("3", three, enabled, bytes.fromhex(rows("sync")[1][1]))
    assert (sync.remote_wal_dir, sync.sync_replication_state) == ("hdfs://b/hbase/remoteWALs", "ACTIVE")


def test_a_peer_in_text_is_a_cluster_key() -> None:
    recorded = dict(part.split("=") for part in rows("peer parse text")[0][0].split(","))
    found = parse_peer("1", recorded["clusterKey"].encode(), None)
    assert (found.cluster_key, found.endpoint) == (recorded["clusterKey"], None)
    assert (found.replicate_all, found.serial) == (True, False)
    assert (recorded["replicateAllUserTables"], recorded["serial"]) == ("true", "false")


def test_a_peer_that_hbase_1_limits_to_tables_does_not_count_as_one_that_takes_all() -> None:
    """HBase 2 would send it everything (`ReplicationPeerConfigUtil.parsePeerFrom` of 2.6.4), HBase 1 only these."""
    found = parse_peer("1", PEER_OF_TABLES, None)
    assert found.replicate_all is None
    assert found.rule == PeerRule(tables=TABLES)
    before_1_4 = parse_peer("1", bytes.fromhex("504255460a016b3000"), None, None, b"t2")
    assert (before_1_4.replicate_all, before_1_4.rule) == (None, PeerRule())
    assert parse_peer("1", b"zk1:2181:/hbase", None, None, b"t2").replicate_all is None
    for no_tables in (None, b""):
        assert parse_peer("1", bytes.fromhex("504255460a016b3000"), None, None, no_tables).replicate_all is True


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize("line", QUEUE_IDS.splitlines())
def test_queue_ids(line: str) -> None:
    text, answer = line.split("\t")
    queue = parse_zk_queue_id(text)
    servers = ", ".join(map(str, queue.dead_servers))
    assert f"peer={queue.peer_id} recovered={str(queue.recovered).lower()} dead=[{servers}]" == answer
