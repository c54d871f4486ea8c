"""kazoo against a real ZooKeeper: every part of the tree, what moves meanwhile, and what cannot be read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from pipelines.capture.capture import CaptureResult, CaptureTarget
from pipelines.capture.capture_zookeeper import ZooKeeperSources, capture_zookeeper
from pipelines.capture.ports import ClusterSettings
from pipelines.capture.sources.saved_listings import WatchedListing
from pipelines.capture.sources.zookeeper_client import ZooKeeperClient
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.capture.timeline import RetryPolicy
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.common.forms import read_value
from pipelines.decide.rule.settings import Release
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.peer_rules import PeerRule
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import ABSENT, Znode, parse_tree
from pipelines.snapshot.model import Backup, Retention
from pipelines.snapshot.queue_lines import ZNODE
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from tests.labs.cluster.zookeeper import ZooKeeper, connected
from tests.labs.waiting import wait_until
from tests.models.capture.trust import zookeeper_distrust_reason

pytestmark = pytest.mark.realhbase

A, B = "h-a.example.org,16020,5", "h-b.example.org,16020,6"
BASE = "/hbase/replication"
REGION = "0123456789abcdef0123456789abcdef"
WRITER = b"\xff\x00\x00\x00\x0cmaster:16000"
"""What HBase puts before data that are not empty."""
TREE: Mapping[str, bytes] = {
    "/hbase/hbaseid": bytes.fromhex("504255460a0161"),
    f"{BASE}/rs/{A}/2/w.1": WRITER + bytes.fromhex("5042554608bb03"),
    f"{BASE}/rs/{A}/2/w.2": b"",
    f"{BASE}/rs/{A}/2-{B}/w.3": (443).to_bytes(8, "big"),
    f"{BASE}/rs/{B}/lock": bytes.fromhex("504255460a0178"),
    f"{BASE}/peers/2": WRITER + bytes.fromhex("50425546") + b"\x0a\x0fzk1:2181:/hbase\x58\x01",
    f"{BASE}/peers/2/peer-state": WRITER + bytes.fromhex("504255460800"),
    f"{BASE}/peers/old": b"zk2:2181:/hbase",
    f"{BASE}/hfile-refs/2/f1": b"",
    f"{BASE}/regions/{REGION[:2]}/{REGION[2:4]}/{REGION[4:]}-2": (900).to_bytes(8, "big"),
}


@pytest.fixture
def writer(zookeeper: ZooKeeper) -> Iterator[KazooClient]:
    """HBase's part, anew for each test."""
    with connected(zookeeper.quorum) as client:
        for name in client.get_children("/"):
            if name != "zookeeper":
                client.delete(f"/{name}", recursive=True)
        for path, data in TREE.items():
            client.create(path, data, makepath=True)
        yield client


@pytest.fixture
def queues(zookeeper: ZooKeeper) -> Iterator[ZooKeeperQueues]:
    client = ZooKeeperClient(zookeeper.quorum, 300_000)
    yield ZooKeeperQueues(client)
    client.close()


@pytest.mark.usefixtures("writer")
def test_the_whole_tree_is_read(queues: ZooKeeperQueues) -> None:
    tree = parse_tree(queues.znodes("queues-2"))
    found = {(str(queue.owner), queue.queue.text): dict(queue.wals) for queue in tree.queues}
    assert found == {(A, "2"): {"w.1": 443, "w.2": 0}, (A, f"2-{B}"): {"w.3": 443}}
    assert {str(owner): who for owner, who in tree.locks.items()} == {B: "x"}
    assert (tree.hfile_refs, tree.sequence_ids) == ({"2": ("f1",)}, {(REGION, "2"): 900})
    assert tree.opened == tree.closed == 2
    assert parse_tree(queues.znodes("queues-1")).hfile_refs == {}
    assert queues.cluster_id() == "a"
    assert queues.peers() == (
        Peer("2", "ENABLED", "zk1:2181:/hbase", serial=True, replicate_all=True, config={}, rule=PeerRule()),
        Peer("old", "DISABLED", "zk2:2181:/hbase", serial=False, replicate_all=True),
    )


