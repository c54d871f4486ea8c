"""HBase 1's own classes on a real ZooKeeper: they write and claim replication queues, and its cleaner answers.

No HBase is started. Java 8 runs the classes of every version, Java 17 those of 1.4.14 and 1.7.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kazoo.client import KazooClient

from pipelines.hbase.zookeeper.wire import without_metadata
from tests.labs.cluster.classpath import hbase_1, resolve
from tests.labs.cluster.jvm import JavaObject, Jvm
from tests.labs.cluster.zookeeper import connected

PARENT = "/hbase"
A, B, C = (f"h-{name}.example.org,16020,150000000000{number}" for number, name in enumerate("abc", 1))
PEERS = ("1", "2")


def wals(server: str, count: int) -> list[str]:
    """Returns the names of a server's first WALs."""
    return [f"{server.replace(',', '%2C')}.{1_500_000_000_100 + number}" for number in range(count)]


A_WALS, B_WALS = wals(A, 3), wals(B, 2)
FILES = (
    *A_WALS,
    *B_WALS,
    *wals(C, 1),
    *(trap for name in (A_WALS[1], B_WALS[0]) for trap in (f"{name}0", name[:-1], name.upper(), f"{name}.meta")),
    "pv2-00000000000000000001.log",
    "wal.123",
)
"""What the cleaner is asked about, in every state."""
TABLES = {"ns1:t1": ("f1", "f2"), "t2": ()}
PEER_OF_TABLES = bytes.fromhex(
    "504255460a0f7a6b313a323138313a2f68626173652a130a090a036e73311202743112026631120266322a0f0a0d0a0764656661756c74120274323000"
)
"""What HBase 1.4.14 and 1.7.2 write into the znode of a peer that is limited to `TABLES`."""


@dataclass(frozen=True)
class Recorded:
    """One state.

    Attributes:
        use_multi: `hbase.zookeeper.useMulti`.
        after: what happened last.
        znodes: path and data of all that is below `PARENT` and concerns replication, parents first.
        kept: the files of `FILES` that HBase's cleaner keeps; it would delete all others.
    """

    use_multi: bool
    after: str
    znodes: tuple[tuple[str, bytes], ...]
    kept: tuple[str, ...]

    def comparable(self) -> tuple[object, ...]:
        """Returns the state without the random bytes that HBase puts before its data."""
        return (self.use_multi, self.after, [(path, without_metadata(data)) for path, data in self.znodes], self.kept)


class HBase1:
    """The classes of an HBase 1 in a JVM of their own.

    Args:
        work: the working directory of the JVM.
        quorum: of a ZooKeeper; what is below `PARENT` is deleted.
        version: of HBase.
        java_8: see `Jvm`.
    """

    def __init__(self, work: Path, quorum: str, version: str, java_8: Sequence[str] = ()) -> None:
        self._quorum = quorum
        self._jvm = Jvm("hbase1", resolve(hbase_1(version)), work, java_8=java_8)

    def close(self) -> None:
        """Ends the JVM."""
        self._jvm.close()

    def versions(self) -> dict[str, str]:
        """Returns the versions of HBase, Java and ZooKeeper's client."""
        java = self._jvm.view
        return {
            "hbase": java.org.apache.hadoop.hbase.util.VersionInfo.getVersion(),
            "java": java.java.lang.System.getProperty("java.version"),
            "zookeeper client": java.org.apache.zookeeper.Version.getVersion(),
        }

    def peer_of_tables(self) -> tuple[bytes, str]:
        """Returns what HBase writes for a peer that is limited to `TABLES`, and the tables that it reads from that."""
        java, hbase = self._jvm.view, self._jvm.view.org.apache.hadoop.hbase
        tables = java.java.util.TreeMap()
        for table, families in TABLES.items():
            named = java.java.util.ArrayList()
            for family in families:
                named.add(family)
            tables.put(hbase.TableName.valueOf(table), named if families else None)
        config = hbase.replication.ReplicationPeerConfig().setClusterKey("zk1:2181:/hbase")
        config.setTableCFsMap(tables)
        helper = hbase.replication.ReplicationSerDeHelper
        data = helper.toByteArray(config)
        return bytes(data), str(helper.parsePeerFrom(data).getTableCFsMap().toString())

    def record(self) -> list[Recorded]:
        """Returns all states of two stories: a claim in one transaction, and a claim by lock."""
        return [*self._story(use_multi=True), *self._story(use_multi=False)]

    def _story(self, *, use_multi: bool) -> Iterator[Recorded]:
        """A ships a part of its WALs and dies, B takes over its queues and dies, C takes over all of them."""
        with connected(self._quorum) as client:
            client.delete(PARENT, recursive=True)
            story = _Story(self._jvm, self._quorum, use_multi)
            for after in story.steps():
                yield Recorded(use_multi, after, tuple(_walk(client)), tuple(story.kept()))
            story.close()


