"""Queues that HBase 1.7.2's own classes wrote: what its cleaner keeps is never deletable, and the record still holds.

The record, `tests/golden/hbase/hbase-1.json`, was written by `record` below on Java 8.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from pipelines.capture.sources.zookeeper_client import ZooKeeperClient
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import ArchivedFile, Verdict, decide
from pipelines.hbase.zookeeper.tree import parse_tree
from tests.judge.comparison import Answer
from tests.judge.zookeeper_comparison import zk_mismatches
from tests.judge.zookeeper_states import ZkJudgedState
from tests.labs.cluster.classpath import PYSPARK_JARS, hbase_1, resolve
from tests.labs.cluster.hbase_1 import FILES, PARENT, PEER_OF_TABLES, PEERS, A, HBase1, Recorded
from tests.labs.cluster.zookeeper import ZooKeeper, connected
from tests.labs.debian import java_8
from tests.labs.places import GOLDEN
from tests.strategies.clusters import NOW
from tests.strategies.zookeeper import ZooKeeperCase, zookeeper_snapshot

pytestmark = pytest.mark.realhbase

RECORDED = "1.7.2"
RECORD = GOLDEN / "hbase" / "hbase-1.json"
OLD = NOW - 10**9


def recorded() -> list[Recorded]:
    document = json.loads(RECORD.read_text(encoding="utf-8"))
    assert tuple(document["files"]) == FILES
    return [
        Recorded(
            state["use_multi"],
            state["after"],
            tuple((path, bytes.fromhex(data)) for path, data in state["znodes"]),
            tuple(state["kept"]),
        )
        for state in document["states"]
    ]


def record(versions: dict[str, str], states: Sequence[Recorded], to: Path) -> None:
    """Writes a record; the deep test leaves the one it made in its temporary folder."""
    document = {
        "made by": "./tests/run --deep tests/integration/test_hbase_1_queues.py",
        **versions,
        "files": FILES,
        "states": [
            {
                "use_multi": state.use_multi,
                "after": state.after,
                "znodes": [[path, data.hex()] for path, data in state.znodes],
                "kept": state.kept,
            }
            for state in states
        ],
    }
    to.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def writer(zookeeper: ZooKeeper) -> Iterator[KazooClient]:
    with connected(zookeeper.quorum) as client:
        yield client


@pytest.fixture(scope="module")
def queues(zookeeper: ZooKeeper) -> Iterator[ZooKeeperQueues]:
    client = ZooKeeperClient(zookeeper.quorum, 300_000)
    yield ZooKeeperQueues(client)
    client.close()


def as_captured(state: Recorded, writer: KazooClient, queues: ZooKeeperQueues) -> ZkJudgedState:
    """What walsafe's own capture reads of a recorded state, with its files, which are old enough for any rule."""
    writer.delete(PARENT, recursive=True)
    for path, data in state.znodes:
        writer.create(path, data, makepath=True)
    snapshot = replace(zookeeper_snapshot([]), peers=queues.peers())
    files = tuple(ArchivedFile(f"oldWALs/{name}", 1, OLD) for name in sorted(FILES))
    first, second = (tuple(queues.znodes(step)) for step in ("queues-1", "queues-2"))
    return ZkJudgedState(ZooKeeperCase(snapshot, files, first, second, ReconcileSettings()))


def answers(state: Recorded, judged: ZkJudgedState) -> list[Answer]:
    return ["KEEP" if file.name in state.kept else "DELETE" for file in judged.files]


@pytest.mark.promise("hbase-1-cleaner-judges-recorded-queues")
def test_what_hbase_1_keeps_is_never_deletable(writer: KazooClient, queues: ZooKeeperQueues) -> None:
    freed = kept = 0
    for state in recorded():
        judged = as_captured(state, writer, queues)
        deletable = {file.name for file in judged.files if decide(file, judged.view).verdict is Verdict.DELETABLE}
        assert not deletable & set(state.kept), (state.use_multi, state.after)
        assert zk_mismatches(judged, answers(state, judged)) == [], (state.use_multi, state.after)
        freed, kept = freed + len(deletable), kept + len(state.kept)
    assert freed > kept > len(FILES)


def test_a_znode_that_is_not_read_would_be_seen(writer: KazooClient, queues: ZooKeeperQueues) -> None:
    """Each WAL that one queue alone holds is missed by the comparison as soon as a reading loses its znode."""
    lost = 0
    for state in recorded():
        judged = as_captured(state, writer, queues)
        for name in state.kept:
            case = judged.case
            first, second = (
                tuple(znode for znode in reading if not znode.path.endswith(f"/{name}"))
                for reading in (case.pass_1, case.pass_2)
            )
            blind = ZkJudgedState(replace(case, pass_1=first, pass_2=second))
            if blind.view.untrusted is None and blind.view.restless is None:
                assert zk_mismatches(blind, answers(state, blind)), (state.after, name)
                lost += 1
    assert lost > len(FILES)


def test_peers_of_hbase_1_are_read(writer: KazooClient, queues: ZooKeeperQueues) -> None:
    peers = as_captured(recorded()[0], writer, queues).case.snapshot.peers
    assert [(peer.peer_id, peer.state, peer.cluster_key) for peer in peers] == [
        (peer, "ENABLED", f"zk-{peer}:2181:/hbase") for peer in PEERS
    ]


def test_a_lock_of_hbase_1_is_read(writer: KazooClient, queues: ZooKeeperQueues) -> None:
    locked = next(state for state in recorded() if not state.use_multi and "has locked" in state.after)
    tree = parse_tree(as_captured(locked, writer, queues).case.pass_1)
    assert {str(server) for server in tree.locks} == {A}


@pytest.mark.deep
@pytest.mark.parametrize("version", ["1.4.14", "1.5.0", "1.6.0", RECORDED])
def test_hbase_1_on_java_8_gives_the_recorded_answers(version: str, zookeeper: ZooKeeper, tmp_path: Path) -> None:
    folders = sorted({tmp_path, PYSPARK_JARS, *(jar.parent for jar in resolve(hbase_1(version)))})
    assert_as_recorded(HBase1(tmp_path, zookeeper.quorum, version, java_8(tmp_path, folders)), tmp_path, "1.8.")


@pytest.mark.long
@pytest.mark.promise("parses-as-hbase-does")
def test_hbase_1_sends_a_limited_peer_only_its_tables(zookeeper: ZooKeeper, tmp_path: Path) -> None:
    hbase = HBase1(tmp_path, zookeeper.quorum, RECORDED)
    try:
        assert hbase.peer_of_tables() == (PEER_OF_TABLES, "{ns1:t1=[f1, f2], t2=null}")
    finally:
        hbase.close()


@pytest.mark.long
def test_hbase_1_on_our_java_gives_the_recorded_answers(zookeeper: ZooKeeper, tmp_path: Path) -> None:
    assert_as_recorded(HBase1(tmp_path, zookeeper.quorum, RECORDED), tmp_path, "")


def assert_as_recorded(hbase: HBase1, work: Path, java: str) -> None:
    """Plays both stories again; the new record stays in `work`."""
    try:
        versions, states = hbase.versions(), hbase.record()
    finally:
        hbase.close()
    record(versions, states, work / RECORD.name)
    assert versions["java"].startswith(java)
    assert [state.comparable() for state in states] == [state.comparable() for state in recorded()]