def test_without_queues_it_says_so(queues: ZooKeeperQueues, writer: KazooClient) -> None:
    writer.delete(BASE, recursive=True)
    assert queues.znodes("queues-1") == [Znode(f"{BASE}/rs", b"", ABSENT)] * 2
    assert queues.peers() == ()


def test_a_znode_that_may_not_be_read_is_named(queues: ZooKeeperQueues, writer: KazooClient) -> None:
    writer.set_acls(f"{BASE}/rs", [make_digest_acl("hbase", "secret", all=True)])
    with pytest.raises(UsageError, match=r"/hbase/replication/rs may not be read.*capture\.queues\.digest"):
        queues.znodes("queues-1")
    allowed = ZooKeeperClient(queues._client._quorum, 300_000, "hbase:secret")
    assert len(parse_tree(ZooKeeperQueues(allowed).znodes("queues-1")).queues) == 2
    allowed.close()
    writer.add_auth("digest", "hbase:secret")
    writer.set_acls(f"{BASE}/rs", OPEN_ACL_UNSAFE)


@pytest.mark.promise("zookeeper-reading-is-of-one-session")
@pytest.mark.usefixtures("writer")
def test_a_reading_is_of_one_session(
    zookeeper: ZooKeeper, writer: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next session might be with a server that lags behind; without a look at it the reading goes on in silence."""
    client = ZooKeeperClient(zookeeper.quorum, 300_000)
    source, children, asked = ZooKeeperQueues(client), client.children, list[str]()

    def interrupted(path: str) -> tuple[list[str], int] | None:
        asked.append(path)
        found = children(path)
        if path.endswith(A):
            ended = client._open.client_id
            zookeeper.expire(ended[0])
            wait_until(lambda: client._open.client_id not in (None, ended), "kazoo has opened another session")
        return found

    assert writer.exists(BASE)
    monkeypatch.setattr(client, "children", interrupted)
    with pytest.raises(UnavailableError, match="the session ended while znodes were read"):
        source.znodes("queues-1")
    assert asked.count(f"{BASE}/rs") == 3
    monkeypatch.undo()
    assert len(parse_tree(source.znodes("queues-1")).queues) == 2
    client.close()


def test_a_wrong_address_is_named(zookeeper: ZooKeeper) -> None:
    nobody = ZooKeeperQueues(ZooKeeperClient("127.0.0.1:1", 500))
    with pytest.raises(UnavailableError, match=r"ZooKeeper 127\.0\.0\.1:1, connecting.*capture\.queues\.quorum"):
        nobody.peers()
    elsewhere = ZooKeeperClient(zookeeper.quorum, 300_000)
    with pytest.raises(UsageError, match=r"has no /other/hbaseid.*capture\.queues\.parent"):
        ZooKeeperQueues(elsewhere, "/other").znodes("queues-1")
    elsewhere.close()


# the capture


class Now:
    """A clock that always moves."""

    def __init__(self) -> None:
        self._now = 1_790_000_000_000

    def now_ms(self) -> int:
        self._now += 1
        return self._now


class OneFile:
    """A listing of one file, and of the WAL that a server writes."""

    def __init__(self, server: str = A) -> None:
        self._server = server

    def stamp(self, _step: str) -> None:
        """Read now."""

    def files(self) -> Iterator[FileBatch]:
        yield FileBatch(["oldWALs/w.1", f"WALs/{self._server}/w.2"], [1, 1], [1, 1])


@dataclass
class Cluster:
    """Settings and peers, and queues that somebody moves while they are read."""

    queues: ZooKeeperQueues
    writer: KazooClient
    moves: int
    upgraded: bool = False
    cluster: str = "a"

    def stamp(self, _step: str) -> None:
        """Read now."""

    def settings(self) -> ClusterSettings:
        return ClusterSettings(self.cluster, None, Retention(1, 1, 1), (), Backup(enabled=False))

    def peers(self) -> tuple[Peer, ...]:
        return self.queues.peers()

    def has_backup_table(self) -> None:
        """Its settings say it."""

    def backups(self) -> None:
        """ZooKeeper knows nothing of them."""

    def barriers(self) -> None:
        """The same."""

    def znodes(self, step: str) -> Sequence[Znode]:
        if step == "queues-2" and self.moves:
            self.moves -= 1  # as HBase 2 claims a queue
            claim = self.writer.transaction()
            claim.create(f"{BASE}/rs/cversion_2")
            claim.delete(f"{BASE}/rs/cversion_2")
            claim.commit()
        if step == "queues-2" and self.upgraded:  # as HBase 3 loads a peer
            self.writer.create(f"{BASE}/peers/2/sync-rep-state", bytes.fromhex("504255460800"))
        return self.queues.znodes(step)

    def cluster_id(self) -> str | None:
        return self.queues.cluster_id()

    def online(self, step: str) -> frozenset[ServerName] | None:
        return self.queues.online(step)


def captured(cluster: Cluster, out: Path, listing: OneFile | None = None) -> CaptureResult:
    watched = WatchedListing(listing or OneFile())
    sources = ZooKeeperSources(watched, watched, cluster, cluster)
    patience = RetryPolicy(1, 3, 10, lambda _ms: None)
    with SnapshotWriter(LocalTarget(out)) as sink:
        return capture_zookeeper(
            CaptureTarget("c", "hdfs://c/hbase", "edge"), sources, sink, clock=Now(), patience=patience
        )


@pytest.mark.parametrize(("moves", "restless"), [(0, False), (2, False), (9, True)])
def test_while_queues_move_they_are_read_again(
    queues: ZooKeeperQueues, writer: KazooClient, tmp_path: Path, moves: int, restless: bool
) -> None:
    cluster = Cluster(queues, writer, moves)
    found = captured(cluster, tmp_path / "out")
    assert (found.restless is not None) == restless
    assert cluster.moves == max(moves - 3, 0)
    steps = [step.step for step in found.snapshot.steps]
    assert found.snapshot.membership == found.snapshot.membership_2
    assert steps == ["files", "online", "peers", "queues-1", "queues-2", "online-2"]
    lines = (tmp_path / "out" / "queues-2.jsonl").read_text().splitlines()
    assert [read_value(ZNODE, line, "line") for line in lines] == list(queues.znodes("queues-2"))
    assert found.cells == len(lines)


@pytest.mark.promise("zookeeper-one-cluster")
def test_queues_of_another_cluster_are_refused(queues: ZooKeeperQueues, writer: KazooClient, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"queues belong to cluster a, .* to cluster b: check capture\.queues"):
        captured(Cluster(queues, writer, 0, cluster="b"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.promise("zookeeper-one-cluster")
def test_files_of_another_cluster_are_refused(queues: ZooKeeperQueues, writer: KazooClient, tmp_path: Path) -> None:
    """No queue would have their names, so all would look as if they might go."""
    writer.create(f"/hbase/rs/{A}", makepath=True)
    other = OneFile("h-z.example.org,16020,9")
    with pytest.raises(RefusedError, match=rf"no online server \(such as {A}\) .*wal_root.*Check wal_root, and quorum"):
        captured(Cluster(queues, writer, 0), tmp_path / "out", other)
    writer.delete(f"/hbase/rs/{A}")
    with pytest.raises(RefusedError, match=r"no queue .* belongs to a server that HBase knows \(h-z"):
        captured(Cluster(queues, writer, 0), tmp_path / "out", other)
    assert not (tmp_path / "out").exists()
    writer.create(f"/hbase/rs/{A}")
    assert captured(Cluster(queues, writer, 0), tmp_path / "out", OneFile(f"{A}-splitting")).restless is None


@pytest.mark.promise("zookeeper-migration-is-refused")
def test_an_hbase_3_that_takes_over_meanwhile_is_told(
    queues: ZooKeeperQueues, writer: KazooClient, tmp_path: Path
) -> None:
    """Its migration removes znodes of queues that it has copied: what is in no queue proves nothing then."""
    snapshot = captured(Cluster(queues, writer, 0, upgraded=True), tmp_path / "out").snapshot
    assert {peer.peer_id: peer.sync_replication_state for peer in snapshot.peers} == {"2": "NONE", "old": None}
    tree = parse_tree(queues.znodes("queues-2"))
    assert "HBase 3 has taken it over" in (zookeeper_distrust_reason(snapshot, [tree, tree], Release()) or "")