class _Story:
    def __init__(self, jvm: Jvm, quorum: str, use_multi: bool) -> None:
        self._jvm, self._use_multi = jvm, use_multi
        view = jvm.view.org.apache.hadoop.hbase
        host, _, port = quorum.partition(":")
        conf = view.HBaseConfiguration.create()
        conf.set("hbase.zookeeper.quorum", host)
        conf.set("hbase.zookeeper.property.clientPort", port)
        conf.set("zookeeper.znode.parent", PARENT)
        conf.setBoolean("hbase.zookeeper.useMulti", use_multi)
        self._conf = conf
        self._watcher = view.zookeeper.ZooKeeperWatcher(conf, "recorder", None, True)
        view.zookeeper.ZKClusterId.setClusterId(self._watcher, view.ClusterId("hbase-1"))
        factory = view.replication.ReplicationFactory
        client = factory.getReplicationQueuesClient(self._watcher, conf, None)
        client.init()
        self._peers = factory.getReplicationPeers(self._watcher, conf, client, None)
        self._peers.init()
        self._cleaner = view.replication.master.ReplicationLogCleaner()
        self._cleaner.setConf(conf)  # all that 1.4 needs; later ones connect in `init`
        self._cleaner.init(None)

    def close(self) -> None:
        self._cleaner.stop("the story is over")
        self._watcher.close()

    def steps(self) -> Iterator[str]:
        for peer in PEERS:
            config = self._jvm.view.org.apache.hadoop.hbase.replication.ReplicationPeerConfig()
            self._peers.addPeer(peer, config.setClusterKey(f"zk-{peer}:2181:/hbase"))
        yield "two peers, no server"
        a, b, c = map(self._queues_of, (A, B, C))
        for peer in PEERS:
            for wal in A_WALS:
                a.addLog(peer, wal)
        for wal in B_WALS:
            b.addLog("1", wal)
        a.setLogPosition("1", A_WALS[0], 443)
        yield "A and B write"
        a.removeLog("1", A_WALS[0])
        a.removeLog("2", A_WALS[0])
        a.removeLog("1", A_WALS[1])
        a.setLogPosition("2", A_WALS[1], 129)
        yield "A has shipped its first WAL to both peers, its second to one"
        yield from self._claim(b, A, "1")
        yield from self._claim(b, A, "2")
        b.removeReplicatorIfQueueIsEmpty(A)
        yield "A is gone"
        b.removeLog("1", B_WALS[0])
        yield from self._claim(c, B, "1")
        yield from self._claim(c, B, f"1-{A}")
        self._peers.removePeer("2")
        yield "peer 2 is removed, its queue stays"
        c.removeQueue(f"1-{A}-{B}")
        yield "C has shipped what A wrote for peer 1"

    def kept(self) -> Iterator[str]:
        java = self._jvm.view
        files = java.java.util.ArrayList()
        for name in FILES:
            path = java.org.apache.hadoop.fs.Path(f"/hbase/oldWALs/{name}")
            files.add(java.org.apache.hadoop.fs.FileStatus(1, False, 1, 1 << 27, 0, path))
        answer = self._cleaner.getDeletableFiles(files).iterator()
        deleted = set[str]()
        while answer.hasNext():
            deleted.add(answer.next().getPath().getName())
        return (name for name in FILES if name not in deleted)

    def _queues_of(self, server: str) -> JavaObject:
        factory = self._jvm.view.org.apache.hadoop.hbase.replication.ReplicationFactory
        queues = factory.getReplicationQueues(self._watcher, self._conf, None)
        queues.init(server)
        return queues

    def _claim(self, claimer: JavaObject, dead: str, queue: str) -> Iterator[str]:
        """Claims one queue. By lock, the first claim of all stops after each of the four steps of `claimQueue`."""
        if not self._use_multi and (dead, queue) == (A, "1"):
            assert claimer.lockOtherRS(dead)
            yield f"B has locked A for queue {queue}"
            self._private(claimer, "copyQueueFromLockedRS", dead, queue)
            yield f"B has copied queue {queue} of A"
            self._private(claimer, "removeQueueFromLockedRS", dead, queue)
            yield f"B has deleted queue {queue} of A"
            self._private(claimer, "unlockOtherRS", dead)
        else:
            assert claimer.claimQueue(dead, queue) is not None
        yield f"queue {queue} of {dead} is claimed"

    def _private(self, of: JavaObject, method: str, *arguments: str) -> None:
        java, gateway = self._jvm.view, self._jvm.gateway
        kinds = gateway.new_array(java.java.lang.Class, len(arguments))
        values = gateway.new_array(java.java.lang.Object, len(arguments))
        for number, argument in enumerate(arguments):
            kinds[number], values[number] = java.java.lang.Class.forName("java.lang.String"), argument
        found = of.getClass().getDeclaredMethod(method, kinds)
        found.setAccessible(True)
        found.invoke(of, values)


def _walk(client: KazooClient, path: str = PARENT) -> Iterator[tuple[str, bytes]]:
    for name in sorted(client.get_children(path)):
        below = f"{path}/{name}"
        if path != PARENT or name in ("hbaseid", "replication"):
            yield below, client.get(below)[0]
            yield from _walk(client, below)
